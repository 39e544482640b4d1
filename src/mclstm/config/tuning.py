"""The section `tune`: which keys of a config are searched, and for how long."""

from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, BeforeValidator, Field, model_validator

from mclstm.config.field_types import EXPONENT, RULES, SEARCHED, rising, without_doubles

__all__ = ["TuneConfig"]

Key = Annotated[str, Field(pattern=SEARCHED, max_length=80)]
Number = Annotated[int | float, EXPONENT]
Ends = Annotated[list[Number], Field(min_length=2, max_length=2), AfterValidator(rising)]
Value = Annotated[bool | int | float | str | None, EXPONENT]
Values = Annotated[list[Value], Field(min_length=2, max_length=100), AfterValidator(without_doubles)]


def flat(value: Any) -> Any:
    """`{model: {stay: ...}}`, as --set writes it, as `{model.stay: ...}`."""
    if not isinstance(value, dict):
        return value
    keys: dict[str, Any] = {}
    for key, item in value.items():
        inner = flat(item) if isinstance(item, dict) and item else {"": item}
        keys |= {f"{key}.{rest}" if rest else key: leaf for rest, leaf in inner.items()}
    return keys


class TuneConfig(BaseModel, **RULES):
    """The search for better settings by validation score, for `mclstm tune`."""

    trials: Annotated[int, Field(ge=1, le=100_000)] = 30
    """The number of settings to try, each in a run of its own."""
    choices: Annotated[dict[Key, Values], BeforeValidator(flat), Field(max_length=50)] = {}
    """Values to choose from, by key, such as {model.hidden_size: [8, 16, 32]}."""
    ranges: Annotated[dict[Key, Ends], BeforeValidator(flat), Field(max_length=50)] = {}
    """The lowest and highest value, by key, such as {model.stay: [0.5, 0.99]}; two whole numbers stand for
    whole numbers."""
    log_ranges: Annotated[dict[Key, Ends], BeforeValidator(flat), Field(max_length=50)] = {}
    """The same for values that differ by factors, such as {training.learning_rate: [1e-3, 0.1]}."""
    at_once: Annotated[int, Field(ge=1, le=1000)] = 4
    """The trials that are chosen together and can run side by side; their scores choose the next ones."""
    prune_after: Annotated[int, Field(ge=1, le=1_000_000)] | None = 5
    """Validations after which a trial is stopped that is worse than the median of those before; null trains
    every trial to its end."""
    seed: Annotated[int, Field(ge=0, lt=2**63)] = 0
    """The seed of the search."""

    @model_validator(mode="after")
    def something_to_search(self) -> "TuneConfig":
        keys = [*self.choices, *self.ranges, *self.log_ranges]
        twice = [key for key in keys if keys.count(key) > 1]
        if not keys:
            raise ValueError("has nothing to search. Add choices, ranges or log_ranges.")
        if twice:
            raise ValueError(f"names {twice[0]} twice. Remove one of them.")
        for key, (low, _) in self.log_ranges.items():
            if low <= 0:
                raise ValueError(f"has {key} in log_ranges from {low:g}. Begin above 0, or use ranges.")
        return self
