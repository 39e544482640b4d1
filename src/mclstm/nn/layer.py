"""MCLSTM: the sequence layer, with the manners of `nn.LSTM`."""

from collections.abc import Callable, Iterable, Sequence
from typing import Literal

import torch
from torch import Tensor, nn

from mclstm.nn.arguments import one_of
from mclstm.nn.door import Arranged, arrange
from mclstm.nn.flows import Flows, audit_flows, backend_flows, flows_of
from mclstm.nn.gates import Gates, Norm, Redistribution
from mclstm.nn.members import Seeds
from mclstm.nn.values import full_precision
from mclstm.ops import dispatch

__all__ = ["MCLSTM"]


class MCLSTM(nn.Module):
    """A recurrent layer that conserves mass: what flows in is stored or flows out.

    With states as rows (the paper writes the transpose, R c):

        m_t = c_{t-1} R_t + x_t i_t        mass after redistribution and inflow
        h_t = o_t * m_t                    outflow of every cell
        c_t = m_t - h_t                    what stays

    i_t = norm(W_i z_t + b_i), o_t = σ(W_o z_t + b_o) and R_t = norm(W_r z_t + B_r) see the features
    z_t = [a_t, static, c_{t-1} / |c_{t-1}|_1, x_t], as far as `gates_see` names them.

    Args:
        mass_size: M, mass inputs a step; 0 for closed systems.
        aux_size: A, auxiliary inputs a step.
        hidden_size: K, cells.
        static_size: S, auxiliary inputs given once a sequence.
        redistribution: "dynamic" (a matrix each step), "static" (one matrix), "outer" (two vectors each step
            times one matrix), "identity" (cells do not exchange), or a module (x, a, c) -> (B, K, K) logits.
            A module sees the static inputs too, behind the auxiliary ones: its a is (B, A + S). It may carry
            a state of its own; if it has `reset_state()`, that is called when a sequence starts without a
            given c0.
        redistribution_norm, input_norm: how logits become shares: "softmax", "sigmoid", "relu".
        gates_see: any of "aux", "state", "mass"; static inputs belong to "aux".
        mask: (K, K) bool, row = from, column = to; False forbids a transfer.
        initial_state: "zero", "learned" (positive; starts at 1 in each cell), or an amount for each cell.
        stay: share of mass that stays in its cell at the start; None is the paper's hydrology start.
        output_bias: start of b_o; -3 keeps the outlets nearly closed.
        state_norm: "sample"; "batch" reproduces the published hydrology code, in which the samples of a batch
            influence each other (`layer.batch_independent` is then False).
        not_conserving: the paper's ablations, any of "input", "redistribution", "output"; breaks conservation
            on purpose, and `layer.conserving` says so.
        backend: who computes; "auto" takes the fastest that can.
        members: E, how many independent layers run together. Every parameter leads with E; x (T, B, M),
            a (T, B, A), static (B, S) and c0 (B, K) are shared by all members, or lead with E where each has
            its own; h is (E, T, B, K), c_n (E, B, K), and so on for all results. A member's results and
            gradients are those of the layer alone, within rounding. A mask and lengths are shared.
        seeds: one number or torch.Generator a member: the member starts as the layer does that is built
            alone after `torch.manual_seed` of that number.
        allow_negative_mass: accept negative x and c0; the ledger still closes, the bounds no longer hold.
        batch_first: (B, T, .) instead of (T, B, .).

    >>> layer = MCLSTM(mass_size=1, aux_size=2, hidden_size=4)
    >>> x, a = torch.rand(30, 8, 1), torch.randn(30, 8, 2)
    >>> h, c = layer(x, a)
    >>> h.shape, c.shape
    (torch.Size([30, 8, 4]), torch.Size([8, 4]))
    >>> torch.allclose(x.sum((0, 2)), h.sum((0, 2)) + c.sum(-1))
    True

    >>> h, c = MCLSTM(1, 2, 4, members=10, seeds=range(10))(x, a)
    >>> h.shape, c.shape
    (torch.Size([10, 30, 8, 4]), torch.Size([10, 8, 4]))
    """

    def __init__(
        self,
        mass_size: int,
        aux_size: int,
        hidden_size: int,
        *,
        static_size: int = 0,
        redistribution: Redistribution | nn.Module = "dynamic",
        redistribution_norm: Norm = "softmax",
        input_norm: Norm = "softmax",
        gates_see: Iterable[str] = ("aux", "state"),
        mask: Tensor | None = None,
        initial_state: Literal["zero", "learned"] | float = "zero",
        stay: float | None = 0.9,
        output_bias: float = -3.0,
        state_norm: Literal["sample", "batch"] = "sample",
        not_conserving: Iterable[str] = (),
        members: int | None = None,
        seeds: Seeds | None = None,
        backend: str = "auto",
        allow_negative_mass: bool = False,
        batch_first: bool = False,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__()
        self.backend = one_of("backend", backend, dispatch.BACKENDS)
        self.batch_first = batch_first
        self.gates = Gates(
            mass_size,
            aux_size,
            hidden_size,
            static_size=static_size,
            redistribution=redistribution,
            redistribution_norm=redistribution_norm,
            input_norm=input_norm,
            gates_see=gates_see,
            mask=mask,
            initial_state=initial_state,
            stay=stay,
            output_bias=output_bias,
            state_norm=state_norm,
            not_conserving=not_conserving,
            allow_negative_mass=allow_negative_mass,
            members=members,
            seeds=seeds,
            device=device,
            dtype=dtype,
        )

    @property
    def conserving(self) -> bool:
        """Whether mass is conserved; False only for the ablations of `not_conserving`."""
        return not self.gates.form.not_conserving

    @property
    def batch_independent(self) -> bool:
        """Whether a sample's result is its own business; False only for `state_norm="batch"`."""
        return self.gates.form.state_norm == "sample"

    def reset_parameters(self, seeds: Seeds | None = None) -> None:
        """Start again, as the constructor did."""
        self.gates.reset_parameters(seeds)

    def forward(
        self,
        x: Tensor | None,  # (T, B, M)
        a: Tensor | None = None,  # (T, B, A)
        c0: Tensor | None = None,  # (B, K)
        *,
        static: Tensor | None = None,  # (B, S)
        lengths: Tensor | Sequence[int] | None = None,  # (B,)
    ) -> tuple[Tensor, Tensor]:  # (T, B, K), (B, K)
        """Outflow of every cell at every step, and what is stored at the end of each sequence.

        Unbatched inputs (T, M), (T, A), (K,), (S,) are accepted. x may be None: nothing flows in.
        """
        given = self._arrange(x, a, c0, static, lengths)
        h, c = self._run(given)
        return given.layout.outward(h), given.layout.state(c.select(-3, -1))

    def last(
        self,
        x: Tensor | None,  # (T, B, M)
        a: Tensor | None = None,  # (T, B, A)
        c0: Tensor | None = None,  # (B, K)
        *,
        static: Tensor | None = None,  # (B, S)
        lengths: Tensor | Sequence[int] | None = None,  # (B,)
    ) -> tuple[Tensor, Tensor]:  # (B, K), (B, K)
        """Outflow of the last step of each sequence, and what is stored after it: for one answer a sequence.

        The same numbers as `forward` gives, with less memory and time: the other outflows are not kept.

        >>> layer, x = MCLSTM(1, 0, 3), torch.rand(5, 2, 1)
        >>> torch.equal(layer.last(x)[0], layer(x)[0][-1])
        True
        """
        given = self._arrange(x, a, c0, static, lengths)
        h, c = self._run(given, dispatch.last)
        return given.layout.state(h), given.layout.state(c)

    def trajectory(
        self,
        x: Tensor | None,  # (T, B, M)
        a: Tensor | None = None,  # (T, B, A)
        c0: Tensor | None = None,  # (B, K)
        *,
        static: Tensor | None = None,  # (B, S)
        lengths: Tensor | Sequence[int] | None = None,  # (B,)
    ) -> tuple[Tensor, Tensor]:  # (T, B, K), (T + 1, B, K)
        """Outflows and cells at every step, c[0] the initial state: for losses that look into the stores."""
        given = self._arrange(x, a, c0, static, lengths)
        h, c = self._run(given)
        return given.layout.outward(h), given.layout.outward(c)

    def flows(
        self,
        x: Tensor | None,  # (T, B, M)
        a: Tensor | None = None,  # (T, B, A)
        c0: Tensor | None = None,  # (B, K)
        *,
        static: Tensor | None = None,  # (B, S)
        lengths: Tensor | Sequence[int] | None = None,  # (B,)
    ) -> Flows:
        """Every gate, transfer, inflow, outflow and storage of every step, with the ledger.

        Computed by the reference, whatever the backend, and differentiable; `audit` looks at the backend.

        >>> layer = MCLSTM(1, 0, 3)
        >>> flows = layer.flows(torch.rand(5, 2, 1))
        >>> flows.transfers.shape, flows.residual.dtype
        (torch.Size([5, 2, 3, 3]), torch.float64)
        """
        given = self._arrange(x, a, c0, static, lengths)
        with full_precision(given.x.device):
            return flows_of(given, self.gates.weights(), self.gates.form)

    def audit(
        self,
        x: Tensor | None,  # (T, B, M)
        a: Tensor | None = None,  # (T, B, A)
        c0: Tensor | None = None,  # (B, K)
        *,
        static: Tensor | None = None,  # (B, S)
        lengths: Tensor | Sequence[int] | None = None,  # (B,)
    ) -> Flows:
        """The flows if every ledger closes, else a ConservationError naming the first sample and step.

        Audited is the layer's own backend: h and c are what it returns, the gates are the reference's.
        """
        given = self._arrange(x, a, c0, static, lengths)
        with torch.no_grad(), full_precision(given.x.device):
            flows = backend_flows(self.backend, given, self.gates.weights(), self.gates.form)
        audit_flows(flows, torch.finfo(self.gates.b_o.dtype).eps)
        return flows

    def _arrange(
        self,
        x: Tensor | None,
        a: Tensor | None,
        c0: Tensor | None,
        static: Tensor | None,
        lengths: Tensor | Sequence[int] | None,
    ) -> Arranged:
        if c0 is None:
            self.gates.start()
        return arrange(self.gates, x, a, c0, static, lengths, self.batch_first)

    def _run(
        self, given: Arranged, compute: Callable[..., tuple[Tensor, Tensor]] = dispatch.sequence
    ) -> tuple[Tensor, Tensor]:
        (x, a, s, c0, valid, _), gates = given, self.gates
        with full_precision(x.device):
            return compute(self.backend, x, a, s, c0, gates.weights(), gates.form, valid)

    def extra_repr(self) -> str:
        return f"backend={self.backend}" + (", batch_first=True" if self.batch_first else "")
