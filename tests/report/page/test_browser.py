"""The page in a real Chromium: every control is used, and nothing leaves the disk."""

import os
import re
import shutil
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
import torch

from mclstm.data.windows import tensors
from mclstm.deploy.new_data import Source, read_new_data
from mclstm.deploy.trained_model import open_model
from mclstm.evaluation.score_tables import read_table
from mclstm.explain.mass_paths import origins
from mclstm.from_config import warmup_of

from .conftest import SITES, Built, site_content

NAMES = ("chromium", "chromium-browser", "google-chrome")
PROGRAM = next((path for name in NAMES if (path := shutil.which(name))), None)
PATIENCE = 120_000  # ms: nothing is timed here, and a busy machine is slow
FLOWS = """Object.fromEntries([...document.querySelectorAll("#sankey .flow")].map(
    path => [path.dataset.name, [Number(path.dataset.value), path.getAttribute("d")]]))"""
WHY = "No Chromium on this machine. Install it (Debian: apt-get install chromium) to test the page in it."
if PROGRAM is None and not os.environ.get("MCLSTM_BROWSER"):
    pytest.skip(WHY, allow_module_level=True)


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    from playwright.sync_api import sync_playwright

    assert PROGRAM is not None, WHY
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=PROGRAM, args=["--no-sandbox"])
        yield browser
        browser.close()


class Visit:
    """An open page, with what it complained of and what it asked for."""

    def __init__(self, browser: Any, path: Path, width: int = 1280, scheme: str = "light") -> None:
        self.troubles: list[str] = []
        self.requests: list[str] = []
        self.page = browser.new_page(viewport={"width": width, "height": 900}, color_scheme=scheme)
        self.page.set_default_timeout(PATIENCE)
        self.page.on("console", lambda message: self.troubles.append(message.text))
        self.page.on("pageerror", lambda error: self.troubles.append(str(error)))
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.page.goto(path.as_uri())
        self.page.evaluate("mclstm.ready")

    def text(self, selector: str) -> str:
        return str(self.page.locator(selector).inner_text())

    def close(self) -> None:
        """Nothing was complained of, and nothing but the disk was asked."""
        assert self.troubles == []
        assert not [url for url in self.requests if not url.startswith(("file:", "data:", "blob:"))]
        self.page.close()


@pytest.fixture
def visit(browser: Any, built: Built) -> Iterator[Visit]:
    visit = Visit(browser, built.page)
    yield visit
    visit.close()


def test_site_names_stay_text(visit: Visit) -> None:
    assert visit.page.locator("#site option").all_inner_texts() == SITES
    assert visit.page.locator("#table tbody td.name").all_inner_texts() == SITES
    assert visit.page.evaluate("window.hacked") is None
    assert visit.page.locator("main script, main img[src=x]").count() == 0


def test_every_control_does_something(visit: Visit) -> None:
    page = visit.page
    whole = page.evaluate("mclstm.find('panel-flow').chart.scales.x.max")
    for how in ("in", "in", "right", "left", "out", "all"):
        page.locator(f"[data-zoom={how}]").click()
        assert (page.evaluate("mclstm.range") is None) == (how == "all")
    page.locator("#panels").press("+")
    page.locator("#panels").press("ArrowLeft")
    ends = [
        page.evaluate(f"mclstm.find('{name}').chart.scales.x.max")
        for name in ("panel-flow", "panel-stores", "age-median")
    ]
    assert ends[0] == ends[1] == ends[2] < whole
    page.locator("#panels").press("Home")
    page.locator("#since").select_option("over 30 days before")
    assert visit.text("#balance-words").startswith("2001-10-17 to 2001-11-15")
    for metric in ("nse", "kge"):
        page.locator(f"[data-sort='mclstm {metric}']").click()
        page.locator(f"[data-sort='mclstm {metric}']").click()
        assert page.locator("th[aria-sort=ascending]").count() == 1
    page.locator("[data-sort=name]").click()
    page.locator("#find").fill("fulda")
    assert page.locator("#table tbody tr").count() == 1
    page.locator("#table tbody button").click()
    page.wait_for_function("() => mclstm.chosen.site === 2")
    assert "traced at the first 2 sites" in visit.text("#ages-none")
    page.locator("#next").click()
    page.wait_for_function("() => mclstm.chosen.site === 0")
    page.locator("#previous").click()
    page.wait_for_function("() => mclstm.chosen.site === 2")
    page.locator("#map circle[data-site='1']").click()
    page.wait_for_function("() => mclstm.chosen.site === 1")
    page.locator("#site").select_option("0")
    page.wait_for_function("() => mclstm.chosen.site === 0")
    page.locator("#model").select_option(label="LSTM")
    assert "has no stores" in visit.text("#balance-none")
    assert "does not conserve" in visit.text("#ages-none")
    before = page.evaluate("getComputedStyle(document.body).backgroundColor")
    page.locator("#theme").click()
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") != before
    for summary in page.locator("details summary").all():
        summary.click()
    assert "hidden_size: 3" in visit.text("#records pre >> nth=0")
    assert "holds" in visit.text(".certificate >> nth=0")


ATTRIBUTES = ["data-zoom", "data-save", "data-sort", "data-peak", "data-table"]
IDS = ["theme", "previous", "next", "site", "model", "find", "date", "since", "member"]
KIND = """attributes => [...document.querySelectorAll("button, select, input")]
    .filter(part => part.checkVisibility())
    .map(part => part.id || attributes.find(name => part.hasAttribute(name))
        || (["td.name", "#peak", "details"].find(place => part.closest(place)) ?? "?"))"""


def test_no_control_is_forgotten_here(visit: Visit) -> None:
    visit.page.locator("#model").select_option(label="Hybrid")  # has several members
    visit.page.locator("#peaks button").first.click()
    for summary in visit.page.locator("details summary").all():
        summary.click()
    used = {*IDS, *ATTRIBUTES, "td.name", "#peak", "details"}
    assert set(visit.page.evaluate(KIND, ATTRIBUTES)) == used
    with visit.page.expect_download() as waiting:
        visit.page.locator("details button").first.click()
    assert waiting.value.suggested_filename == "config.yaml"


def test_the_mouse_zooms_and_a_double_click_shows_all(visit: Visit) -> None:
    over = visit.page.locator("#panel-inflow .u-over")
    over.scroll_into_view_if_needed()
    box = over.bounding_box()
    height = box["y"] + box["height"] / 2
    visit.page.mouse.move(box["x"] + 0.3 * box["width"], height)
    visit.page.mouse.down()
    visit.page.mouse.move(box["x"] + 0.6 * box["width"], height, steps=4)
    visit.page.mouse.up()
    low, high = (
        visit.page.evaluate(f"mclstm.find('panel-flow').chart.scales.x.{end}") for end in ("min", "max")
    )
    days = (pd.Timestamp("2001-11-15") - pd.Timestamp("2001-07-01")).days * 86400
    assert (high - low) / days == pytest.approx(0.3, abs=0.03)
    over.dblclick()
    assert visit.page.evaluate("mclstm.range") is None


def test_cells_are_told_fastest_first(visit: Visit, built: Built) -> None:
    cells = site_content(built, 0)["cells"]["mclstm"]
    days = [cell["days"] for cell in cells]
    assert days == sorted(days)
    told = [cell["sentence"] for cell in cells if "empty" not in cell["sentence"]]
    assert visit.page.locator("#cell-list li").all_inner_texts()[: len(told)] == told
    names = [layer["name"] for layer in site_content(built, 0)["stores"]["mclstm"]["layers"]]
    assert all(re.fullmatch(r"cell \d( \(losses\))?, [\d.]+ (d|h|min)", name) for name in names)


def test_cells_of_several_members_are_told_one_member_at_a_time(visit: Visit, built: Built) -> None:
    page, cells = visit.page, site_content(built, 0)["cells"]["hybrid"]
    page.locator("#model").select_option(label="Hybrid")
    assert page.locator("#member option").all_inner_texts() == ["seed 0", "seed 1"]
    assert "member by member" in visit.text("#members-words")
    for seed in (1, 0):
        page.locator("#member").select_option(f"seed {seed}")
        own = [cell for cell in cells if cell["member"] == seed]
        assert [cell["days"] for cell in own] == sorted(cell["days"] for cell in own)
        told = [cell["sentence"] for cell in own if "empty" not in cell["sentence"]]
        assert page.locator("#cell-list li").all_inner_texts()[: len(told)] == told
        assert any(sentence.startswith("Cell 0 (losses) ") for sentence in (cell["sentence"] for cell in own))
    assert "all cells" in visit.text("#panel-stores")
    page.locator("#model").select_option(label="MC-LSTM")
    assert not page.locator("#member").is_visible()


def test_everything_can_be_saved(visit: Visit) -> None:
    page = visit.page
    page.locator("#peaks button").first.click()
    buttons = [
        *page.locator("[data-save]").all(),
        *page.locator("[data-table]").all(),
        *page.locator("#peak button").all(),
    ]
    saved = {}
    for number, button in enumerate(buttons):
        if number % 8 == 7:
            page.wait_for_timeout(1100)  # Chromium drops what is saved after ten files within a second
        with page.expect_download() as waiting:
            button.press("Enter")  # a click waits for frames, which are dear on a busy machine
        saved[waiting.value.suggested_filename] = waiting.value.path().read_bytes()
    assert len(saved) == len(buttons)
    assert {name.rsplit(".")[-1] for name in saved} == {"csv", "png"}
    assert all(content.startswith(b"\x89PNG") == name.endswith(".png") for name, content in saved.items())
    assert all(saved.values())
    series = pd.read_csv(BytesIO(next(saved[name] for name in saved if name.startswith("series-"))))
    assert len(series) == 138
    assert next(iter(series)) == "date"


def test_the_slider_moves_the_diagram_and_its_sums_are_those_of_the_balance(
    visit: Visit, built: Built
) -> None:
    whole = visit.page.evaluate(FLOWS)
    books = read_table(built.runs[0] / "evaluation/test/mass_balance.csv").iloc[0]
    assert whole["inflow"][0] == pytest.approx(books["inflow"], rel=1e-5)
    assert whole["stored at the end"][0] == pytest.approx(books["storage after"], rel=1e-5)
    assert whole["flow"][0] == pytest.approx(books["outflow flow"], rel=1e-5)
    visit.page.locator("#date").press("Home")
    assert visit.text("#date-shown") == "2001-07-01"
    assert visit.text("#balance-words").startswith("2001-07-01 to 2001-07-01")
    first = visit.page.evaluate(FLOWS)
    assert first["inflow"][1] != whole["inflow"][1]
    assert first["inflow"][0] < whole["inflow"][0]
    visit.page.locator("#date").press("ArrowRight")
    assert visit.text("#date-shown") == "2001-07-02"


def test_a_click_on_a_peak_names_its_days(visit: Visit, built: Built) -> None:
    visit.page.locator(".ring[data-peak='0']").click()
    shown = [row.split() for row in visit.page.locator("#peak tbody tr").all_inner_texts()]
    model = open_model(built.runs[0])
    series = read_new_data(model, Source(str(model.config.data.path)))
    # The page's simulation begins with the steps that training used to fill the stores.
    first = pd.Timestamp("2001-07-01") - pd.Timedelta(days=warmup_of(model.config))
    start = series.sel(time=slice(str(first), None))
    data = tensors(start, model.moments, torch.float32)
    date = pd.Timestamp(visit.text("#peaks button >> nth=0").split(":")[0])
    table = origins([model.members[""]], data, start, SITES[0], date, "flow").dropna()
    largest = table.sort_values("amount", ascending=False).iloc[: len(shown)]
    assert [row[0] for row in shown] == [f"{day:%Y-%m-%d}" for day in largest["date"]]
    assert [float(row[1]) for row in shown] == pytest.approx(largest["amount"].tolist(), rel=0.01)
    assert f"{largest['date'].iloc[0]:%Y-%m-%d}" in visit.text("#peak-words")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_it_fits_a_telephone(browser: Any, built: Built, scheme: str) -> None:
    visit = Visit(browser, built.page, width=400, scheme=scheme)
    assert visit.page.evaluate("document.documentElement.scrollWidth") == 400
    paper = visit.page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert (paper == "rgb(255, 255, 255)") == (scheme == "light")
    visit.page.emulate_media(media="print")
    assert not visit.page.locator("nav").is_visible()
    assert "not to tracers" in visit.text("#ages")  # the caveat is printed, too
    assert visit.page.locator("#table tbody td.name").all_inner_texts() == SITES
    widths = "new Set([...document.querySelectorAll('.chart')].map(holder => holder.chart.width)).size"
    visit.page.evaluate("dispatchEvent(new Event('beforeprint'))")
    assert visit.page.evaluate(widths) == 1
    assert visit.page.evaluate("mclstm.find('panel-flow').chart.width") > 400
    visit.page.evaluate("dispatchEvent(new Event('afterprint'))")
    assert visit.page.evaluate("mclstm.find('panel-flow').chart.width") <= 400
    visit.close()


def test_a_single_file_works_alone(browser: Any, built: Built) -> None:
    visit = Visit(browser, built.single)
    visit.page.locator("#next").click()
    visit.page.wait_for_function("() => mclstm.chosen.site === 1")
    assert visit.page.locator("#panels canvas").count() == 3
    assert {url for url in visit.requests if url.startswith("file:")} == {built.single.as_uri()}
    visit.close()


def test_a_missing_file_is_named(browser: Any, built: Built, tmp_path: Path) -> None:
    shutil.copytree(built.page.parent, tmp_path / "copy")
    (tmp_path / "copy/report_files/site-1.js").unlink()
    visit = Visit(browser, tmp_path / "copy/report.html")
    visit.page.locator("#next").click()
    visit.page.locator("#problem").wait_for()
    assert "site-1.js" in visit.text("#problem")
    visit.page.close()
