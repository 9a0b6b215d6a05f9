"""The demo of an evaluate module, used as a person would: compute, edit, change options, make mistakes."""

import json
import re
from pathlib import Path

import evaluate
import pytest
from playwright.sync_api import expect

from module_page import compute, edit, unfold
from rightreasons.evaluate_module import available_modules, module_path

pytestmark = pytest.mark.browser


@pytest.mark.parametrize("name", available_modules())
def test_the_example_of_every_module_computes(build, name):
    # What the button calls with what stands on the page, which is also what the page opens with.
    demo = build(f"{Path(module_path(name)).parent.name}/{name}")
    (compute,) = [block for block in demo.fns.values() if block.fn and block.fn.__name__ == "compute"]
    rows, *options = (control.value for control in compute.inputs)
    headline, result = compute.fn(rows["data"], *options)
    assert 'role="alert"' not in headline
    assert headline.count("<svg") == 1
    assert "rr-tiles" in headline or "<table" in headline
    assert result
    assert compute.outputs[0].value == headline

    # A script gets the same figures.
    (serve,) = [block.fn for block in demo.fns.values() if block.api_visibility == "public"]
    module = evaluate.load(str(module_path(name)))
    features = module.features[0] if isinstance(module.features, list) else module.features
    # The page writes texts as they are and everything else as JSON, in the columns of the inputs.
    texts = {column for column, feature in features.items() if getattr(feature, "dtype", None) == "string"}
    columns = dict(zip(rows["headers"], zip(*rows["data"], strict=True), strict=True))
    inputs = {
        column: list(cells) if column in texts else [json.loads(cell) for cell in cells]
        for column, cells in columns.items()
        if any(cells)
    }
    assert serve(inputs) == result


ITEMS = {"predictions": [[0.9, 0.1], [0.3, 0.7]], "references": [0, 1]}
WRONG = (
    ({"inputs": None}, "Expected `inputs` to be a mapping, but got None (NoneType)."),
    ({"inputs": [[0.9, 0.1]]}, "Expected `inputs` to be a mapping, but got [[0.9, 0.1]] (list)."),
    ({"inputs": {}}, "Expected `predictions` among the inputs of ece, but got none."),
    ({"inputs": {"predictions": [[0.9, 0.1]]}}, "Expected `references` among the inputs of ece, but got predictions."),
    ({"inputs": ITEMS | {"predictions": 5}}, "Expected `predictions` to be a list, but got 5 (int)."),
    ({"inputs": ITEMS | {"reference": [0]}}, "but got 'reference'. Did you mean 'references'?"),
    ({"inputs": {**ITEMS, "references": [0]}}, "Expected a value in each item of `references`, but item 1 is empty."),
    ({"inputs": ITEMS, "options": 5}, "Expected `options` to be a mapping, but got 5 (int)."),
    ({"inputs": ITEMS, "options": {"n_bin": 3}}, "but got 'n_bin'. Did you mean 'n_bins'?"),
    ({"inputs": ITEMS, "options": {"n_bins": 3 * 10**7}}, "Expected `n_bins` to be at most 1000, but got 30000000."),
    ({"inputs": ITEMS, "options": {"n_bins": "many"}}, "Expected `n_bins` to be a whole number, but got 'many' (str)."),
    (
        {"inputs": ITEMS, "options": {"label_names": ["a"] * 50_000}},
        "Expected `label_names` to have at most 100,000 characters, but got 250,000.",
    ),
)


def test_a_script_gets_a_sentence_for_a_mistake(serve):
    gradio_client = pytest.importorskip("gradio_client")
    client = gradio_client.Client(serve("metrics/ece"), verbose=False)
    assert list(client.view_api(return_format="dict", print_info=False)["named_endpoints"]) == ["/compute"]
    # One bin: both are right, with a mean confidence of 0.8.
    assert client.predict(ITEMS, {"n_bins": 1}, api_name="/compute")["ece"] == pytest.approx(0.2)
    for sent, sentence in WRONG:
        with pytest.raises(Exception, match=re.escape(sentence)):
            client.predict(**sent, api_name="/compute")
    client.close()


def test_example_computes_and_the_card_is_there(visit):
    page = visit("metrics/ece")
    expect(page.get_by_role("heading", name="Expected Calibration Error")).to_be_visible()
    # The result and its diagram first, the rest folded: on a phone the page has three screens.
    expect(page.locator("#headline svg")).to_be_in_viewport()
    for folded in ("#card", "#result", "#option-n_bins"):
        expect(page.locator(folded)).not_to_be_visible()
    unfold(page, "#about")
    expect(page.get_by_role("heading", name="Limitations and Bias")).to_be_visible()
    compute(page)
    # The six toy items of METHODS 1.5 at ten bins.
    expect(page.locator("#headline")).to_contain_text("0.2883")
    expect(page.locator("#headline")).to_contain_text(
        "Top-label ECE: mean over the items of |accuracy - mean confidence|"
    )
    expect(page.locator("#headline table").get_by_text("0.6350")).to_be_visible()
    expect(page.locator("#headline details")).to_contain_text("overconfidence")
    unfold(page, "#all")
    expect(page.locator("#result")).to_contain_text('"overconfidence"')


def test_edited_cells_and_options_change_the_result(visit):
    page = visit("metrics/ece")
    unfold(page)
    edit(page, 1, 1, "0")
    page.locator("#option-n_bins input").fill("1")
    compute(page)
    # One bin: accuracy 5/6, mean confidence 4.53/6, so the gap is 0.47/6 = 0.0783.
    expect(page.locator("#headline")).to_contain_text("0.0783")
    page.locator("#option-confidence_level textarea, #option-confidence_level input").fill("0.9")
    page.get_by_label("debias").check()
    compute(page)
    expect(page.locator("#headline")).to_contain_text(re.compile(r"90% interval 0\.\d{4} to 0\.\d{4}"))


def test_mistakes_are_answered_in_place(visit):
    page = visit("metrics/ece")
    unfold(page)
    alert = page.get_by_role("alert")
    edit(page, 0, 0, "[0.5, 0.33]")
    compute(page)
    expect(alert).to_have_text("Expected each row of `predictions` to sum to 1, but row 0 sums to 0.83.")
    edit(page, 0, 0, "half")
    compute(page)
    expect(alert).to_contain_text(
        "Expected a number, or a list such as [0.9, 0.1], in `predictions`, but item 0 has 'half'"
    )
    edit(page, 0, 0, "[0.95, 0.05]")
    page.locator("#option-n_bins input").fill("2.5")
    compute(page)
    expect(alert).to_have_text("Expected `n_bins` to be a whole number, but got 2.5 (float).")
    expect(page.locator("#headline")).not_to_contain_text("0.2883")
    page.locator("#option-n_bins input").fill("10")
    compute(page)
    expect(alert).to_have_count(0)
    expect(page.locator("#headline")).to_contain_text("0.2883")
    assert "Traceback" not in page.content()
