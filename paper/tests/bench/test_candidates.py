"""What is compared computes the same: forward and gradients, wherever two candidates are meant to agree."""

import sys

import pytest
import torch
from torch import Tensor

from mclstm.nn.gates import GateOptions
from mclstm.nn.layer import MCLSTM
from mclstm.ops.native.build import Status
from mclstm_paper.bench import candidates as bench_candidates
from mclstm_paper.bench.candidates import CANDIDATES, Problem, available, problem
from mclstm_paper.bench.peers import FORGET_BIAS, PythonLSTM, neuralhydrology_cell, torch_lstm
from mclstm_paper.bench.scales import HYDROLOGY, PUBLISHED, TASKS, Sizes

# So many cells that no row of a normalised ReLU is without a positive entry: there the peers lose mass.
SIZES = Sizes(B=5, T=7, M=1, A=2, S=3, K=20)
FORMS: dict[str, tuple[Sizes, GateOptions]] = {
    "hydrology": (SIZES, HYDROLOGY),
    "published": (SIZES, PUBLISHED),
    "constant R": (SIZES._replace(M=3, S=0), TASKS["recurrent arithmetic, K = 2"].options),
    "several inputs": (
        SIZES._replace(M=3, S=0),
        TASKS["recurrent arithmetic, K = 3, time-dependent R"].options,
    ),
    "addition": (SIZES._replace(S=0), TASKS["addition, K = 10"].options),
}


def outcome(name: str, inputs: Problem) -> tuple[Tensor, list[Tensor]]:
    """Outflow of all steps, and the gradients of W_i, W_o, b_o and B_r, each as a row."""
    candidate = CANDIDATES[name](inputs)
    candidate.both(inputs.dh)
    names = {"W_i": "input_gate.fc.weight", "W_o": "output_gate.fc.weight", "b_o": "output_gate.fc.bias"}
    static = inputs.options.get("redistribution") == "static"
    names["B_r"] = "redistribution.B" if static else "redistribution.fc.bias"
    eager = name == "mclstm-eager"
    gradients = [candidate.module.get_parameter(names[n] if eager else f"gates.{n}").grad for n in names]
    return candidate.outflow().detach(), [grad.flatten() for grad in gradients if grad is not None]


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", ["mclstm-native", "mclstm-torch", "mclstm-eager"])
def test_equals_the_reference(name: str, form: str) -> None:
    inputs = problem(*FORMS[form])
    h, grads = outcome(name, inputs)
    expected, expected_grads = outcome("mclstm-reference", inputs)
    assert h.shape == (7, 5, 20)
    torch.testing.assert_close(h, expected, rtol=1e-4, atol=1e-6)
    assert len(grads) == len(expected_grads) == 4
    for grad, wanted in zip(grads, expected_grads, strict=True):
        torch.testing.assert_close(grad, wanted, rtol=1e-3, atol=1e-5)


def test_neuralhydrology_equals_the_layer_that_normalises_over_the_batch() -> None:
    inputs = problem(SIZES, HYDROLOGY)
    torch.manual_seed(0)
    options: GateOptions = {**HYDROLOGY, "state_norm": "batch", "static_size": SIZES.S}
    layer = MCLSTM(SIZES.M, SIZES.A, SIZES.K, **options)
    h, c = layer(inputs.x, inputs.a, static=inputs.s)
    theirs, cells = neuralhydrology_cell(layer)(inputs.x, inputs.every)
    torch.testing.assert_close(theirs, h, rtol=1e-4, atol=1e-6)
    torch.testing.assert_close(cells[-1], c, rtol=1e-4, atol=1e-6)


def test_both_lstms_are_the_same_function() -> None:
    fast, plain = torch_lstm(3, 4), PythonLSTM(3, 4)
    assert fast.bias_ih_l0[4:8].tolist() == [FORGET_BIAS] * 4 == plain.gates.bias[4:8].tolist()
    with torch.no_grad():
        plain.gates.weight.copy_(torch.cat([fast.weight_ih_l0, fast.weight_hh_l0], dim=1))
        plain.gates.bias.copy_(fast.bias_ih_l0 + fast.bias_hh_l0)
    x = torch.randn(6, 2, 3)
    torch.testing.assert_close(plain(x)[0], fast(x)[0])


def test_a_forward_pass_keeps_nothing_and_a_backward_pass_starts_afresh() -> None:
    inputs = problem(SIZES, HYDROLOGY)
    for name in CANDIDATES:
        candidate = CANDIDATES[name](inputs)
        candidate.forward()
        parameters = list(candidate.module.parameters())
        assert all(p.grad is None for p in parameters)
        candidate.both(inputs.dh)
        once = [p.grad.clone() for p in parameters if p.grad is not None]
        candidate.both(inputs.dh)
        again = [p.grad for p in parameters if p.grad is not None]
        assert len(once) == len(again) > 0
        for first, second in zip(once, again, strict=True):
            torch.testing.assert_close(first, second)


def test_the_same_problem_every_time() -> None:
    one, two = problem(SIZES, HYDROLOGY), problem(SIZES, HYDROLOGY)
    assert torch.equal(one.every, two.every)
    assert torch.equal(one.every[3, :, 2:], one.s)


def test_missing_peers_are_named_and_the_others_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "neuralhydrology.modelzoo.mclstm", None)
    monkeypatch.setattr(bench_candidates, "status", lambda: Status(False, None, "no compiler"))
    missing: dict[str, str] = {}
    candidates = available(
        ("mclstm-native", "mclstm-torch", "neuralhydrology"), problem(SIZES, HYDROLOGY), missing
    )
    assert list(candidates) == ["mclstm-torch"]
    assert missing["mclstm-native"] == "no compiler"
    assert "pip install neuralhydrology" in missing["neuralhydrology"]


def test_neuralhydrology_has_one_form() -> None:
    missing: dict[str, str] = {}
    assert not available(("neuralhydrology",), problem(SIZES, PUBLISHED), missing)
    assert "hydrology experiments only" in missing["neuralhydrology"]
