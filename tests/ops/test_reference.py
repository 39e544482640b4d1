"""The reference against the paper's equations written out as scalar loops, in the paper's column form."""

import math

import pytest
import torch
from torch import Tensor

from mclstm import MCLSTM
from support.variants import VARIANTS, build, inputs


def logistic(z: float) -> float:
    return 1 / (1 + math.exp(-z))


def normalised(logits: list[float], kind: str, allowed: list[bool], fallback: list[float]) -> list[float]:
    raw = {
        "softmax": [math.exp(z) for z in logits],
        "sigmoid": [logistic(z) for z in logits],
        "relu": [max(z, 0.0) for z in logits],
    }[kind]
    raw = [value if ok else 0.0 for value, ok in zip(raw, allowed, strict=True)]
    return [value / sum(raw) for value in raw] if sum(raw) > 0 else fallback


def dot(weights: Tensor, z: list[float], bias: float) -> float:
    return sum(w * value for w, value in zip(weights.tolist(), z, strict=True)) + bias


def redistribution(
    layer: MCLSTM, z: list[float], x: list[float], a: list[float], c: list[float]
) -> list[list[float]]:
    gates, form, K = layer.gates, layer.gates.form, layer.gates.hidden_size
    if form.redistribution == "identity":
        return [[float(j == k) for j in range(K)] for k in range(K)]
    if form.redistribution == "module":
        as_batch = [torch.tensor([values], dtype=torch.float64) for values in (x, a, c)]
        logits = gates.hypernetwork(*as_batch).view(K, K).tolist()
    else:
        logits = gates.B_r.tolist()
    if form.redistribution == "dynamic":
        logits = [[dot(gates.W_r[k, j], z, gates.B_r[k, j].item()) for j in range(K)] for k in range(K)]
    if form.redistribution == "outer":
        u, v = ([dot(gates.W_r[n, k], z, gates.b_r[n, k].item()) for k in range(K)] for n in range(2))
        logits = [[u[k] * v[j] * logits[k][j] for j in range(K)] for k in range(K)]
    allowed = torch.ones(K, K, dtype=torch.bool) if gates.mask is None else gates.mask
    stays = [[float(j == k) for j in range(K)] for k in range(K)]
    return [normalised(logits[k], form.redistribution_norm, allowed[k].tolist(), stays[k]) for k in range(K)]


def paper_step(
    layer: MCLSTM, x: list[float], a: list[float], c: list[float]
) -> tuple[list[float], list[float]]:
    """m_tot = R c + i x with R left-stochastic, c = (1 - o) m_tot, h = o m_tot: the paper's own form."""
    gates, form, K = layer.gates, layer.gates.form, layer.gates.hidden_size
    norm = sum(abs(value) for value in c)
    state = [value / norm if norm > 0 and form.state_norm == "sample" else value for value in c]
    seen = {"aux": a, "state": state, "mass": x}
    z = [value for name in ("aux", "state", "mass") if name in form.gates_see for value in seen[name]]
    i = [
        normalised(
            [dot(gates.W_i[m, k], z, gates.b_i[m, k].item()) for k in range(K)],
            form.input_norm, [True] * K, [1 / K] * K,
        )
        for m in range(len(x))
    ]  # fmt: skip
    shares = {
        "gate": lambda k: logistic(dot(gates.W_o[k], z, gates.b_o[k].item())),
        "constant": lambda k: logistic(gates.b_o[k].item()),
        "none": lambda k: 0.0,
    }
    o = [shares[form.outlet](k) for k in range(K)]
    columns = redistribution(layer, z, x, a, c)  # columns[j][k]: the share of cell j that goes to cell k
    m_tot = [
        sum(columns[j][k] * c[j] for j in range(K)) + sum(i[m][k] * x[m] for m in range(len(x)))
        for k in range(K)
    ]
    return [o[k] * m_tot[k] for k in range(K)], [(1 - o[k]) * m_tot[k] for k in range(K)]


@pytest.mark.parametrize("name", VARIANTS)
def test_every_form_is_the_paper_step_by_step(name: str) -> None:
    layer = build(name)
    x, a, static = inputs()
    h, c = layer.trajectory(x, a, static=static)
    for sample in range(x.shape[1]):
        state = c[0, sample].tolist()
        for t in range(x.shape[0]):
            aux = a[t, sample].tolist() + static[sample].tolist()
            out, state = paper_step(layer, x[t, sample].tolist(), aux, state)
            torch.testing.assert_close(h[t, sample], torch.tensor(out, dtype=torch.float64))
            torch.testing.assert_close(c[t + 1, sample], torch.tensor(state, dtype=torch.float64))
