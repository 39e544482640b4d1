"""Run by the python of neuralhydrology: train by its own trainer, and score now and then as we are scored.

    OTHER/bin/python nh_skill.py CONFIG.yml CURVE.json UPDATES SECONDS TARGET DAYS

After every UPDATES updates the whole validation period is simulated in one piece after DAYS days of warm-up,
256 basins side by side as in a batch of its training. It ends when the median NSE reaches TARGET or the
training has taken SECONDS of CPU time. Simulating and reading do not count.
"""

import json
import os
import sys
import time
from pathlib import Path
from typing import Any

BATCH = 256


def scored(model: Any, loader: Any, days: int) -> float:
    """The median NSE over basins. Scaled flows are scored: a scale common to both changes no NSE."""
    import numpy as np
    import torch

    values = []
    model.eval()
    with torch.no_grad():
        for batch in loader:
            simulated = model(model.pre_model_hook(batch, is_train=False))["y_hat"][:, -days:, 0].numpy()
            observed = batch["y"][:, -days:, 0].numpy()
            off = np.nansum((simulated - observed) ** 2 * np.isfinite(observed), axis=1)
            usual = np.nanmean(observed, axis=1, keepdims=True)
            values += list(1 - off / np.nansum((observed - usual) ** 2, axis=1))
    return float(np.median(values))


def validation(config: Path, scaler: Any, warmup: int) -> tuple[Any, int]:
    """A loader with one sample per basin, the whole period, and how many of its days are scored."""
    from neuralhydrology.datasetzoo import get_dataset
    from neuralhydrology.utils.config import Config
    from torch.utils.data import DataLoader

    cfg = Config(config)
    days = (cfg.validation_end_date - cfg.validation_start_date).days + 1
    cfg.update_config({"seq_length": days + warmup, "predict_last_n": days})
    data = get_dataset(cfg=cfg, is_train=False, period="validation", scaler=scaler)
    return DataLoader(data, batch_size=BATCH, collate_fn=data.collate_fn), days


def main(config: Path, curve: Path, updates: int, seconds: float, target: float, warmup: int) -> None:
    """Train, score, and write the curve after every scoring."""
    from neuralhydrology.training.basetrainer import BaseTrainer
    from neuralhydrology.utils.config import Config

    cfg = Config(config)
    cfg.update_config({"max_updates_per_epoch": updates})
    trainer = BaseTrainer(cfg=cfg)
    trainer.initialize_training()
    loader, days = validation(config, trainer.loader.dataset.scaler, warmup)
    scores: list[dict[str, float]] = []
    spent = 0.0
    while spent < seconds and not (scores and scores[-1]["nse"] >= target):
        begun = time.process_time()
        trainer._train_epoch(epoch=len(scores) + 1)
        spent += time.process_time() - begun
        done = updates * (len(scores) + 1)
        scores.append({"update": done, "cpu_seconds": spent, "nse": scored(trainer.model, loader, days)})
        beside = curve.with_suffix(".part")
        beside.write_text(json.dumps(scores))
        os.replace(beside, curve)


if __name__ == "__main__":
    first, second, *numbers = sys.argv[1:]
    every, limit, aim, before = numbers
    main(Path(first), Path(second), int(every), float(limit), float(aim), int(before))
