"""Parquet: the same tables as CSV, in one file (needs the extra `parquet`)."""

from pathlib import Path

import pandas as pd

from mclstm.data.readers.attributes import attribute_table
from mclstm.data.readers.text import require_file
from mclstm.data.split import split
from mclstm.data.tables import Raw, Request
from mclstm.errors import DataError

__all__ = ["load"]


def load(path: Path, request: Request) -> Raw:
    """Read one Parquet file: a single site, long or wide."""
    frame = _frame(require_file(path))
    part = split(frame, str(path), path.stem, request)
    attributes = part.attributes
    if request.attributes is not None:
        attributes = attribute_table([Path(request.attributes)], request.static, request.site)
    return Raw("parquet", part.tables, attributes, {}, part.findings, request.attributes or str(path))


def _frame(path: Path) -> pd.DataFrame:
    try:
        import pyarrow.parquet  # an extra: imported only when asked for
    except ImportError:
        raise DataError(
            f"{path} is Parquet, which needs pyarrow. Install it with: pip install 'mclstm[parquet]'."
        ) from None
    try:
        frame: pd.DataFrame = pyarrow.parquet.ParquetFile(path).read().to_pandas()
    except Exception as error:
        # pyarrow's errors are as many as the ways a file can be damaged.
        reason = str(error).splitlines()[0][:120] if str(error) else type(error).__name__
        raise DataError(f"{path} cannot be read as Parquet ({reason}). Write it again.") from None
    if frame.index.name is not None or isinstance(frame.index, pd.DatetimeIndex):
        frame = frame.reset_index(names=frame.index.name or "time")
    return frame
