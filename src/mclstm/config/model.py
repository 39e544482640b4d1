"""The section `model`: one class per model, so that a key of another model is refused."""

from typing import Annotated, Any, Literal

from pydantic import (
    AfterValidator,
    BaseModel,
    Field,
    SerializerFunctionWrapHandler,
    model_serializer,
    model_validator,
)

from mclstm.config.field_types import EXPONENT, NAME, RULES, WORDS, without_doubles
from mclstm.config.rhythm import Duration

__all__ = ["ConservingConfig", "HybridConfig", "LSTMConfig", "MCLSTMConfig", "ModelConfig"]

Size = Annotated[int, Field(ge=1, le=4096)]
Norm = Literal["softmax", "sigmoid", "relu"]
Seen = Literal["aux", "state", "mass"]
Seeing = Annotated[list[Seen], Field(min_length=1, max_length=3), AfterValidator(without_doubles)]
Share = Annotated[float, Field(gt=0, lt=1), EXPONENT]
Gate = Literal["input", "redistribution", "output"]
SET_BY_RESIDENCE = ("stay", "output_bias")


class ConservingConfig(BaseModel, **RULES):
    """What every model around a mass-conserving layer has: the options of the layer, its head, additions."""

    name: str
    """The model."""
    hidden_size: Size = 16
    """The number of cells."""
    redistribution: Literal["dynamic", "static", "outer", "identity"] = "dynamic"
    """How mass moves between cells."""
    redistribution_norm: Norm = "softmax"
    """What makes the rows of the redistribution sum to one."""
    input_norm: Norm = "softmax"
    """What makes the rows of the input gate sum to one."""
    gates_see: Seeing = ["aux", "state"]
    """What the gates are computed from."""
    initial_state: Literal["zero", "learned"] | Annotated[float, Field(ge=0, le=1e9), EXPONENT] = "zero"
    """The mass in the cells at the start: zero, learned, or a number for each cell."""
    learned_from: Annotated[float, Field(ge=0, le=1e9), EXPONENT] = 1.0
    """The mass in each cell before a learned start is trained."""
    outlet: Literal["gate", "constant"] = "gate"
    """How the share of a cell that leaves is computed: by a gate at each step, or as one learned number."""
    stay: Share | None = 0.9
    """The share of mass that stays in its cell before training; null is the paper's hydrology start."""
    output_bias: Annotated[float, Field(ge=-100, le=100), EXPONENT] = -3.0
    """The bias of the output gate before training; negative keeps it closed."""
    residence: Duration | None = None
    """How long mass stays on average before training, such as 30min, 2h or 1.5d: sets stay and output_bias
    from the step of the data."""
    state_norm: Literal["sample", "batch", "none"] = "sample"
    """How the gates see the cells: as shares of the sample's storage, or as raw amounts (none); batch
    reproduces the published code, where samples of a batch interact."""
    not_conserving: Annotated[list[Gate], Field(max_length=3), AfterValidator(without_doubles)] = []
    """Ablations that break conservation on purpose."""
    head: Literal["sum", "linear", "mcfc", "scaled"] = "sum"
    """How the outflow of the cells becomes the prediction."""
    head_gate: bool = False
    """Give head mcfc the output gate of the paper; what it holds back is an outlet of its own."""
    trash_cell: bool = True
    """A place for what never reaches the outlet, such as evaporation: cell 0 with the heads sum and scaled,
    an outlet of its own with mcfc."""
    losses: Annotated[str, Field(pattern=WORDS, max_length=40)] = "losses"
    """What figures and tables call the mass that leaves through the trash cell, such as evaporation or
    unobserved exits."""
    trash_budget: Annotated[float, Field(gt=0, lt=1), EXPONENT] | None = None
    """The largest share of the outflow that may be lost through head mcfc, at every step;
    null sets no limit."""
    mask: Annotated[list[list[bool]], Field(max_length=4096)] | None = None
    """Which transfers exist, a row for each cell that gives; null allows all."""
    allow_negative_mass: bool = False
    """Accept negative amounts; the ledger closes, but stores may be negative."""
    cell_penalty: Annotated[float, Field(ge=0, le=1e6), EXPONENT] = 0.0
    """The weight of the mean squared storage in the loss, against a trash cell that fills without end."""
    input_scaling: bool = False
    """Learn a factor for the mass of each step; breaks conservation of the measured mass and says so."""
    evapotranspiration: bool = False
    """Add evapotranspiration as a second outlet."""
    guided: Annotated[dict[str, Annotated[int, Field(ge=0, le=4095)]], Field(max_length=100)] = {}
    """Targets that are the content of a cell and no outflow, such as {swe: 1}: observations of a store tie
    the cell to it. They stand last among the targets, and need head: sum."""
    backend: Annotated[str, Field(pattern=NAME, max_length=40)] = "auto"
    """The implementation of the recurrence."""

    @model_validator(mode="after")
    def one_start(self) -> "ConservingConfig":
        twice = [key for key in SET_BY_RESIDENCE if key in self.model_fields_set]
        if self.residence is not None and twice:
            raise ValueError(f"has residence, which sets stay and output_bias, and {twice[0]}. Remove one.")
        return self

    @model_serializer(mode="wrap")
    def without_set(self, handler: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """Without the keys that residence sets: what is written loads again."""
        raw: dict[str, Any] = handler(self)
        return raw if self.residence is None else {k: raw[k] for k in raw if k not in SET_BY_RESIDENCE}

    @model_validator(mode="after")
    def a_cell_beside_the_trash(self) -> "ConservingConfig":
        if self.trash_cell and self.hidden_size < 2:
            raise ValueError("needs hidden_size of at least 2, because cell 0 is the trash cell.")
        if self.head == "scaled" and not self.trash_cell:
            raise ValueError("has head: scaled, which leaves out cell 0, and trash_cell: false. Drop one.")
        if self.trash_budget is not None and not (self.head == "mcfc" and self.trash_cell):
            raise ValueError("has trash_budget, which limits the losses of head: mcfc. Set head: mcfc.")
        if self.head_gate and self.head != "mcfc":
            raise ValueError("has head_gate, which is a part of head: mcfc. Set head: mcfc.")
        if self.head_gate and self.trash_budget is not None:
            raise ValueError("has trash_budget and head_gate, which holds back any share. Drop one.")
        if self.learned_from != 1.0 and self.initial_state != "learned":
            raise ValueError("has learned_from, the start of initial_state: learned. Set it, or drop this.")
        if self.guided and self.head != "sum":
            raise ValueError("has guided, cells beside the outlet of head: sum. Set head: sum, or drop it.")
        taken = [name for name, cell in self.guided.items() if cell >= self.hidden_size]
        if taken or len(set(self.guided.values())) < len(self.guided):
            last = self.hidden_size - 1
            raise ValueError(f"guides cells that are not there, or one twice. Choose from 0 to {last}.")
        if self.evapotranspiration and self.head != "linear":
            raise ValueError("has evapotranspiration, which is an outlet of head: linear. Set head: linear.")
        return self


class MCLSTMConfig(ConservingConfig):
    """The mass-conserving LSTM with every option of the layer, its head and its additions."""

    name: Literal["mclstm"]
    """The model."""
    aux_memory: Size | None = None
    """The size of an LSTM between auxiliaries, with the attributes, and gates; null means none."""


class HybridConfig(ConservingConfig):
    """The mass-conserving LSTM with its gates steered by an LSTM that reads everything, mass included."""

    name: Literal["hybrid"]
    """The model."""
    redistribution_norm: Norm = "relu"
    """What makes the rows of the redistribution sum to one."""
    input_norm: Norm = "sigmoid"
    """What makes the rows of the input gate sum to one."""
    gates_see: Seeing = ["aux", "state", "mass"]
    """What the gates are computed from; aux is what the LSTM says."""
    stay: Share | None = None
    """The share of mass that stays in its cell before training; null is the paper's hydrology start."""
    memory_size: Size = 64
    """The cells of the LSTM."""
    memory_outputs: Size = 32
    """How many numbers it tells the gates."""
    dropout: Annotated[float, Field(ge=0, lt=1), EXPONENT] = 0.3
    """The share of the LSTM's hidden values that the gates do not see in an update."""


class LSTMConfig(BaseModel, **RULES):
    """PyTorch's LSTM with a linear head, on scaled inputs: the baseline."""

    name: Literal["lstm"]
    """The model."""
    hidden_size: Size = 16
    """The number of cells."""
    forget_bias: Annotated[float, Field(ge=-100, le=100), EXPONENT] = 3.0
    """The bias of the forget gate before training; positive keeps the memory."""
    dropout: Annotated[float, Field(ge=0, lt=1), EXPONENT] = 0.0
    """The share of hidden values that the head does not see in an update; 0 drops none."""
    balance_penalty: Annotated[float, Field(ge=0, le=1e6), EXPONENT] = 0.0
    """The weight in the loss of flow that never came in: the mean squared share by which the prediction,
    summed from the start of a window, exceeds the mass. For targets in the unit of the mass."""


ModelConfig = Annotated[MCLSTMConfig | HybridConfig | LSTMConfig, Field(discriminator="name")]
