"""The tables of docs/many-runs.md: killed workers, and simulated hours on many nodes."""

from pathlib import Path

from mclstm.report.markdown import text_table
from mclstm_paper.experiment import Block
from mclstm_paper.results import committed_results

__all__ = ["BLOCKS"]

COUNTS = {
    "jobs": "jobs", "kills": "workers killed", "hit": "jobs that lost a worker or more",
    "results": "jobs with a result", "twice": "results written twice",
    "different": "results unlike those of undisturbed jobs",
}  # fmt: skip


def kills_table(root: Path) -> str:
    """What became of the jobs whose workers were killed."""
    content = committed_results(root / "results/durability/worker_kills.json")
    lines = [[text, str(content[name])] for name, text in COUNTS.items()]
    return text_table([f"Dask, {content['workers']} workers", "number"], lines)


def hours_table(root: Path) -> str:
    """Hours on paper and simulated, with the share of cores at work, by plan and nodes."""
    content = committed_results(root / "results/operation/scale_out.json")
    cells = {(item["model"], item["setting"], item["metric"]): item["value"] for item in content["rows"]}
    plans, settings = (list(dict.fromkeys(key[at] for key in cells)) for at in (0, 1))
    lines = [
        [
            plan,
            *(
                f"{cells[plan, s, 'hours on paper']:.3g} / {cells[plan, s, 'hours simulated']:.3g} "
                f"({cells[plan, s, 'share of cores at work']:.0%})"
                for s in settings
            ),
        ]
        for plan in plans
    ]
    assumed = "; ".join(f"{name}: {value:g}" for name, value in content["assumed"].items())
    table = text_table(["hours on paper / simulated (cores at work)", *settings], lines)
    return f"{table}\n\nAssumed: {assumed}. Median of {content['rows'][1]['n']} simulations."


BLOCKS: dict[str, Block] = {"worker-kills": kills_table, "scale-out": hours_table}
