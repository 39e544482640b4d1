"""The exceptions that users see. Each message says what is wrong, where, and what to do.

All but `Interrupted` are ValueErrors, so callers of the layer need not know this module. The command line
turns them into one message and exit code 2.
"""

__all__ = [
    "CheckpointError",
    "ConfigError",
    "ConservationError",
    "DataError",
    "DataWarning",
    "Interrupted",
    "MissingColumnError",
    "NotFiniteError",
    "StorageError",
    "TrainingError",
    "WorkerError",
    "missing_extra",
]


# What the extras install, by the names they are imported by.
EXTRAS = {
    "app": (
        "pandas",
        "xarray",
        "h5netcdf",
        "h5py",
        "pydantic",
        "yaml",
        "typer",
        "rich",
        "matplotlib",
        "scipy",
    ),
    "parquet": ("pyarrow",),
    "process": ("cmaes",),
    "export": ("onnx", "onnxscript", "onnxruntime"),
    "zarr": ("zarr",),
    "dask": ("distributed",),
    "tune": ("optuna",),
}


class ConservationError(ValueError):
    """Mass appeared or vanished: the ledger of a sample does not close at some step."""


class NotFiniteError(ValueError):
    """A NaN, an infinity or a negative amount reached a layer that cannot hold it."""


class DataError(ValueError):
    """An input file or table cannot be used as it is."""


class DataWarning(UserWarning):
    """Data that can be used but is probably not what it is taken for: a wrong unit, a swapped column."""


class MissingColumnError(DataError):
    """An input file or table lacks a column; `column` is its name as the caller wrote it."""

    def __init__(self, message: str, column: str) -> None:
        super().__init__(message)
        self.column = column


class ConfigError(ValueError):
    """A configuration names something unknown or gives a value that cannot be used."""


class CheckpointError(ValueError):
    """A file of weights or states is damaged, incomplete, or belongs to another model."""


class StorageError(ValueError):
    """A file of a run cannot be written: the disk is full, the folder is missing or read-only."""


class TrainingError(ValueError):
    """Training reached NaN or infinity; the data to repeat the failing update was saved."""


class WorkerError(ValueError):
    """A job cannot be done by the workers it was given: they die, or do not see its folder."""


class Interrupted(Exception):
    """A signal stopped the run, after a checkpoint."""

    def __init__(self, signum: int, message: str) -> None:
        super().__init__(message)
        self.signum = signum


def missing_extra(error: Exception) -> str | None:
    """What to install if an import failed because a package of an extra is missing; None for other errors.

    >>> missing_extra(ModuleNotFoundError("No module named 'typer'", name="typer"))
    'the package typer is missing. Install it with: pip install "mclstm[app]"'
    """
    name = (error.name or "").split(".")[0] if isinstance(error, ModuleNotFoundError) else ""
    extra = next((extra for extra, names in EXTRAS.items() if name in names), None)
    if extra is None:
        return None
    return f'the package {name} is missing. Install it with: pip install "mclstm[{extra}]"'
