"""What is read in the weights of recurrent arithmetic is what the network computes."""

import torch

from mclstm_paper.recurrent_arithmetic.gate_matrices import weight_figures
from mclstm_paper.recurrent_arithmetic.gate_reading import Gates, gates_of, rounded, sentences
from mclstm_paper.recurrent_arithmetic.models import recurrent_recipe
from mclstm_paper.seeds.networks import sources

GATES = (torch.eye(2), torch.eye(2), torch.eye(2))


def test_the_output_layer_of_a_product_is_the_formula_that_is_told() -> None:
    """exp(α) times the cells, each to its power: all of it in the reading, or nobody could check it."""
    network = recurrent_recipe("mclstm", "multiplication", "published").build(sources([0]))
    with torch.no_grad():
        network.head.alpha.fill_(1.3)
        network.head.mcfc.b_o.copy_(torch.tensor([[0.4, 0.7]]))
    found = gates_of(network, "multiplication", seed=0)
    assert found.scale is not None
    h = torch.tensor([[2.0, 3.0, 5.0], [7.0, 0.5, 1.5]])
    told = found.scale * torch.prod(h**found.head, dim=1)
    torch.testing.assert_close(network.head(h).flatten(), told)
    assert sentences(found, "multiplication")[-1].endswith("; the product is multiplied by exp(α) = 3.67.")
    assert rounded(found)["scale"] == 3.6693


def test_sums_are_not_scaled() -> None:
    network = recurrent_recipe("mclstm", "addition", "published").build(sources([0]))
    found = gates_of(network, "addition", seed=0)
    assert "scale" not in rounded(found)
    assert "exp" not in sentences(found, "addition")[-1]


def test_a_cell_that_does_not_count_is_trash_however_open_it_is() -> None:
    both_open = torch.tensor([[0.0, 0.0], [1.0, 1.0]])
    found = Gates(torch.eye(2), both_open, torch.eye(2), torch.tensor([1.0, 0.0]))
    told = sentences(found, "multiplication")
    assert [line.split(":")[0] for line in told[:2]] == ["Cell 0, accumulator", "Cell 1, trash"]


def test_zero_has_no_sign() -> None:
    found = Gates(*GATES, torch.tensor([-0.001, -1.0]))
    assert (
        sentences(found, "subtraction")[-1]
        == "The output layer multiplies cell 0 by 0.00 and cell 1 by -1.00."
    )


def test_readings_are_drawn_with_a_scale_and_without() -> None:
    """Those of earlier days have none."""
    about = {"task": "(x1 + x2) * (x2 + x3)", "solved": True}
    for scale in (None, torch.tensor(4.0)):
        found = rounded(Gates(*GATES, torch.ones(2), scale))
        (figure,) = weight_figures([], {"mclstm, multiplication": about | found}).values()
        assert len(figure.axes) == 4
