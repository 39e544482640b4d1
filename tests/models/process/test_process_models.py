"""What every process model promises: closed books, finite gradients, columns that do not see each other."""

import pytest
import torch

from mclstm.models.process import PROCESS_MODELS
from mclstm.models.process.calibration import physical
from mclstm.models.process.process_model import Forcing, flow, run
from support.weather import drawn, generated

MODELS = pytest.mark.parametrize("name", PROCESS_MODELS)


@MODELS
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32], ids=str)
def test_the_books_close_on_every_day(name: str, dtype: torch.dtype) -> None:
    model, days = PROCESS_MODELS[name], 300
    forcing = generated(days, 40, dtype)
    books = run(model, drawn(model, 3, 40, dtype=dtype), forcing)
    stored = torch.stack(list(books.stores.values())).double().sum(0)
    entered, left = books.entered.double(), books.flow.double() + books.evaporated.double()
    error = (stored[1:] - stored[:-1] - (entered - left)).abs()
    # A day changes a store about 15 times, each time rounded by half an eps, and the fluxes likewise.
    bound = 16 * torch.finfo(dtype).eps * (stored[:-1] + entered)
    assert (error <= bound).all(), (error / bound).max()
    total = (stored[-1] - stored[0] - (entered - left).sum(0)).abs()
    assert (total <= bound.sum(0)).all()
    assert min(value.min() for value in books.stores.values()) >= 0
    assert books.flow.min() >= 0
    assert books.evaporated.min() >= 0
    assert (books.evaporated <= 1.7 * forcing.pet[:, None] * (1 + 8 * torch.finfo(dtype).eps)).all()


@MODELS
def test_dry_hot_years_and_floods_keep_stores_in_range(name: str) -> None:
    model = PROCESS_MODELS[name]
    calm = generated(200, 20)
    wild = calm._replace(
        precipitation=calm.precipitation * 20 * (torch.arange(200)[:, None] > 100), pet=calm.pet * 5
    )
    books = run(model, drawn(model, 20), wild)
    assert all(value.isfinite().all() and value.min() >= 0 for value in books.stores.values())


@MODELS
def test_a_column_does_not_see_the_others(name: str) -> None:
    model, forcing = PROCESS_MODELS[name], generated(120, 5)
    parameters = drawn(model, 3, 5)
    whole = run(model, parameters, forcing).flow
    assert whole.shape == (120, 3, 5)
    alone = {key: value[1, 2:3] for key, value in parameters.items()}
    own = [column if column.shape[1] == 1 else column[:, 2:3] for column in forcing]
    part = run(model, alone, Forcing(*own)).flow
    torch.testing.assert_close(part[:, 0], whole[:, 1, 2], rtol=1e-11, atol=1e-12)


@MODELS
def test_flow_alone_is_the_flow_of_a_run_with_and_without_gradients(name: str) -> None:
    model, forcing = PROCESS_MODELS[name], generated(210, 4)
    parameters = drawn(model, 2, 4)
    whole = run(model, parameters, forcing).flow
    with torch.no_grad():
        torch.testing.assert_close(flow(model, parameters, forcing), whole, rtol=0, atol=0)
    torch.testing.assert_close(flow(model, parameters, forcing), whole, rtol=0, atol=0)


@MODELS
def test_gradients_are_those_of_finite_differences(name: str) -> None:
    """Along one random direction per basin, in shares of the parameters' ranges."""
    model, forcing = PROCESS_MODELS[name], generated(120, 40)
    source = torch.Generator().manual_seed(3)
    share, along = torch.rand(2, len(model.bounds), 40, generator=source, dtype=torch.float64)
    share = (0.05 + 0.9 * share).requires_grad_()
    total = flow(model, physical(model, share), forcing).sum(0)
    (gradient,) = torch.autograd.grad(total.sum(), share)
    with torch.no_grad():
        up, down = (flow(model, physical(model, share + s * 1e-7 * along), forcing).sum(0) for s in (1, -1))
    slope, difference = (gradient * along).sum(0), (up - down) / 2e-7
    # A kink within the step spoils the difference of a basin; it cannot spoil that of most basins.
    close = (slope - difference).abs() <= 1e-5 * (total + difference.abs())
    assert close.double().mean() >= 0.9, (slope, difference)


@MODELS
def test_stretches_of_days_change_neither_flow_nor_gradient(name: str) -> None:
    model, forcing = PROCESS_MODELS[name], generated(100, 4)
    share = 0.1 + 0.8 * torch.rand(len(model.bounds), 4, generator=torch.Generator().manual_seed(5))
    results = []
    for days in (None, 30, 100, 1000):
        own = share.double().requires_grad_()
        q = flow(model, physical(model, own), forcing, at_once=days)
        q.square().sum().backward()
        results.append((q.detach(), own.grad))
    (q, gradient), *others = results
    assert gradient is not None
    for other, their_gradient in others:
        assert torch.equal(other, q)
        torch.testing.assert_close(
            their_gradient, gradient, rtol=1e-9, atol=1e-9 * float(gradient.abs().max())
        )


@MODELS
@pytest.mark.parametrize("edge", [0.0, 1.0])
def test_gradients_are_finite_at_the_ends_of_the_ranges(name: str, edge: float) -> None:
    model = PROCESS_MODELS[name]
    share = torch.full((len(model.bounds), 3), edge, dtype=torch.float32, requires_grad=True)
    flow(model, physical(model, share), generated(100, 3, torch.float32)).sum().backward()
    assert share.grad is not None
    assert share.grad.isfinite().all()
