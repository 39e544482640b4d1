"""What an update of the traffic forecast costs, by model and size: why `--profile paper` stays with 10 cells.

python -m mclstm_paper.traffic.update_cost --out results/traffic/cost.json
"""

import argparse
import json
import time
from pathlib import Path

import numpy as np
import torch

from mclstm.training.atomic import make_folder, write_text_atomic
from mclstm.training.cost import commit
from mclstm_paper.seeds.networks import sources
from mclstm_paper.traffic.days import read_city
from mclstm_paper.traffic.models import NETWORKS, Setting, build, clock_of, our_grid, papers_grid
from mclstm_paper.traffic.task import FlowTask
from mclstm_paper.traffic.training import BATCH

__all__ = ["cost", "main"]

UPDATES = 3


def cost(model: str, setting: Setting) -> float:
    """Seconds of one core for forward and backward of one seed, on a batch of whole days of flights."""
    task = FlowTask(read_city(None), "dense", clock_of(model))
    network = build(model, setting, task.sizes, task.scales(), "stated", sources([0]))
    days: np.ndarray = task.split(0)[0][np.newaxis, :BATCH]

    def update() -> None:
        x, a, y = task.batch(days)
        task.errors(network(x, a), y).sum().backward()  # type: ignore[no-untyped-call]

    update()
    begun = time.process_time()
    for _ in range(UPDATES):
        update()
    return (time.process_time() - begun) / UPDATES


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, required=True)
    out: Path = parser.parse_args().out
    torch.set_num_threads(1)
    seconds: dict[str, dict[str, float]] = {}
    for model in NETWORKS:
        grid = papers_grid(model) if clock_of(model) == "number" else our_grid(model)
        by_size = {setting.hidden: setting for setting in grid}
        seconds[model] = {str(size): round(cost(model, each), 4) for size, each in by_size.items()}
        print(model, seconds[model], flush=True)
    make_folder(out.parent)
    about = {"what": "seconds of one core per update and seed", "commit": commit()}
    write_text_atomic(out, json.dumps({**about, "seconds": seconds}, indent=1) + "\n")


if __name__ == "__main__":
    main()
