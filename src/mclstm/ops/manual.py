"""The recurrence and its backward pass written by hand: the executable specification of every kernel.

R is never normalised. With A = act(logits) and n_k = sum_j A_kj, the share of row k is A_kj / n_k, so

    m_j = sum_k (u_k / n_k) A_kj        u = [x, c], the mass inputs being further rows

costs M + K divisions, not K². Nothing but h and c is kept for the backward pass, which computes the gates
again; m is h + c. With g = dL/dm and q_k = dL/du_k

    q_k = sum_j A_kj g_j / n_k          dL/dA_kj = (u_k / n_k) (g_j - q_k)

The ablations are rows that are not normalised: n_k = 1, and dL/dA_kj = u_k g_j. If outflow is not taken from
the cells, m is c.

Everything leads with E, the members of an ensemble: their products are batched, the rest is elementwise.
"""

from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn.functional import logsigmoid

from mclstm.ops.normalise import bounded, sigmoid, sigmoid_floor
from mclstm.ops.redistribution import fallback_rows, outer_logits
from mclstm.ops.reference import EMPTY_BATCH, Form, normalised_state
from mclstm.ops.stacked import Stacked, row_kinds, shared_rows

__all__ = ["Gradients", "backward", "forward"]

ABLATED = ("plain", "linear")  # rows that are not normalised: logistic, or the logits themselves


class Gradients(NamedTuple):
    """What `backward` returns, one for each tensor of the problem that has a gradient."""

    x: Tensor  # (E, T, B, M)
    a: Tensor  # (E, T, B, A)
    c0: Tensor  # (E, B, K)
    W: Tensor  # (E, G, K, F)
    base: Tensor  # (E, B, G, K) or (E, 1, G, K)
    fixed: Tensor | None  # (E, K, K)


class Shares(NamedTuple):
    """Rows before their normalisation; N rows a sample, one for each amount of mass to be shared out."""

    A: Tensor  # (E, B, N, K), row k's share of cell j is A_kj / n_k
    n: Tensor  # (E, B, N), 1 for a dead row
    dead: Tensor | None  # (E, B, N) bool, rows with no taker (ReLU only): their mass goes by `fallback`
    fallback: Tensor  # (N, K)


def shares(logits: Tensor, kind: str, fallback: Tensor, mask: Tensor | None) -> Shares:
    """Un-normalised rows: logits (E, B, N, K) · fallback (N, K) · mask (N, K) bool or None.

    Where no graph is recorded, ReLU and softmax take the place of the logits: they are the largest tensor.
    """
    if kind in ABLATED:
        A = sigmoid(logits) if kind == "plain" else logits if mask is None else logits.masked_fill(~mask, 0.0)
        return Shares(A, A.new_ones(A.shape[:-1]), None, fallback)
    if torch.is_grad_enabled() or kind == "sigmoid":  # of which the slope needs the logits
        logits = logsigmoid(bounded(logits)) if kind == "sigmoid" else bounded(logits)
    else:
        limit = torch.finfo(logits.dtype).max ** 0.25
        logits.clamp_(0.0 if kind == "relu" else -limit, limit)
    if mask is not None:
        logits.masked_fill_(~mask, 0.0 if kind == "relu" else -torch.inf)
    if kind != "relu":
        A = logits.sub_(logits.detach().amax(dim=-1, keepdim=True)).exp_()
        return Shares(A, A.sum(dim=-1), None, fallback)
    A = logits.relu_() if torch.is_grad_enabled() else logits
    n = A.sum(dim=-1)
    dead = n <= 0
    return Shares(A, n.masked_fill(dead, 1.0), dead, fallback)


def shared_out(u: Tensor, rows: Shares) -> Tensor:
    """m_j = sum_k (u_k / n_k) A_kj: u (E, B, N) -> (E, B, K)."""
    # Counted in a power of two near the total: exact, and a large amount over a small n cannot overflow.
    total = u.detach().abs().sum(dim=-1, keepdim=True)
    unit = torch.ldexp(torch.ones_like(total), torch.frexp(total)[1].clamp(min=-100) - 1)
    w = u / unit / rows.n
    w = w if rows.dead is None else w.masked_fill(rows.dead, 0.0)
    m = unit * torch.matmul(w.unsqueeze(-2), rows.A).squeeze(-2)
    return m if rows.dead is None else m + torch.where(rows.dead, u, 0.0) @ rows.fallback


def collected(g: Tensor, rows: Shares) -> Tensor:
    """q_k = sum_j A_kj g_j / n_k, what a unit of mass in row k is worth: g (E, B, K) -> (E, B, N)."""
    # Two columns, of which one is dropped: a product with one takes a path that is three times slower.
    q = torch.matmul(rows.A, g.unsqueeze(-1).repeat(1, 1, 1, 2))[..., 0] / rows.n
    return q if rows.dead is None else torch.where(rows.dead, g @ rows.fallback.t(), q)


def write_logit_gradients(
    out: Tensor, u: Tensor, g: Tensor, q: Tensor, rows: Shares, logits: Tensor, kind: str, mask: Tensor | None
) -> None:
    """dL/dlogits = dA/dlogits (u / n) (g - q): out, logits (E, B, N, K) · u, q (E, B, N) · g (E, B, K).

    In place, for these are the largest tensors of a step.
    """
    if kind in ABLATED:
        torch.mul(u.unsqueeze(-1), g.unsqueeze(-2), out=out)
        if kind == "plain":
            out.mul_(rows.A * (1.0 - rows.A) * (logits >= sigmoid_floor(logits.dtype)))
        elif mask is not None:
            out.masked_fill_(~mask, 0.0)
        return
    w = u / rows.n
    w = w if rows.dead is None else w.masked_fill(rows.dead, 0.0)
    torch.sub(g.unsqueeze(-2), q.unsqueeze(-1), out=out).mul_(w.unsqueeze(-1))
    if kind == "relu":
        torch.ops.aten.threshold_backward.grad_input(out, rows.A, 0.0, grad_input=out)
    else:
        out.mul_(rows.A)
    if kind == "sigmoid":
        out.mul_(sigmoid(-logits))


def state_gradient(dz: Tensor, c: Tensor, form: Form) -> Tensor:
    """Back through c / |c|_1, straight through where the stores count as empty: dz, c, result (E, B, K)."""
    if form.state_norm == "batch":
        total = c.abs().sum(dim=(-2, -1), keepdim=True) + EMPTY_BATCH
        return (dz - (dz * (c / total)).sum(dim=(-2, -1), keepdim=True) * c.sign()) / total
    total = (c.abs() if form.negative_cells else c).sum(dim=-1, keepdim=True)
    limits = torch.finfo(c.dtype)
    stored = total > limits.tiny / limits.eps
    total = torch.where(stored, total, 1.0)
    inner = (dz * (c / total)).sum(dim=-1, keepdim=True)
    return (dz - torch.where(stored, inner, 0.0) * (c.sign() if form.negative_cells else 1.0)) / total


class Recurrence:
    """What stays the same over a sequence, prepared once for the steps of `forward` and `backward`."""

    def __init__(self, given: Stacked, form: Form) -> None:
        self.given, self.form = given, form
        cells = given.W.shape[2]
        self.sizes = given.x.shape[-1], shared_rows(form, cells), 1
        self.input_kind, self.cell_kind = row_kinds(form)
        self.leaves = "output" not in form.not_conserving  # whether outflow leaves the cells
        self.W = given.W.flatten(1, 2).transpose(1, 2).contiguous().transpose(1, 2)
        self.base = given.base.flatten(2)
        eye = torch.eye(cells, dtype=given.W.dtype, device=given.W.device)
        self.stays = fallback_rows(given.mask, eye)
        self.even = torch.full(
            (self.sizes[0], cells), 1.0 / cells, dtype=given.W.dtype, device=given.W.device
        )
        # One buffer for the logits of all steps, unless a graph is recorded that has to keep them.
        shape = (*given.c0.shape[:2], self.W.shape[1])
        self.buffer = None if torch.is_grad_enabled() else given.W.new_empty(shape)

    def features(self, t: int, c: Tensor) -> Tensor:
        """z_t = [a_t, c / |c|, x_t], as far as the gates see them: c (E, B, K) -> (E, B, F)."""
        state = [normalised_state(c, self.form)] if "state" in self.form.gates_see else []
        mass = [self.given.x[:, t]] if "mass" in self.form.gates_see else []
        return torch.cat([self.given.a[:, t], *state, *mass], dim=-1)

    def logits(self, z: Tensor) -> tuple[Tensor, ...]:
        """Of input gate (E, B, M, K), redistribution (E, B, K or 2 or 0, K) and output gate (E, B, 1, K)."""
        logits = torch.baddbmm(self.base, z, self.W.transpose(1, 2), out=self.buffer)
        return logits.view(*z.shape[:2], *self.given.W.shape[1:3]).split_with_sizes(self.sizes, dim=2)

    def input_shares(self, logits: Tensor) -> Shares:
        return shares(logits, self.input_kind, self.even, None)

    def cell_logits(self, logits: Tensor) -> Tensor:
        """The (E, B, K, K) logits of R, from the (E, B, K or 2, K) rows it has."""
        if self.form.redistribution == "dynamic":
            return logits
        assert self.given.fixed is not None
        return outer_logits(logits[:, :, 0], logits[:, :, 1], self.given.fixed.unsqueeze(1))

    def cell_shares(self, logits: Tensor) -> Shares:
        return shares(logits, self.cell_kind, self.stays, self.given.mask)

    def redistributed(self, c: Tensor, logits: Tensor) -> Tensor:
        """c R: c (E, B, K) -> (E, B, K)."""
        if logits.shape[2] > 0:
            return shared_out(c, self.cell_shares(self.cell_logits(logits)))
        return c if self.given.fixed is None else c @ self.given.fixed


def forward(given: Stacked, form: Form) -> tuple[Tensor, Tensor]:
    """Outflows h (E, T, B, K) and cells c (E, T + 1, B, K); differentiable, like any plain operation."""
    run = Recurrence(given, form)
    outflows, stores = [], [given.c0]
    for t, x in enumerate(given.x.unbind(1)):
        c = stores[-1]
        i, r, o = run.logits(run.features(t, c))
        m = run.redistributed(c, r) + shared_out(x, run.input_shares(i))
        h = sigmoid(o.squeeze(2)) * m
        after = m - h if run.leaves else m
        if given.valid is not None:
            moves = given.valid[t].unsqueeze(-1)
            h, after = torch.where(moves, h, 0.0), torch.where(moves, after, c)
        outflows.append(h)
        stores.append(after)
    c = torch.stack(stores, dim=1)
    return torch.stack(outflows, dim=1) if outflows else torch.empty_like(c[:, 1:]), c


class Adjoint:
    """The sums that a backward pass collects on its way from the last step to the first."""

    def __init__(self, given: Stacked, form: Form) -> None:
        self.run, self.given, self.form = Recurrence(given, form), given, form
        self.dlogits = given.W.new_empty(*given.c0.shape[:2], *given.W.shape[1:3])
        self.dW = torch.zeros_like(self.run.W)
        self.dbase = torch.zeros_like(self.run.base)
        self.dfixed = None if given.fixed is None else torch.zeros_like(given.fixed)
        self.dx, self.da = torch.empty_like(given.x), torch.empty_like(given.a)

    def step(self, t: int, c: Tensor, m: Tensor, dh: Tensor, dc: Tensor) -> Tensor:
        """One step back: c before it, m shared out in it, dh, dc (E, B, K) -> dL/dc (E, B, K)."""
        run, x = self.run, self.given.x[:, t]
        z = run.features(t, c)
        i, r, o_logits = run.logits(z)
        di, dr, do = self.dlogits.split_with_sizes(run.sizes, dim=2)
        o = sigmoid(o_logits.squeeze(2))
        g = dh * o + (dc * (1.0 - o) if run.leaves else dc)
        falls = o_logits.squeeze(2) >= sigmoid_floor(o.dtype)
        do.squeeze(2).copy_(m * (dh - dc if run.leaves else dh) * o * (1.0 - o) * falls)
        rows = run.input_shares(i)
        q_x = collected(g, rows)
        write_logit_gradients(di, x, g, q_x, rows, i, run.input_kind, None)
        q_c = self.redistribution(c, g, r, dr)
        return q_c + self.features(t, c, z, q_x)

    def redistribution(self, c: Tensor, g: Tensor, logits: Tensor, dlogits: Tensor) -> Tensor:
        """Back through c R: c, g (E, B, K) · logits, dlogits (E, B, K or 2 or 0, K) -> dL/dc (E, B, K)."""
        run, fixed = self.run, self.given.fixed
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
        write_logit_gradients(out, c, g, q, rows, full, run.cell_kind, self.given.mask)
        if outer:
            self.factors(logits, out, dlogits)
        return q

    def factors(self, pair: Tensor, dfull: Tensor, dpair: Tensor) -> None:
        """Back through u_k v_j B_kj: pair, dpair (E, B, 2, K) · dfull (E, B, K, K)."""
        assert self.given.fixed is not None
        assert self.dfixed is not None
        u, v = pair.unbind(dim=2)
        weighted = dfull * self.given.fixed.unsqueeze(1)
        dpair[:, :, 0] = torch.matmul(weighted, v.unsqueeze(-1)).squeeze(-1)
        dpair[:, :, 1] = torch.matmul(u.unsqueeze(-2), weighted).squeeze(-2)
        self.dfixed += (dfull * u.unsqueeze(-1) * v.unsqueeze(-2)).sum(dim=1)

    def features(self, t: int, c: Tensor, z: Tensor, q_x: Tensor) -> Tensor:
        """Back through the logits: c (E, B, K) · z (E, B, F) · q_x (E, B, M) -> what reaches c, (E, B, K)."""
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
    given: Stacked, form: Form, h: Tensor, c: Tensor, dh: Tensor | None, dc: Tensor | None
) -> Gradients:
    """The gradients of a loss, from those of the outflows and the cells; None stands for zeros.

    h, dh: (E, T, B, K) · c, dc: (E, T + 1, B, K)
    """
    adjoint = Adjoint(given, form)
    zeros = torch.zeros_like(given.c0)
    now = zeros if dc is None else dc[:, -1]
    for t in range(h.shape[1] - 1, -1, -1):
        out, stays = zeros if dh is None else dh[:, t], None
        if given.valid is not None:
            moves = given.valid[t].unsqueeze(-1)
            stays = torch.where(moves, 0.0, now)
            out, now = torch.where(moves, out, 0.0), torch.where(moves, now, 0.0)
        m = h[:, t] + c[:, t + 1] if adjoint.run.leaves else c[:, t + 1]
        now = adjoint.step(t, c[:, t], m, out, now)
        now = now if stays is None else now + stays
        now = now if dc is None else now + dc[:, t]
    dW, dbase = adjoint.dW.view_as(given.W), adjoint.dbase.view_as(given.base)
    return Gradients(adjoint.dx, adjoint.da, now, dW, dbase, adjoint.dfixed)
