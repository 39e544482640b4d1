"""The record of a model in operation: its balance of BMI steps, with the model of the repository."""

from pathlib import Path

from mclstm_paper.bench import operation
from mclstm_paper.results import Row

ROOT = Path(__file__).parents[3]


def test_many_steps_of_bmi_close_and_are_saved_on_the_way() -> None:
    saved: list[list[Row]] = []
    operation.million(ROOT, operation.BOOKED, saved.append)
    (rows,) = saved
    values = {item["metric"]: item["value"] for item in rows}
    assert rows[0]["setting"] == "1,000 steps of BMI"
    assert values["largest balance of the protocol"] == 0.0
    assert 0 < values["largest leak, of the mass"] < 1e-12
    assert values[operation.STEPS_PER_SECOND] > 0
