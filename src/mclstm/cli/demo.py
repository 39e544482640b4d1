"""`mclstm demo`: a real river, an MC-LSTM beside an LSTM, in a few minutes."""

import json
from pathlib import Path
from typing import Annotated

import typer

from mclstm.cli.show import Json, Quiet

__all__ = ["demo"]


def demo(
    out: Annotated[Path, typer.Option(help="folder in which the runs are made")] = Path("runs"),
    seed: Annotated[int, typer.Option(help="seed of weights and sample order", min=0)] = 0,
    updates: Annotated[int, typer.Option(help="updates of each model", min=1)] = 300,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Train on the river Fulda 1979-1985, test on 1986-1988."""
    from mclstm.demo import compare, tables, write_page
    from mclstm.report.markdown import markdown
    from mclstm.training.journal import without_nan

    results = compare(out, seed, updates, quiet=quiet or as_json)
    scores, balance = tables(results)
    page = write_page(results, out)
    if as_json:
        runs = {name: str(run) for name, (run, _) in results.items()}
        content = {"runs": runs, "scores": scores.to_dict(), "balance": balance.to_dict(), "page": str(page)}
        print(json.dumps(without_nan(content), allow_nan=False))
        return
    print(f"\nRiver Fulda at Grebenau, daily, test years 1986-1988\n\n{markdown(scores)}")
    print(f"\nWater balance of the test years, mm\n\n{markdown(balance, 1)}")
    for name, (run, evaluation) in results.items():
        print(f"\n{name}: {run}\n  tables   {evaluation.folder}\n  figures  {run / 'figures'}")
    print(f"\npage {page}")
