"""Where a model trains: names are checked, and nothing is made elsewhere than the weights are."""

from pathlib import Path
from typing import Any

import pytest
import torch

from mclstm.cli.main import main
from mclstm.config import check_config
from mclstm.config.same_model import difference
from mclstm.data.scaling import moments
from mclstm.data.windows import tensors, windows
from mclstm.errors import ConfigError
from mclstm.evaluation.simulate import simulate
from mclstm.from_config import build
from mclstm.series_from_config import read_series
from mclstm.training.device import find_device
from mclstm.training.learner import batch_of
from mclstm.training.loss import importance_of
from mclstm.training.update import one_update
from support.small_run import brook, brook_config, brook_file, trained

PLACES = [
    ("cpu", 0, 0, "cpu"), ("cpu", 4, 1, "cpu"), ("auto", 0, 0, "cpu"), ("auto", 1, 0, "cuda:0"),
    ("cuda", 2, 1, "cuda:1"), ("cuda:1", 2, 0, "cuda:1"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "gpus", "local_rank", "place"), PLACES)
def test_a_name_is_a_place_of_this_machine(name: str, gpus: int, local_rank: int, place: str) -> None:
    assert find_device(name, gpus, local_rank) == torch.device(place)


REFUSED = [
    ("cuda", 0, 0, 1, "training.device is cuda, but torch finds only cpu here. Choose one of these."),
    ("cuda:3", 2, 0, 1, "training.device is cuda:3, but torch finds only cpu, cuda:0, cuda:1 here."),
    ("cuda", 2, 2, 3, "process 3 of this machine finds only cpu, cuda:0, cuda:1. Start at most 2 here"),
    ("cuda:0", 2, 0, 2, "training.device is cuda:0, one GPU for 2 processes. Set it to cuda"),
]


@pytest.mark.parametrize(("name", "gpus", "local_rank", "ranks", "said"), REFUSED)
def test_a_place_that_is_not_there_is_refused(
    name: str, gpus: int, local_rank: int, ranks: int, said: str
) -> None:
    with pytest.raises(ConfigError, match=said):
        find_device(name, gpus, local_rank, ranks)


@pytest.mark.parametrize("name", ["gpu", "cuda:", "cuda:-1", "CPU", "cuda:0,1", "mps", ""])
def test_other_names_are_no_devices(tmp_path: Path, name: str) -> None:
    with pytest.raises(ConfigError, match=r"training\.device"):
        check_config(brook_config(tmp_path, device=name))


def test_a_gpu_that_is_not_there_is_refused_before_anything_is_written(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    number = torch.cuda.device_count()
    config = brook_file(tmp_path, device=f"cuda:{number}")
    assert main(["train", str(config), "--out", str(tmp_path / "runs")]) == 2
    assert capsys.readouterr().err.startswith(f"training.device is cuda:{number}, but torch finds only cpu")
    assert not (tmp_path / "runs").exists()


def test_a_run_goes_on_at_another_place(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """As if it had begun on a GPU: the device of its config is not here, and is no part of what it is."""
    run = trained(tmp_path, updates=3)
    config, number = run / "config.yaml", torch.cuda.device_count()
    config.write_text(config.read_text().replace("device: cpu", f"device: cuda:{number}"))
    assert main(["resume", str(run), "--no-figures"]) == 2
    assert "training.device is cuda:" in capsys.readouterr().err
    assert main(["resume", str(run), "--no-figures", "--device", "cpu"]) == 0
    assert main(["evaluate", str(run), "--no-figures"]) == 0
    there, here = (check_config(brook_config(tmp_path, device=name)) for name in ("auto", "cpu"))
    assert difference(there, here) == "nothing"


MODELS: dict[str, dict[str, Any]] = {
    "torch": {"name": "mclstm", "backend": "torch"},
    "reference": {"name": "mclstm", "backend": "reference", "redistribution": "outer"},
    "parts": {
        "name": "mclstm", "aux_memory": 2, "head": "linear", "evapotranspiration": True, "cell_penalty": 1e-4,
        "initial_state": "learned", "input_scaling": True, "backend": "torch",
    },
    "hybrid": {"name": "hybrid", "dropout": 0.2, "backend": "torch"},
    "lstm": {"name": "lstm", "dropout": 0.2, "balance_penalty": 0.1},
}  # fmt: skip


@pytest.mark.parametrize(("name", "members"), [*((name, None) for name in MODELS), ("parts", 2)])
def test_no_tensor_of_training_or_simulation_is_made_elsewhere(
    tmp_path: Path, name: str, members: int | None
) -> None:
    """torch makes a tensor that names no device on `meta` here, and refuses to compute with it and others."""
    training = {} if members is None else {"members": members}
    raw = brook_config(brook(tmp_path / "brook.csv"), {"hidden_size": 3} | MODELS[name], **training)
    config = check_config(raw)
    series = read_series(config, require_target=True)
    scaling = moments(series)
    data, (model, _) = tensors(series, scaling, torch.float32), build(config, scaling)
    where = windows(data, (0, 150), "sequence", length=10, warmup=4)
    batch = batch_of(model, data, where, 0, 0, slice(0, 5))
    importance = importance_of(data.y, "nse", quantile=0.8, extra=0.5).of(batch.site)
    optimiser = torch.optim.Adam(model.parameters())
    with torch.device("meta"):
        assert torch.zeros(1).is_meta
        for without_gradient in (0, 4):
            step = one_update(model, optimiser, batch, importance, 0.01, 1.0, without_gradient)
            assert step.finite
        if members is None:
            simulation = simulate(model, data, series, (20, 60), 10, stores=False)
            assert simulation.predictions["simulated"].notnull().all()
