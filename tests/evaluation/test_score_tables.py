"""Tables of an evaluation, read back: sites stay text; a damaged file says how to make it again."""

from pathlib import Path

import pytest

from mclstm.errors import DataError
from mclstm.evaluation.score_tables import read_table


def table(folder: Path, content: str | None) -> Path:
    path = folder / "run/evaluation/validation/metrics.csv"
    path.parent.mkdir(parents=True)
    if content is not None:
        path.write_text(content)
    return path


def test_sites_keep_their_zeros(tmp_path: Path) -> None:
    scores = read_table(table(tmp_path, "site,nse\n01022500,0.5\n"))
    assert scores["site"].tolist() == ["01022500"]
    assert scores["nse"].tolist() == [0.5]


@pytest.mark.parametrize("content", [None, "", 'site,nse\n"01022500,0.5\n'])
def test_a_damaged_table_names_the_command_that_makes_it_again(content: str | None, tmp_path: Path) -> None:
    path = table(tmp_path, content)
    with pytest.raises(DataError) as caught:
        read_table(path)
    run = tmp_path / "run"
    assert (
        str(caught.value)
        == f"{path} cannot be read. Make it again with: mclstm evaluate {run} --split validation"
    )
