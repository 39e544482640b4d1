"""What the hydrology pages show is a config that loads and commands that exist."""

import re
from collections.abc import Callable
from pathlib import Path

import typer
import yaml

from mclstm.cli.report import report
from mclstm.cli.verbs import PAPER_VERBS, VERBS
from mclstm.config import check_config
from mclstm.config.neuralhydrology_keys import DATASETS, LOSSES, MODELS
from mclstm_paper.cli.experiment import experiment

DOCS = Path(__file__).parents[3] / "docs"


def test_the_config_shown_is_the_papers() -> None:
    shown, *_ = re.findall(r"```yaml\n(.*?)```", (DOCS / "hydrology.md").read_text(), flags=re.DOTALL)
    config = check_config(yaml.safe_load(shown))
    assert len(config.data.static) == 27
    assert config.model.name == "mclstm"
    assert (config.model.hidden_size, config.model.output_bias, config.model.state_norm) == (
        64,
        -3.0,
        "sample",
    )
    assert config.periods.pair("test") == ("1989-10-01", "1999-09-30")


def test_the_verbs_and_options_shown_exist() -> None:
    for page in ("hydrology.md", "from-neuralhydrology.md"):
        text = (DOCS / page).read_text()
        assert set(re.findall(r"^ +mclstm ([\w-]+)", text, flags=re.MULTILINE)) <= {*VERBS, *PAPER_VERBS}
    known = [option for verb in (report, experiment) for option in options_of(verb)]
    for shown in re.findall(r"^\| (`--.*?) \|", (DOCS / "hydrology.md").read_text(), flags=re.MULTILINE):
        assert set(re.findall(r"--[\w-]+", shown)) <= set(known)


def options_of(verb: Callable[..., object]) -> list[str]:
    """Every option the verb takes, as it is typed."""
    app = typer.Typer()
    app.command()(verb)
    return [name for parameter in typer.main.get_command(app).params for name in parameter.opts]


def test_the_table_of_keys_names_what_can_be_translated() -> None:
    text = (DOCS / "from-neuralhydrology.md").read_text()
    for name in (*DATASETS, *MODELS):
        assert name in text
    assert all(name.upper() in text for name in LOSSES if name != "weightednse")
