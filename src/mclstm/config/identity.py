"""What of the section `model` makes a model another one: the fingerprint of a checkpoint is made from it."""

from typing import Any

from mclstm.config.model import ModelConfig

__all__ = ["defining"]

# Keys that came later, with the value that leaves a model as it was before them: runs, packed models and
# saved states from then keep their fingerprints.
LATER: dict[str, Any] = {"dropout": 0.0}


def defining(model: ModelConfig) -> dict[str, Any]:
    """The section without what only says how it is computed, and without later keys that change nothing.

    >>> from mclstm.config.model import LSTMConfig
    >>> defining(LSTMConfig(name="lstm")), "dropout" in defining(LSTMConfig(name="lstm", dropout=0.4))
    ({'name': 'lstm', 'hidden_size': 16, 'forget_bias': 3.0}, True)
    """
    written = model.model_dump(exclude={"backend"})
    return {key: value for key, value in written.items() if key not in LATER or value != LATER[key]}
