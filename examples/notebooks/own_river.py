"""A river of one's own, from a table to a hydrograph with its stores."""

# %% [markdown]
# # Your own river
#
# A table of days with rain, temperature and discharge becomes a model in three lines of Python. The
# river here is the Fulda in Germany, ten years of real data that come with the package. Yours is any
# DataFrame indexed by date.

# %%
import pandas as pd

import mclstm
from mclstm.data.fulda import AREA_KM2, fulda

river = pd.read_csv(fulda(), index_col="date", parse_dates=True)
river.head(3)

# %% [markdown]
# Rain is in mm/day and discharge in m³/s. A model that conserves mass needs both in one unit:
# a depth of water over the catchment per day.

# %%
river["flow"] = river["discharge"] * 86.4 / AREA_KM2
print(f"rain {river['precipitation'].mean():.2f} mm/day, flow {river['flow'].mean():.2f} mm/day")
print(f"{river['flow'].sum() / river['precipitation'].sum():.0%} of the rain reaches the gauge")

# %% [markdown]
# Rain is the mass. Temperature steers the gates: it decides how much evaporates, and how long snow
# stays. This training is short, so that the page builds in seconds; `mclstm demo` trains on longer
# windows and with more updates.

# %%
train, test = river[:"1984"], river["1985":"1987"]
model = mclstm.fit(
    train, mass="precipitation", aux=["tmax", "tmin", "tmean"], target="flow",
    hidden_size=8, gates_see=("aux", "state", "mass"),
    length=200, warmup=100, updates=80, learning_rate=0.03,
)  # fmt: skip
print({name: round(value, 2) for name, value in model.score(test).items() if name in ("nse", "kge", "rmse")})

# %% [markdown]
# `simulate` gives everything as an xarray Dataset: the flow, every store, every outlet, and what is
# missing from the ledger. The last is rounding.

# %%
simulation = model.simulate(test)
residual = abs(simulation["residual"]).max().item()
print(f"rain {simulation['inflow'].sum().item():.0f} mm, missing from the ledger {residual:.1e} mm")

# %%
from mclstm.report.hydrograph import hydrograph

hydrograph(simulation, str(simulation["site"].item()))

# %% [markdown]
# The upper panels show rain and flow, the third what each store holds. In the fourth, storage, flow
# and losses add up to the black line: all the rain that fell. The two windows below are the highest
# and the lowest flow.
#
# From a file, with commands: [own data](../own-data.md). What the stores mean: [reading the
# cells](reading-the-cells.md).
