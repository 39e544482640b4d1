"""Wrong tables through neuralhydrology's command and ours: who says what is wrong.

    PYTHONPATH=tests python -m support.wrong_tables TABLES
    python -m mclstm_paper.side_by_side TABLES --python OTHER/bin/python

`make record-side-by-side` does both. The first table is sound: what is said of it is left out for the others.
OTHER is an environment with neuralhydrology, ours or its own. A training that is done is not run again, so
the command can be stopped and started again. `make docs` turns the record into a table.
"""

import argparse
import json
import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pandas as pd
import yaml

from mclstm.errors import DataError
from mclstm.report.markdown import text_table
from mclstm.training.atomic import make_folder, write_text_atomic
from mclstm.training.folder import environment
from mclstm_paper.results import committed_results

__all__ = ["main", "side_by_side_table"]

FILE = "results/first_contact/side_by_side.json"
SECONDS = 300  # a training of one epoch takes ten
LONGEST = 200  # letters of a sentence on the page
CONFIG: dict[str, Any] = {
    "dataset": "generic", "model": "mclstm", "head": "regression", "hidden_size": 8, "seq_length": 20,
    "predict_last_n": 1, "epochs": 1, "batch_size": 256, "optimizer": "Adam", "learning_rate": 0.01,
    "loss": "MSE", "device": "cpu", "seed": 0, "num_workers": 0, "log_interval": 1000, "metrics": ["NSE"],
    "initial_forget_bias": 3, "output_activation": "linear", "clip_targets_to_zero": [],
    "validate_every": 1, "validate_n_random_basins": 1, "log_n_figures": 0, "log_tensorboard": False,
}  # fmt: skip
# What differs between the logs of two sound tables: times, paths, numbers, columns, and the bars of progress.
CHANGING = re.compile(
    r"\d{4}-\d\d-\d\d[ T][\d:,.]+|/\S+|-?\d[\d.e+-]*|(dynamic|mass)_inputs: .*|.*it/s.*|.*s/it.*"
)


def read_as_their_tutorial(path: Path, declared: dict[str, Any]) -> pd.DataFrame:
    """The table as pandas reads it; a declared volume becomes a depth over the declared area."""
    table = pd.read_csv(path, sep=None, engine="python", index_col=0, parse_dates=True)
    table.index.name = "date"
    if "area_km2" in declared:
        table["flow"] = table["flow"] * 86.4 / declared["area_km2"]
    return table


def write_generic(table: pd.DataFrame, folder: Path) -> Path:
    """The folder that neuralhydrology's dataset `generic` reads, and the path of a config for it."""
    make_folder(folder / "time_series")
    table.to_xarray().to_netcdf(folder / "time_series" / "river.nc", engine="h5netcdf")
    write_text_atomic(folder / "basins.txt", "river\n")
    mass = [name for name in ("rain", "precip") if name in table]
    aux = [name for name in table if name not in (*mass, "flow")]
    hours = isinstance(table.index, pd.DatetimeIndex) and table.index[1].hour > 0
    last = ("30/11/2001", "01/12/2001", "31/12/2001") if hours else ("31/12/2003", "01/01/2004", "31/12/2004")
    config = CONFIG | {
        "experiment_name": "river", "data_dir": str(folder), "run_dir": str(folder / "runs"),
        "mass_inputs": mass, "dynamic_inputs": aux, "target_variables": ["flow"],
        "custom_normalization": {name: {"centering": "none", "scaling": "none"} for name in (*mass, "flow")},
        "train_start_date": "01/01/2001", "train_end_date": last[0],
        "validation_start_date": last[1], "validation_end_date": last[2],
        "test_start_date": last[1], "test_end_date": last[2],
        **{f"{part}_basin_file": str(folder / "basins.txt") for part in ("train", "validation", "test")},
    }  # fmt: skip
    write_text_atomic(folder / "config.yml", yaml.safe_dump(config))
    return folder / "config.yml"


def prepare(home: Path, declared: dict[str, Any]) -> Path | None:
    """The config for their training; None where pandas or xarray fail, with what they say beside it."""
    folder = home / "generic"
    make_folder(folder)
    try:
        return write_generic(read_as_their_tutorial(home / "river.csv", declared), folder)
    except (ValueError, TypeError, KeyError) as error:
        write_text_atomic(folder / "log.txt", f"{type(error).__name__}: {error}\n")
        return None


def theirs(home: Path) -> dict[str, Any]:
    """Whether their training ended, and what was said; of a traceback only the last line."""
    folder = home / "generic"
    said = [line for line in (folder / "log.txt").read_text().splitlines() if _stem(line)]
    if not (folder / "exit_code").is_file():
        return {"ended": False, "said": said[-1:], "by": "pandas"}
    ended = int((folder / "exit_code").read_text()) == 0
    return {"ended": ended, "said": said if ended else said[-1:], "by": "neuralhydrology"}


def _stem(line: str) -> str:
    return CHANGING.sub("", line).strip()


def ours(home: Path, declared: dict[str, Any]) -> dict[str, Any]:
    """What `mclstm check` says: the sentence that names the mistake, or else the first."""
    words = [sys.executable, "-m", "mclstm", "check", str(home / "river.csv"), "--json"]
    words += [f"--unit={name}={unit}" for name, unit in declared["units"].items()]
    words += ["--area", str(declared["area_km2"])] if "area_km2" in declared else []
    done = subprocess.run(words, capture_output=True, text=True, timeout=SECONDS, check=False)
    if done.returncode not in (0, 2):
        raise DataError(f"mclstm check {home} ended with {done.returncode}: {done.stderr[-300:]}. Mend it.")
    findings = json.loads(done.stdout)["findings"]
    said = [f"{one['message']}. {one['remedy']}." for one in findings]
    naming = [sentence for sentence in said if declared["word"] in sentence]
    return {"refused": done.returncode == 2, "named": bool(naming), "said": (naming or said)[:1]}


def side_by_side_table(root: Path) -> str:
    """Every table: what each command says of it."""
    content = committed_results(root / FILE)
    rows = [[one["name"], _sentence(one["ours"]), _outcome(one["theirs"])] for one in content["tables"]]
    named = sum(one["ours"]["named"] for one in content["tables"])
    silent = sum(one["theirs"]["ended"] and not one["theirs"]["said"] for one in content["tables"])
    table = text_table(["wrong table", "`mclstm check`", "`nh-run train`"], rows)
    count = f"Of {len(rows)} wrong tables `mclstm check` names {named}. neuralhydrology"
    ended = sum(not one["theirs"]["ended"] for one in content["tables"])
    trained = f"{content['version']} trains on {silent} without a word and ends with a traceback on {ended}."
    return f"{count} {trained}\n\n{table}"


def _sentence(answer: dict[str, Any]) -> str:
    text = " ".join(answer["said"]).replace("|", "/").replace("\n", " ")
    return text if len(text) <= LONGEST else text[:LONGEST].rsplit(" ", 1)[0] + " ..."


def _outcome(answer: dict[str, Any]) -> str:
    if answer["ended"]:
        return f"trains; says: {_sentence(answer)}" if answer["said"] else "trains, says nothing"
    return f"ends with {_sentence(answer)}" + (" (pandas)" if answer["by"] == "pandas" else "")


def main(words: Sequence[str] | None = None) -> None:
    """Ask both about every table of a folder and write what they say."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("tables", type=Path)
    parser.add_argument("--python", required=True, help="the python of neuralhydrology's environment")
    parser.add_argument("--out", type=Path, default=Path(FILE))
    options = parser.parse_args(words)
    homes = sorted(path.parent for path in options.tables.glob("*/declared.json"))
    declared = {home: json.loads((home / "declared.json").read_text()) for home in homes}
    configs = [prepare(home, declared[home]) for home in homes]
    driver = str(Path(__file__).with_name("nh_trainings.py"))
    subprocess.run([options.python, driver, *(str(path) for path in configs if path)], check=True)
    usual = {_stem(line) for line in theirs(homes[0])["said"]}
    tables = []
    for home in homes[1:]:
        answer = theirs(home)
        answer["said"] = [line for line in answer["said"] if _stem(line) not in usual]
        tables.append({"name": declared[home]["name"], "ours": ours(home, declared[home]), "theirs": answer})
    content = {"version": _version(options.python), "environment": environment(), "tables": tables}
    make_folder(options.out.parent)
    write_text_atomic(options.out, json.dumps(content, indent=1) + "\n")


def _version(python: str) -> str:
    ask = "from importlib.metadata import version; print(version('neuralhydrology'))"
    return subprocess.run([python, "-c", ask], capture_output=True, text=True, check=True).stdout.strip()


if __name__ == "__main__":
    main()
