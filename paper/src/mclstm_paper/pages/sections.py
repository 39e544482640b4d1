"""Parts of a page that every experiment has: its table by protocol, claims, what is missing, its switches."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from mclstm.report.markdown import NOTHING, markdown
from mclstm_paper.experiment import Experiment
from mclstm_paper.protocols import PROTOCOLS, Protocol, Switch, other_protocol
from mclstm_paper.result_files import result_file
from mclstm_paper.results import Row, read_results

__all__ = [
    "claims_table",
    "differences",
    "missing",
    "not_run",
    "protocol_section",
    "provenance",
    "read",
    "variants_section",
]


def read(root: Path, file: str) -> dict[str, Any] | None:
    """A file of the folder of results, None if there is none."""
    return read_results(root / "results" / file)


def protocol_section(root: Path, task: Experiment, protocol: Protocol) -> str:
    """Our table under a protocol, what it lacks, the paper's claims, and what made it."""
    content = read(root, result_file(task, protocol))
    if content is None:
        return rejudged_section(root, task, protocol)
    rows = content["rows"]
    parts = [task.table(rows), *not_run(task.expected(protocol), rows)]
    if content["claims"]:
        parts.append(claims_table(content["claims"]))
    return "\n\n".join([*parts, provenance(content)])


def rejudged_section(root: Path, task: Experiment, protocol: Protocol) -> str:
    """The runs of the other protocol by this protocol's threshold, or one line if nothing was run."""
    other = read(root, result_file(task, other_protocol(protocol)))
    rows = task.rejudge(other["rows"], protocol) if other else []
    if not rows:
        return missing(task.name, protocol)
    note = f"The runs of the table above, by the {protocol} threshold."
    return "\n\n".join([task.table(rows), *not_run(task.expected(protocol), rows), note])


def variants_section(root: Path, name: str, table: Callable[[Sequence[Row]], str], models: str) -> str:
    """Tables of the models beside the paper's, under the protocols they were run with.

    models: names with commas, for the command that is shown when nothing was run
    """
    parts = []
    for protocol in PROTOCOLS:
        content = read(root, f"{name}/{protocol}-variants.json")
        if content is not None:
            parts += [f"Protocol {protocol}:", table(content["rows"])]
            parts += [claims_table(content["claims"])] if content["claims"] else []
    return "\n\n".join(parts) or missing(name, "stated", f" --models {models}")


def missing(name: str, protocol: str, more: str = "") -> str:
    """The line in place of the table of an experiment that was not run."""
    command = f"mclstm experiment {name} --profile paper --protocol {protocol}{more} --results results"
    return f"Not run yet: `{command}`."


def not_run(expected: Mapping[str, Iterable[str]], rows: Sequence[Row]) -> list[str]:
    """A sentence on the models and settings that a table lacks; nothing if it is whole.

    >>> rows = [{"model": "nalu", "setting": "addition"}]
    >>> not_run({"nau": ["addition"], "nalu": ["addition", "subtraction"]}, rows)
    ['Not run yet: nau, nalu (subtraction).']
    """
    have = {(row["model"], row["setting"]) for row in rows}
    run = {model for model, _ in have}
    names = []
    for model, settings in expected.items():
        lacking = [setting for setting in settings if (model, setting) not in have]
        if lacking:
            names.append(f"{model} ({', '.join(lacking)})" if model in run else model)
    return [f"Not run yet: {', '.join(names)}."] if names else []


def claims_table(claims: Sequence[Mapping[str, object]]) -> str:
    """The paper's comparisons on our numbers."""
    table = {
        "claim": [str(claim["claim"]) for claim in claims],
        "test": [str(claim["test"]) for claim in claims],
        "p": [NOTHING if claim["p"] is None else f"{claim['p']:.2g}" for claim in claims],
        "holds": ["yes" if claim["holds"] else "no" for claim in claims],
    }
    return markdown(pd.DataFrame(table))


def provenance(content: Mapping[str, Any]) -> str:
    """When and at which commit a result file was written, and which commits trained its runs."""
    made = content["made"]
    written = f"Made {made['date']} at commit {made['commit']}, profile {content['profile']}."
    jobs = made.get("jobs", {})
    commits = dict.fromkeys(job["commit"] for job in jobs.values())
    if not commits:
        return written
    names = ["a copy outside of any checkout" if name == "unknown" else name for name in commits]
    trained = dict.fromkeys(row["model"] for row in content["rows"] if row.get("trained"))
    unknown = [model for model in trained if not any(name.startswith(f"{model}/") for name in jobs)]
    text = f"{written} Its runs were trained at {', '.join(names)}."
    return text + (f" Which commit trained {', '.join(unknown)} is not known." if unknown else "")


def differences(switches: Sequence[Switch]) -> str:
    """The switches between the protocols of an experiment."""
    table = {
        "switch": [switch.name for switch in switches],
        "when it is on, as in the published code": [switch.effect for switch in switches],
    }
    return markdown(pd.DataFrame(table))
