"""Backend `torch`: the recurrence and its backward pass written by hand, the specification of every kernel.

R is never normalised. With A = act(logits) and n_k = sum_j A_kj, the share of row k is A_kj / n_k, so

    m_j = sum_k (u_k / n_k) A_kj        u = [x, c], as many rows as mass inputs and cells

costs M + K divisions, not K². Only h and c are kept for the backward pass, which computes the gates again;
m is h + c. With the outlets' o = σ(z_o), which leaves, and σ(-z_o), which stays, g = dL/dm and q_k = dL/du_k

    g = o dL/dh + σ(-z_o) dL/dc'        dL/dz_o = m o σ(-z_o) (dL/dh - dL/dc')
    q_k = sum_j A_kj g_j / n_k          dL/dA_kj = (u_k / n_k) (g_j - q_k)

The rows of ablations are not normalised: n_k = 1, and dL/dA_kj = u_k g_j. If outflow is not taken from the
cells, m is c. Everything leads with E, the members of an ensemble.
"""

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor

from mclstm.ops.gate_rows import (
    Shares,
    Stacked,
    collected,
    left,
    shared_out,
    shares,
    stack,
    write_logit_gradients,
)
from mclstm.ops.normalise import SATURATED, bounded, fallback_rows, logit_limit, outer_logits, sigmoid
from mclstm.ops.problem import Form, Problem
from mclstm.ops.reference import EMPTY, EMPTY_BATCH, normalised_state
from mclstm.ops.settle import settled

__all__ = ["backward", "forward", "rerun_gradients", "sequence"]

Network = Callable[[int, Tensor], Tensor]  # step t, cells (E, B, K) -> logits of R (E, B, K, K)


def state_gradient(dz: Tensor, c: Tensor, form: Form) -> Tensor:
    """Back through c / |c|_1, and through c where the stores count as empty: dz, c, result (E, B, K)."""
    if form.state_norm == "none":
        return dz
    if form.state_norm == "batch":
        total = c.abs().sum(dim=(-2, -1), keepdim=True) + EMPTY_BATCH
        return (dz - (dz * (c / total)).sum(dim=(-2, -1), keepdim=True) * c.sign()) / total
    total = (c.abs() if form.negative_cells else c).sum(dim=-1, keepdim=True)
    stored = total > EMPTY
    total = torch.where(stored, total, 1.0)
    inner = (dz * (c / total)).sum(dim=-1, keepdim=True)
    return (dz - torch.where(stored, inner, 0.0) * (c.sign() if form.negative_cells else 1.0)) / total


class Recurrence:
    """What stays the same over a sequence, prepared once for the steps of `forward` and `backward`."""

    def __init__(self, stacked: Stacked) -> None:
        self.stacked, self.form = stacked, stacked.form
        cells = stacked.W.shape[2]
        self.input_kind, self.cell_kind = self.form.row_kinds
        self.leaves = "output" not in self.form.not_conserving  # whether outflow leaves the cells
        self.W = stacked.W.flatten(1, 2).transpose(1, 2).contiguous().transpose(1, 2)
        self.base = stacked.base.flatten(2)
        eye = torch.eye(cells, dtype=stacked.W.dtype, device=stacked.W.device)
        self.stays = fallback_rows(stacked.mask, eye)
        self.even = stacked.W.new_full((stacked.x.shape[-1], cells), 1.0 / cells)
        # One buffer for the logits of all steps, unless autograd records a graph and keeps them.
        shape = (*stacked.c0.shape[:2], self.W.shape[1])
        self.buffer = None if torch.is_grad_enabled() else stacked.W.new_empty(shape)

    def features(self, t: int, c: Tensor) -> Tensor:
        """z_t = [a_t, c / |c|, x_t], as far as the gates see them: c (E, B, K) -> (E, B, F)."""
        state = [normalised_state(c, self.form)] if "state" in self.form.gates_see else []
        mass = [self.stacked.x[:, t]] if "mass" in self.form.gates_see else []
        return torch.cat([self.stacked.a[:, t], *state, *mass], dim=-1)

    def logits(self, z: Tensor) -> tuple[Tensor, ...]:
        """Logits of input gate (E, B, M, K), R (E, B, K or 2 or 0, K) and output gate (E, B, 1, K)."""
        logits = torch.baddbmm(self.base, z, self.W.transpose(1, 2), out=self.buffer)
        return logits.view(*z.shape[:2], *self.stacked.W.shape[1:3]).split_with_sizes(
            self.stacked.sizes, dim=2
        )

    def input_shares(self, logits: Tensor) -> Shares:
        return shares(logits, self.input_kind, self.even, None)

    def cell_logits(self, logits: Tensor) -> Tensor:
        """The (E, B, K, K) logits of R, from the (E, B, K or 2, K) rows it has."""
        if self.form.redistribution == "dynamic":
            return logits
        assert self.stacked.fixed is not None
        return outer_logits(logits[:, :, 0], logits[:, :, 1], self.stacked.fixed.unsqueeze(1))

    def cell_shares(self, logits: Tensor) -> Shares:
        return shares(logits, self.cell_kind, self.stays, self.stacked.mask)

    def redistributed(self, c: Tensor, logits: Tensor) -> Tensor:
        """c R: c (E, B, K) -> (E, B, K)."""
        if logits.shape[2] > 0:
            return shared_out(c, self.cell_shares(self.cell_logits(logits)))
        return c if self.stacked.fixed is None else c @ self.stacked.fixed

    def parted(self, m: Tensor, z_o: Tensor) -> tuple[Tensor, Tensor]:
        """What leaves and what stays of m: m, z_o (E, B, K) -> (E, B, K) twice."""
        return sigmoid(z_o) * m, sigmoid(-z_o) * m if self.leaves else m


def forward(stacked: Stacked, network: Network | None = None) -> tuple[Tensor, Tensor]:
    """Outflows h (E, T, B, K) and cells c (E, T + 1, B, K), in plain differentiable operations."""
    run = Recurrence(stacked)
    outflows, stores = [], [stacked.c0]
    for t, x in enumerate(stacked.x.unbind(1)):
        c = stores[-1]
        i, r, z_o = run.logits(run.features(t, c))
        moved = run.redistributed(c, r) if network is None else shared_out(c, run.cell_shares(network(t, c)))
        m = moved + shared_out(x, run.input_shares(i))
        h, after = run.parted(m, z_o.squeeze(2))
        if not stacked.form.not_conserving:
            h, after = settled(torch.cat([x, c], dim=-1), h, after)
        if stacked.valid is not None:
            moves = stacked.valid[t].unsqueeze(-1)
            h, after = torch.where(moves, h, 0.0), torch.where(moves, after, c)
        outflows.append(h)
        stores.append(after)
    c = torch.stack(stores, dim=1)
    return torch.stack(outflows, dim=1) if outflows else torch.empty_like(c[:, 1:]), c


class Adjoint:
    """The sums that a backward pass collects on its way from the last step to the first."""

    def __init__(self, stacked: Stacked) -> None:
        self.run, self.stacked, self.form = Recurrence(stacked), stacked, stacked.form
        self.dlogits = stacked.W.new_empty(*stacked.c0.shape[:2], *stacked.W.shape[1:3])
        self.dW = torch.zeros_like(self.run.W)
        self.dbase = torch.zeros_like(self.run.base)
        self.dfixed = None if stacked.fixed is None else torch.zeros_like(stacked.fixed)
        self.dx, self.da = torch.empty_like(stacked.x), torch.empty_like(stacked.a)

    def step(self, t: int, c: Tensor, m: Tensor, dh: Tensor, dc: Tensor) -> Tensor:
        """One step back: c before the step, m in it, dh, dc (E, B, K) -> dL/dc (E, B, K)."""
        run, x = self.run, self.stacked.x[:, t]
        z = run.features(t, c)
        i, r, z_o = run.logits(z)
        di, dr, do = self.dlogits.split_with_sizes(self.stacked.sizes, dim=2)
        g = self.outlets(z_o.squeeze(2), m, dh, dc, do.squeeze(2))
        rows = run.input_shares(i)
        q_x = collected(g, rows)
        write_logit_gradients(di, x, g, q_x, rows, i, run.input_kind, None)
        q_c = self.redistribution(c, g, r, dr)
        return q_c + self.features(t, c, z, q_x)

    def outlets(self, z_o: Tensor, m: Tensor, dh: Tensor, dc: Tensor, out: Tensor) -> Tensor:
        """dL/dm, and the gradient of the output gate's logits in `out`: all (E, B, K)."""
        leaves = self.run.leaves
        o, stays = sigmoid(z_o), sigmoid(-z_o)
        out.copy_(m * (dh - dc if leaves else dh) * o * stays * (z_o.abs() <= SATURATED))
        return dh * o + (dc * stays if leaves else dc)

    def redistribution(self, c: Tensor, g: Tensor, logits: Tensor, dlogits: Tensor) -> Tensor:
        """Back through c R: c, g (E, B, K) · logits, dlogits (E, B, K or 2 or 0, K) -> dL/dc (E, B, K)."""
        run, fixed = self.run, self.stacked.fixed
        if logits.shape[2] == 0:
            if fixed is None or self.dfixed is None:
                return g
            self.dfixed.baddbmm_(c.transpose(1, 2), g)
            return g @ fixed.transpose(1, 2)
        full = run.cell_logits(logits)
        rows = run.cell_shares(full)
        q = collected(g, rows)
        outer = self.form.redistribution == "outer"
        out = torch.empty_like(full) if outer else dlogits
        write_logit_gradients(out, c, g, q, rows, full, run.cell_kind, self.stacked.mask)
        if outer:
            self.factors(logits, out, dlogits)
        return q

    def factors(self, pair: Tensor, dfull: Tensor, dpair: Tensor) -> None:
        """Back through u_k v_j B_kj: pair, dpair (E, B, 2, K) · dfull (E, B, K, K)."""
        assert self.stacked.fixed is not None
        assert self.dfixed is not None
        u, v = bounded(pair).unbind(dim=2)
        weighted = dfull * self.stacked.fixed.unsqueeze(1)
        dpair[:, :, 0] = torch.matmul(weighted, v.unsqueeze(-1)).squeeze(-1)
        dpair[:, :, 1] = torch.matmul(u.unsqueeze(-2), weighted).squeeze(-2)
        dpair.masked_fill_(pair.abs() > logit_limit(pair.dtype), 0.0)  # `bounded` cut it off
        self.dfixed += (dfull * u.unsqueeze(-1) * v.unsqueeze(-2)).sum(dim=1)

    def features(self, t: int, c: Tensor, z: Tensor, q_x: Tensor) -> Tensor:
        """Back through the logits: c (E, B, K) · z (E, B, F) · q_x (E, B, M) -> dL/dc, (E, B, K)."""
        dlogits = self.dlogits.flatten(2)
        self.dW.baddbmm_(dlogits.transpose(1, 2), z)
        self.dbase += dlogits if self.dbase.shape == dlogits.shape else dlogits.sum(dim=1, keepdim=True)
        dz = torch.bmm(dlogits, self.run.W)
        cells = c.shape[-1] if "state" in self.form.gates_see else 0
        da, dstate, dmass = dz.split_with_sizes(
            [self.da.shape[-1], cells, z.shape[-1] - cells - self.da.shape[-1]], dim=-1
        )
        self.da[:, t] = da
        self.dx[:, t] = q_x + dmass if "mass" in self.form.gates_see else q_x
        return state_gradient(dstate, c, self.form) if cells else torch.zeros_like(c)


def backward(
    stacked: Stacked, h: Tensor, c: Tensor, dh: Tensor | None, dc: Tensor | None
) -> tuple[Tensor | None, ...]:
    """Gradients of x, a, c0, W, base and fixed of `stacked`, from dh and dc, where None stands for zeros.

    h, dh: (E, T, B, K) · c, dc: (E, T + 1, B, K)
    """
    adjoint = Adjoint(stacked)
    zeros = torch.zeros_like(stacked.c0)
    now = zeros if dc is None else dc[:, -1]
    for t in range(h.shape[1] - 1, -1, -1):
        out, stays = zeros if dh is None else dh[:, t], None
        if stacked.valid is not None:
            moves = stacked.valid[t].unsqueeze(-1)
            stays = torch.where(moves, 0.0, now)
            out, now = torch.where(moves, out, 0.0), torch.where(moves, now, 0.0)
        m = h[:, t] + c[:, t + 1] if adjoint.run.leaves else c[:, t + 1]
        now = adjoint.step(t, c[:, t], m, out, now)
        now = now if stays is None else now + stays
        now = now if dc is None else now + dc[:, t]
    dW, dbase = adjoint.dW.view_as(stacked.W), adjoint.dbase.view_as(stacked.base)
    return adjoint.dx, adjoint.da, now, dW, dbase, adjoint.dfixed


def rerun_gradients(
    rerun: Callable[[], tuple[Tensor, Tensor]],
    tensors: Sequence[Tensor | None],
    dh: Tensor | None,  # (T, B, K), led by E with members
    dc: Tensor | None,  # (T + 1, B, K), likewise
) -> list[Tensor | None]:
    """Gradients that can be differentiated again; `rerun` computes h and c in plain torch operations."""
    learned = [value for value in tensors if value is not None and value.requires_grad]
    pairs = zip(rerun(), (dh, dc), strict=True)
    outputs = [(value, grad) for value, grad in pairs if grad is not None and value.requires_grad]
    values, grads = [value for value, _ in outputs], [grad for _, grad in outputs]
    results = iter(torch.autograd.grad(values, learned, grads, create_graph=True, allow_unused=True))
    return [next(results) if value is not None and value.requires_grad else None for value in tensors]


class Recompute(torch.autograd.Function):
    """`forward` and `backward` as one differentiable operation, which keeps nothing but h and c."""

    @staticmethod
    def forward(ctx: Any, form: Form, *tensors: Tensor | None) -> tuple[Tensor, Tensor]:
        h, c = forward(Stacked(form, *tensors))  # type: ignore[arg-type]
        ctx.form = form
        ctx.set_materialize_grads(False)
        ctx.save_for_backward(*tensors, h, c)
        return h, c

    @staticmethod
    def backward(ctx: Any, *grads: Tensor | None) -> tuple[Tensor | None, ...]:
        *tensors, h, c = ctx.saved_tensors
        stacked, (dh, dc) = Stacked(ctx.form, *tensors), grads
        if torch.is_grad_enabled():  # create_graph: second derivatives are wanted
            return None, *rerun_gradients(lambda: forward(stacked), tensors[:6], dh, dc), None, None
        return None, *backward(stacked, h, c, dh, dc), None, None


def asked(problem: Problem) -> Network:
    """A module as `forward` asks it, which always has members."""
    x, a, s, _, _, weights, _ = problem
    module = weights.hypernetwork
    assert module is not None

    def logits(t: int, c: Tensor) -> Tensor:
        now = c if problem.members is not None else c.squeeze(0)
        seen = torch.cat([a.select(-3, t), s], dim=-1)
        # A copy: where no graph is recorded, `shares` overwrites what it takes.
        return module(x.select(-3, t), seen, now).reshape(*c.shape, c.shape[-1]).clone()

    return logits


def sequence(problem: Problem) -> tuple[Tensor, Tensor]:
    """Outflows h (T, B, K) and cells c (T + 1, B, K), led by E with members: backend `torch`.

    What a module computes cannot be computed again, for it may have a state: autograd records its steps.
    """
    if problem.form.redistribution == "module":
        h, c = forward(stack(problem), asked(problem))
    else:
        h, c = Recompute.apply(*stack(problem))  # type: ignore[no-untyped-call]
    h = left(h, problem.form)
    return (h, c) if problem.members is not None else (h.squeeze(0), c.squeeze(0))
