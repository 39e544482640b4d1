"""A warehouse: goods in, goods out, and the stock between them."""

# %% [markdown]
# # A warehouse
#
# Pallets arrive from two suppliers and leave by two docks, counted every hour. How many will leave in
# the next hours, and how many are inside? The table is made up: every pallet stays for a while and
# leaves when the docks are open, those of the farm for eight hours on average, those of the factory for
# two days.

# %%
import numpy as np
import pandas as pd

import mclstm

source = np.random.default_rng(0)
hours = pd.date_range("2024-01-01", periods=168 * 14, freq="h")
is_open = (hours.hour >= 6) & (hours.hour < 20) & (hours.day_of_week < 5)
opening = np.flatnonzero(is_open)
table = pd.DataFrame({"open": is_open * 1.0, "out_north": 0.0, "out_south": 0.0}, index=hours)
for supplier, rate, stay, north in (("farm", 12.0, 8.0, 0.9), ("factory", 10.0, 48.0, 0.2)):
    table[f"in_{supplier}"] = source.poisson(rate * is_open)
    came = np.repeat(np.arange(len(hours)), table[f"in_{supplier}"])
    due = opening.searchsorted(came + source.exponential(stay, len(came)))
    dock = np.where(source.random(len(came)) < north, "out_north", "out_south")
    for name in ("out_north", "out_south"):
        gone = opening[due[(dock == name) & (due < len(opening))]]
        table[name] += np.bincount(gone, minlength=len(hours))
table.iloc[30:33]

# %% [markdown]
# `in_*` is mass, `out_*` is what to predict, and the opening hours steer the gates. `head="mcfc"` gives
# each target an outlet, and `trash_cell=False` allows no losses: what came in can only leave by a dock.
# The warehouse is never empty, so windows begin with a warm-up of two weeks that fills the stores.

# %%
later = 168 * 11
model = mclstm.fit(
    table[:later], mass="in_*", aux=["open"], target="out_*", time_of_day=2, head="mcfc", trash_cell=False,
    residence="48h", hidden_size=8, length=504, warmup=336, stride=24, batch_size=8, updates=120,
)  # fmt: skip
model.score(table, warmup=later)[["nse", "rmse"]]

# %% [markdown]
# The stores of the model are a stock that nobody told it. The docks fix how the stock changes, and only
# weakly how large it is: pallets that stay for long hardly show in the counts. So count the stock once,
# here at the end of the training, and correct the offset.

# %%
stock = (table.filter(like="in_").sum(axis=1) - table.filter(like="out_").sum(axis=1)).cumsum()
modelled = model.simulate(table)["storage"].sum("cell").to_series().to_numpy()
corrected = modelled + (stock.iloc[later - 1] - modelled[later - 1])
for name, values in (("as it is", modelled), ("corrected once", corrected)):
    error = np.abs(values - stock)[later:].mean()
    print(f"{name}: error of the stock {error:.0f} of {stock[later:].mean():.0f} pallets")

# %%
from matplotlib.figure import Figure

figure = Figure(figsize=(8, 2.6), layout="constrained")
axis = figure.subplots()
axis.plot(hours[later:], stock[later:], color="black", label="counted")
axis.plot(hours[later:], modelled[later:], color="#999999", label="in the stores")
axis.plot(hours[later:], corrected[later:], color="#D55E00", label="corrected once")
axis.set(ylabel="pallets inside", ylim=(0, None))
axis.legend(frameon=False, ncols=3)
figure

# %% [markdown]
# Every hour closes: came in = left + change of the stock. The same with a config, commands and rivals:
# [warehouse](../warehouse.md).
