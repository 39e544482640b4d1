"""The section `sequences`, and the types of times and durations."""

from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, BeforeValidator, Field, model_validator

from mclstm.config.field_types import RULES
from mclstm.data.clock import parse_duration, parse_slot, parse_time

__all__ = ["Duration", "SequencesConfig", "Slot"]


def clock(value: Any) -> Any:
    """The time 23:50, which YAML 1.1 takes for the number 1430, and 23:50:00 for 85800: digits to base 60."""
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value < 86_400:
        return value
    minutes, rest = (value, 0) if value < 1440 else divmod(value, 60)
    return f"{minutes // 60:02}:{minutes % 60:02}" + (f":{rest:02}" if rest else "")


def slot(text: str) -> str:
    parse_slot(text)
    return text


def duration(text: str) -> str:
    parse_duration(text)
    return text


Time = Annotated[str, Field(max_length=20), BeforeValidator(clock)]
Slot = Annotated[str, Field(max_length=20), BeforeValidator(clock), AfterValidator(slot)]
Duration = Annotated[str, Field(min_length=2, max_length=20), AfterValidator(duration)]


class SequencesConfig(BaseModel, **RULES):
    """When sequences begin and end. Each begins with the start of the model, in training and evaluation."""

    each: Literal["day", "week"] = "day"
    """How often a sequence begins."""
    begin: Time = "00:00"
    """The first step of a sequence: a time such as "04:00", for weeks a day and a time, "Mon 04:00"."""
    end: Time | None = None
    """The last step of a sequence, on the next day where it is earlier than begin; null takes the step before
    the next one begins."""

    @model_validator(mode="after")
    def times(self) -> "SequencesConfig":
        for text in [self.begin, *([] if self.end is None else [self.end])]:
            parse_time(text, self.each)
        return self
