"""`mclstm bench`: time and memory beside the peers and the limit of this machine."""

import json
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Annotated

import typer

from mclstm.cli.show import Json, Quiet
from mclstm.errors import ConfigError, Interrupted

__all__ = ["bench"]

FORMS = (".svg", ".png")


def bench(
    quick: Annotated[bool, typer.Option("--quick", help="a short look at smaller sizes")] = False,
    rows: Annotated[
        str | None, typer.Option(help="groups, with commas: paper, table, small, single, memory, growth")
    ] = None,
    repeats: Annotated[int | None, typer.Option(help="rounds over all candidates", min=1)] = None,
    threads: Annotated[str, typer.Option(help="numbers of threads, with commas")] = "1,2",
    out: Annotated[Path, typer.Option(help="file for the results")] = Path("runs/bench.json"),
    figure: Annotated[Path | None, typer.Option(help="file for a figure, .svg or .png")] = None,
    keep: Annotated[bool, typer.Option("--keep", help="replace only these rows in the file")] = False,
    tiny: Annotated[bool, typer.Option("--tiny", hidden=True)] = False,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Time MC-LSTMs and LSTMs on this machine; every measurement has a process and is saved at once."""
    from mclstm_paper.bench.bench_record import Record
    from mclstm_paper.bench.bench_record import bench as run
    from mclstm_paper.bench.page import save_figure, whole
    from mclstm_paper.bench.worker import GROUPS, measurements

    profile = "tiny" if tiny else "quick" if quick else "paper"
    if figure is not None and figure.suffix not in FORMS:
        raise ConfigError(f"--figure is {figure}. Give a name that ends in {' or '.join(FORMS)}.")
    wanted = measurements(_chosen(rows, list(GROUPS)), _threads(threads), profile, repeats)
    record = Record(out, profile, keep)
    with _stoppable():
        run(wanted, record, lambda line: None if quiet else print(line, file=sys.stderr, flush=True))
    content = json.loads(out.read_text())
    if figure is not None:
        save_figure(content, figure)
    if as_json:
        print(json.dumps(content))
        return
    print(f"{whole(content)}\n\nresults {out}" + (f"\nfigure  {figure}" if figure else ""))


def _chosen(rows: str | None, known: list[str]) -> list[str]:
    names = known if rows is None else [name.strip() for name in rows.split(",")]
    for name in names:
        if name not in known:
            raise ConfigError(f"--rows names {name!r}, which is no group. Choose from {', '.join(known)}.")
    return names


def _threads(text: str) -> list[int]:
    numbers = [int(word) if word.strip().isdecimal() else 0 for word in text.split(",")]
    if min(numbers) < 1:
        raise ConfigError(f"--threads is {text!r}. Give whole numbers of at least 1, for example 1,2.")
    return sorted(set(numbers))


@contextmanager
def _stoppable() -> Iterator[None]:
    """SIGTERM ends the measurement under way; finished ones are in the file."""

    def stop(number: int, frame: FrameType | None) -> None:
        raise Interrupted(number, "stopped; finished groups are in the results file")

    before = signal.signal(signal.SIGTERM, stop)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
