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
    """Train on the river Fulda 1979-1984, test on 1986-1988."""
    from mclstm.experiments.demo import compare, summary

    results = compare(out, seed, updates, quiet=quiet or as_json)
    scores, balance = summary(results)
    if as_json:
        runs = {name: str(item.run) for name, item in results.items()}
        print(json.dumps({"runs": runs, "scores": scores.to_dict("index"), "balance": balance}))
        return
    print("\nRiver Fulda at Grebenau, daily, test years 1986-1988\n")
    print(scores.round(3).to_string())
    print("\nWater balance of the MC-LSTM over the test years, mm")
    for name, amount in balance.items():
        print(f"  {name:<22}{amount:>14.6g}")
    for name, item in results.items():
        print(f"\n{name}: {item.run}\n  tables  {item.found.folder}\n  figures {item.run / 'figures'}")
