"""The scores of forecasts over all test days: errors of the outlets, of their total and of the stock."""

from torch import Tensor

from mclstm_paper.protocols import Protocol
from mclstm_paper.traffic.days import Days
from mclstm_paper.traffic.switches import RMSE_OF_MIDNIGHT

__all__ = ["METRICS", "MIDNIGHT", "scores"]

MIDNIGHT = "rmse midnight"
METRICS = ("rmse", MIDNIGHT, "mae", "rmse total", "rmse stock", "lowest stock")


def scores(
    model: str,
    y: Tensor,  # (E, T, N, O) forecast
    stock: Tensor,  # (E, T, N) inside after each step, by the forecast
    days: Days,
    protocol: Protocol,
) -> dict[str, list[float]]:
    """RMSE and MAE over days, steps and outlets, RMSE of the total outflow and of the stock; (E,) each.

    Without a counted stock its error is left out. What the published code calls MC-LSTM's RMSE, that of the
    last step alone, is a number of its own.
    """
    error = (y - days.y).double()
    total = error.sum(dim=-1)
    values = {
        "rmse": rms(error),
        "mae": error.abs().flatten(1).mean(dim=1),
        "rmse total": rms(total),
        "lowest stock": stock.flatten(1).amin(dim=1),
    }
    if RMSE_OF_MIDNIGHT.on(protocol) and model == "mclstm":
        values[MIDNIGHT] = rms(error[:, -1:])
    if days.stock is not None:
        values["rmse stock"] = rms((stock - days.stock).double())
    return {name: values[name].tolist() for name in METRICS if name in values}


def rms(error: Tensor) -> Tensor:  # (E, ...) -> (E,)
    """The root of the mean square of every member.

    >>> import torch
    >>> rms(torch.tensor([[3.0, 3.0], [0.0, 0.0]])).tolist()
    [3.0, 0.0]
    """
    return error.flatten(1).square().mean(dim=1).sqrt()
