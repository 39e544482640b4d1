"""Parquet: the same tables as CSV, in one file (needs the extra `parquet`)."""

from pathlib import Path

import pandas as pd

from mclstm.data.readers.csv import split_by_site
from mclstm.data.readers.text import require_file
from mclstm.data.site_tables import Raw, Request
from mclstm.errors import DataError

__all__ = ["load"]


def load(path: Path, request: Request) -> Raw:
    """Read one Parquet file: a single site, long or wide."""
    return split_by_site(_frame(require_file(path)), path, request)


def _frame(path: Path) -> pd.DataFrame:
    try:
        import pyarrow.parquet  # an extra, imported only when needed
    except ImportError:
        raise DataError(f"{path} needs pyarrow. Install it with: pip install 'mclstm[parquet]'.") from None
    try:
        frame: pd.DataFrame = pyarrow.parquet.ParquetFile(path).read().to_pandas()
    except Exception as error:
        # Damaged files make pyarrow raise almost anything.
        reason = str(error).splitlines()[0][:120] if str(error) else type(error).__name__
        raise DataError(f"{path} cannot be read as Parquet ({reason}). Write it again.") from None
    if frame.index.name is not None or isinstance(frame.index, pd.DatetimeIndex):
        frame = frame.reset_index(names=frame.index.name or "time")
    return frame
