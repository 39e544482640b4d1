"""The sections `data` and `periods`: which columns mean what, and which dates are used for what."""

from datetime import datetime
from itertools import combinations
from typing import Annotated, Literal

from pydantic import AfterValidator, BaseModel, Field, model_validator

from mclstm.config.field_types import (
    EXPONENT,
    READER,
    RULES,
    Column,
    Columns,
    FilePath,
    Period,
    after,
    rising,
    without_doubles,
)

__all__ = ["DataConfig", "PETConfig", "PeriodsConfig", "VapourPressureConfig"]

Unit = Annotated[str, Field(min_length=1, max_length=40)]
Area = Annotated[float, Field(gt=0, le=1e9), EXPONENT]
Ratio = Annotated[float, Field(ge=0, le=1e6), EXPONENT]
Ratios = Annotated[list[Ratio], Field(min_length=2, max_length=2), AfterValidator(rising)]
Span = Annotated[int, Field(ge=2, le=100_000)]


class PETConfig(BaseModel, **RULES):
    """What potential evapotranspiration is computed from, after Hargreaves."""

    tmax: Column = "tmax"
    """The auxiliary with the highest temperature of a day."""
    tmin: Column = "tmin"
    """The auxiliary with the lowest temperature of a day."""
    latitude: Annotated[float, Field(ge=-90, le=90), EXPONENT] | Column = "gauge_lat"
    """Degrees north: a number, or the name of an attribute."""


class VapourPressureConfig(BaseModel, **RULES):
    """What vapour pressure is computed from: the dew point, or the lowest temperature of a day."""

    column: Column = "vp"
    """The auxiliary that is computed, in Pa; it is not in the data."""
    dew_point: Column | None = None
    """The column with the temperature of the dew point."""
    tmin: Column | None = None
    """The column with the lowest temperature of a day, which nearly is the dew point where air is not dry."""

    @model_validator(mode="after")
    def one_temperature(self) -> "VapourPressureConfig":
        if (self.dew_point is None) == (self.tmin is None):
            raise ValueError("needs one temperature. Name a column with dew_point or with tmin.")
        return self

    @property
    def source(self) -> str:
        """The column it is computed from."""
        return str(self.dew_point or self.tmin)


class DataConfig(BaseModel, **RULES):
    """Where the data is, what role each column has, and what happens to missing values."""

    path: FilePath
    """A file or a folder."""
    reader: Annotated[str, Field(pattern=READER)] = "auto"
    """The layout of the data; auto finds it out."""
    in_memory: bool = True
    """Whether all sites are in memory together. false reads them in parts and trains from the disk: for more
    sites than memory holds, in zarr, netCDF, Generic or Caravan."""
    time: Column | None = None
    """The column of dates; null finds it."""
    site: Column | None = None
    """The column that names the site of a row, where one file holds several."""
    sites: Columns = []
    """The sites to use; empty means all."""
    attributes: FilePath | None = None
    """A table with one row of static attributes for each site."""
    mass: Annotated[Columns, Field(min_length=1)]
    """The columns that are mass: conserved, never scaled but by a declared unit conversion. A pattern such as
    in_* stands for all columns of the table that match and have no other role; so in aux and target."""
    aux: Columns = []
    """The columns that steer the gates; standardised."""
    static: Columns = []
    """The attributes of a site that do not change; standardised."""
    target: Annotated[Columns, Field(min_length=1)]
    """The columns to predict."""
    units: dict[Column, Unit] = {}
    """The unit of a column in the file, by its name."""
    area: Area | Column | None = None
    """The area in km2 that turns a volume into a depth: a number, or the name of an attribute."""
    target_unit: Unit | None = None
    """The unit to convert the targets to, for example mm/day."""
    convert: dict[Column, Unit] = {}
    """Units to convert other columns to, by name: the only scaling mass ever sees."""
    budget: Ratios | None = None
    """The lowest and highest outflow over inflow that is right at every site, for example [0.2, 1.3]; others
    are refused. null warns outside 0.02 to 1 and refuses what lies outside 0.001 to 3 over a year or more."""
    date_format: Annotated[str, Field(min_length=2, max_length=40)] | None = None
    """How dates are written, for example %d.%m.%Y; null means ISO."""
    separator: Annotated[str, Field(min_length=1, max_length=1)] | None = None
    """What stands between variable and site in the columns of a wide table, for example . in flow.A; null
    takes . where no column has the plain name."""
    decimal: Literal[".", ","] = "."
    """The decimal sign."""
    missing_mass: Literal["error", "zero", "interpolate", "skip"] = "error"
    """What to do where mass is missing; the ledger counts what was filled. skip leaves out the sequences that
    lack it."""
    missing_aux: Literal["error", "interpolate", "skip"] = "error"
    """What to do where an auxiliary is missing; skip leaves out the sequences that lack it."""
    missing_values: Annotated[list[Annotated[float, EXPONENT]], Field(max_length=100)] = []
    """Numbers that stand for a missing value, for example -999."""
    day_of_year: bool = False
    """Add the sine and cosine of the season as auxiliaries."""
    time_of_day: Annotated[int, Field(ge=0, le=1000)] = 0
    """Add the sines and cosines of so many harmonics of the day as auxiliaries."""
    time_of_week: Annotated[int, Field(ge=0, le=1000)] = 0
    """Add the sines and cosines of so many harmonics of the week as auxiliaries."""
    weekend: bool = False
    """Add an auxiliary that is 1 on Saturdays and Sundays, else 0."""
    antecedent: Annotated[list[Span], Field(max_length=20), AfterValidator(without_doubles)] = []
    """Add the means of mass and auxiliaries over so many steps, for example [30, 90], as auxiliaries."""
    pet: PETConfig | None = None
    """Add potential evapotranspiration, computed from temperatures and latitude, as the auxiliary pet."""
    vapour_pressure: VapourPressureConfig | None = None
    """Compute the vapour pressure of the air, an auxiliary the data lacks, from a temperature."""

    @property
    def only_read(self) -> list[str]:
        """Attributes that something is computed from and the model does not see."""
        name = None if self.pet is None else self.pet.latitude
        return [name] if isinstance(name, str) and name not in self.static else []

    @property
    def read_as_aux(self) -> list[str]:
        """The auxiliaries to read: not the computed vapour pressure, but what it is computed from."""
        if self.vapour_pressure is None:
            return self.aux
        read = [name for name in self.aux if name != self.vapour_pressure.column]
        return list(dict.fromkeys([*read, self.vapour_pressure.source]))

    @model_validator(mode="after")
    def one_role_each(self) -> "DataConfig":
        roles = {"mass": self.mass, "aux": self.aux, "static": self.static, "target": self.target}
        for (first, columns), (second, others) in combinations(roles.items(), 2):
            both = [name for name in columns if name in others]
            if both:
                raise ValueError(f"has {both[0]!r} in {first} and in {second}. Give every column one role.")
        return self

    @model_validator(mode="after")
    def temperatures_are_auxiliaries(self) -> "DataConfig":
        for name in [] if self.pet is None else [self.pet.tmax, self.pet.tmin]:
            if name not in self.aux:
                raise ValueError(f"computes pet from {name!r}, which is not in aux. Add it, or name another.")
        return self

    @model_validator(mode="after")
    def vapour_pressure_is_computed(self) -> "DataConfig":
        vapour = self.vapour_pressure
        if vapour is not None and vapour.column not in self.aux:
            raise ValueError(f"computes vapour_pressure as {vapour.column!r}, which is not in aux. Add it.")
        if vapour is not None and vapour.source in (*self.mass, *self.static, *self.target, vapour.column):
            raise ValueError(f"computes vapour_pressure from {vapour.source!r}. Name a temperature.")
        return self


class PeriodsConfig(BaseModel, **RULES):
    """First and last date, both included, of training, validation and test; they share no day."""

    train: Period
    """First and last date to train on."""
    validation: Period | None = None
    """First and last date to choose by, for early stopping and the best checkpoint."""
    test: Period | None
    """First and last date to score, never seen in training. null for runs that must not see it, such as
    trials of a tuning: no observation outside the other periods is then read, and nothing after them."""

    @property
    def train_pair(self) -> tuple[str, str]:
        """First and last date to train on."""
        return self.train[0], self.train[1]

    @property
    def unscored(self) -> list[tuple[datetime, datetime]]:
        """From when to when a run without a test period reads observations; empty with one."""
        pairs = [] if self.test is not None else [self.train_pair, self.pair("validation")]
        return [(datetime.fromisoformat(pair[0]), after(pair[1])) for pair in pairs if pair is not None]

    def pair(self, name: str) -> tuple[str, str] | None:
        """First and last date of a period, None if it is not there."""
        period = self.model_dump().get(name)
        return None if period is None else (period[0], period[1])

    @model_validator(mode="after")
    def no_overlap(self) -> "PeriodsConfig":
        for (first, a), (second, b) in combinations(self.model_dump(exclude_none=True).items(), 2):
            if datetime.fromisoformat(a[0]) < after(b[1]) and datetime.fromisoformat(b[0]) < after(a[1]):
                raise ValueError(f"lets {first} and {second} overlap. Move or shorten one of them.")
        return self
