"""The networks of the traffic forecast: what conserves, where the protocols differ, and where they do not."""

import math

import pytest
import torch

from mclstm_paper.protocols import Switch
from mclstm_paper.seeds.networks import sources
from mclstm_paper.traffic.days import City
from mclstm_paper.traffic.experiment import interval
from mclstm_paper.traffic.models import NETWORKS, Scales, Setting, build
from mclstm_paper.traffic.scoring import scores

SETTING = Setting(5, 0.01, forget_bias=5.0, start=100.0, learned=True)
SCALES = Scales(*(torch.full((4,), value) for value in (3.0, 2.0, 1.0, 4.0)))
BOTH = ("stated", "published")


def network(model: str, protocol: str, setting: Setting = SETTING, seeds: tuple[int, ...] = (0, 1)):
    return build(model, setting, (4, 1, 4), SCALES, protocol, sources(list(seeds)))  # type: ignore[arg-type]


def inputs() -> tuple[torch.Tensor, torch.Tensor]:
    return 10 * torch.rand(30, 3, 4), torch.rand(30, 3, 1)


@pytest.mark.parametrize("start", [0.0, 100.0])
@pytest.mark.parametrize("learned", [False, True])
def test_what_enters_leaves_or_stays(start: float, learned: bool) -> None:
    x, a = inputs()
    model = network("mclstm", "published", SETTING._replace(start=start, learned=learned))
    y, stock = model.with_stock(x, a)
    before = 5 * start
    left = before + x.sum((0, 2)) - y.sum((1, 3))
    assert torch.allclose(stock[:, -1], left, rtol=100 * torch.finfo(x.dtype).eps)
    assert y.shape == (2, 30, 3, 4)
    assert (y >= 0).all()
    assert (stock >= 0).all()


def test_the_stated_head_holds_some_mass_back() -> None:
    x, a = inputs()
    y, stock = network("mclstm", "stated", SETTING._replace(start=0.0)).with_stock(x, a)
    assert (x.sum((0, 2)) > y.sum((1, 3)) + stock[:, -1]).all()


def test_a_learned_start_is_free_only_as_published() -> None:
    x, a = inputs()
    stated, published = (network("mclstm", protocol) for protocol in BOTH)
    assert stated.first is None
    assert published.first is not None
    with torch.no_grad():
        published.first.fill_(-1.0)
        assert (published.with_stock(x * 0, a)[1] < 0).all()
    assert network("mclstm", "published", SETTING._replace(learned=False)).first is None


def test_lstm_is_normalised_by_the_day_or_by_training() -> None:
    """Counts a hundred times as large give a forecast a hundred times as large, if the day normalises."""
    x, a = inputs()
    stated, published = (network("lstm", protocol) for protocol in BOTH)
    with torch.no_grad():
        assert torch.allclose(published(100 * x, a), 100 * published(x, a), rtol=1e-3)
        assert not torch.allclose(stated(100 * x, a), 100 * stated(x, a), rtol=0.1)


def test_lstm_counts_its_stock_from_what_it_forecasts() -> None:
    x, a = inputs()
    y, stock = network("lstm", "stated").with_stock(x, a)
    assert torch.allclose(stock[:, -1], x.sum((0, 2)) - y.sum((1, 3)), atol=1e-3)


@pytest.mark.parametrize("model", NETWORKS)
def test_members_do_not_depend_on_their_company(model: str) -> None:
    together, alone = network(model, "stated", seeds=(4, 5)), network(model, "stated", seeds=(5,))
    for name, value in together.named_parameters():
        assert torch.equal(value[1:], alone.get_parameter(name)), name


@pytest.mark.parametrize("model", NETWORKS)
def test_nothing_but_switches_differs(model: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Switch, "on", lambda switch, protocol: False)
    first, second = (network(model, protocol).state_dict() for protocol in BOTH)
    assert list(first) == list(second)
    assert all(torch.equal(first[name], second[name]) for name in first)


def test_scores_against_counts_by_hand(city: City) -> None:
    days = city.test._replace(stock=torch.zeros(288, 4))
    y = days.y.unsqueeze(0).expand(2, -1, -1, -1).clone()
    y[0] += 1.0  # member 0: one more over each of the four borders at every step
    y[1, -1] += 4.0  # member 1: wrong at midnight only
    stock = torch.stack([torch.full((288, 4), -3.0), torch.full((288, 4), 5.0)])
    values = scores("mclstm", y, stock, days, "stated")
    assert values["rmse"] == pytest.approx([1.0, 4 / math.sqrt(288)])
    assert values["mae"] == pytest.approx([1.0, 4 / 288])
    assert values["rmse total"] == pytest.approx([4.0, 16 / math.sqrt(288)])
    assert (values["rmse stock"], values["lowest stock"]) == ([3.0, 5.0], [-3.0, 5.0])
    published = scores("mclstm", y, stock, days, "published")
    assert published.pop("rmse midnight") == [1.0, 4.0]
    assert published == values
    assert scores("lstm", y, stock, days, "published") == values
    assert "rmse stock" not in scores("lstm", y, stock, days._replace(stock=None), "stated")


def test_the_published_interval_is_that_of_a_hundred_runs() -> None:
    values = torch.linspace(0, 1, 50, dtype=torch.float64).numpy()
    ours, theirs = (interval(values, protocol) for protocol in BOTH)  # type: ignore[arg-type]
    assert (ours.high - ours.value) / (theirs.high - theirs.value) == pytest.approx(2.0096 / 1.984, rel=1e-4)
