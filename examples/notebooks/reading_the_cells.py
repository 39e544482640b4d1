"""What the cells of a trained model hold, how long, and where it goes."""

# %% [markdown]
# # Reading the cells
#
# The cells of an LSTM are numbers. Those of an MC-LSTM are amounts: millimetres of water, pallets,
# vehicles. This page reads a model of the river Fulda: which cell is a fast store and which a slow one,
# what is lost, and in which season.

# %%
import pandas as pd
from matplotlib.figure import Figure

import mclstm
from mclstm.data.fulda import AREA_KM2, fulda

river = pd.read_csv(fulda(), index_col="date", parse_dates=True)
river["flow"] = river["discharge"] * 86.4 / AREA_KM2
model = mclstm.fit(
    river[:"1984"], mass="precipitation", aux=["tmax", "tmin", "tmean"], target="flow",
    hidden_size=6, gates_see=("aux", "state", "mass"),
    length=200, warmup=100, updates=80, learning_rate=0.03,
    losses="evaporation",
)  # fmt: skip
simulation = model.simulate(river)
model.score(river["1985":])["nse"]

# %% [markdown]
# ## How much, and how long
# A store that holds S and passes on q per day keeps water S / q days on average: its turnover time.
# Figures and tables sort the cells by it. Cell 0 is the one whose outflow is not counted as discharge
# (`losses="evaporation"` names it).

# %%
storage = simulation["storage"].isel(site=0).to_pandas()
turnover = simulation["turnover"].isel(site=0).to_series()
table = pd.DataFrame({"mean storage (mm)": storage.mean(), "turnover (days)": turnover})
table.sort_values("turnover (days)")

# %% [markdown]
# ## Where the water goes
# Over the whole record all rain is accounted for.

# %%
out = simulation["outflow"].isel(site=0).to_pandas().sum()
change = float(storage.iloc[-1].sum() - simulation["storage_before"].item())
pd.Series({"rain": simulation["inflow"].sum().item(), **out, "change of storage": change}, name="mm")

# %% [markdown]
# ## In which season
# Nobody told the model about evaporation. Water that does not reach the gauge has to leave somewhere,
# and it does when it is warm.

# %%
monthly = simulation["outflow"].isel(site=0).to_pandas().groupby(lambda day: day.month).mean()
figure = Figure(figsize=(6.4, 2.8), layout="constrained")
axis = figure.subplots()
for name, colour in zip(monthly, ("#0072B2", "#999999"), strict=True):
    axis.plot(monthly.index, monthly[name], "o-", color=colour, label=name)
axis.set(xlabel="month", ylabel="mm/day", ylim=(0, None), xticks=range(1, 13))
axis.legend(frameon=False)
figure

# %% [markdown]
# ## The stores over the years
# Every cell on its own scale, so that the rhythm of a small store shows.

# %%
from mclstm.report.cells import cell_states

cell_states(simulation, str(simulation["site"].item()))

# %% [markdown]
# Here one store fills every winter and is empty in summer; others rise for days after rain. A cell need
# not mean what we read in it: train several seeds and compare before you conclude
# ([findings](../findings.md)).
