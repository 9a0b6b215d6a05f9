"""The demo of an evaluate module, used as a person would: compute, edit, change options, make mistakes."""

import re
from pathlib import Path

import pytest
from playwright.sync_api import expect

from module_page import choose, compute, edit, unfold
from rightreasons.evaluate_module import available_modules, module_path

pytestmark = pytest.mark.browser


@pytest.mark.parametrize("name", available_modules())
def test_the_example_of_every_module_computes(build, name):
    # What the button calls with what stands on the page, which is also what the page opens with.
    demo = build(f"{Path(module_path(name)).parent.name}/{name}")
    (compute,) = [block for block in demo.fns.values() if block.fn and block.fn.__name__ == "compute"]
    inputs, options = (control.value for control in compute.inputs)
    headline, result = compute.fn(inputs, options)
    assert 'role="alert"' not in headline
    assert headline.count("<svg") == 1
    assert result
    assert compute.outputs[0].value == headline


def test_example_computes_and_the_card_is_there(visit):
    page = visit("metrics/ece")
    expect(page.get_by_role("heading", name="Expected Calibration Error")).to_be_visible()
    # The result and its diagram first, the rest folded: on a phone the page has three screens.
    expect(page.locator("#headline svg")).to_be_in_viewport()
    for folded in ("#card", "#result", "#chosen"):
        expect(page.locator(folded)).not_to_be_visible()
    unfold(page, "#about")
    expect(page.get_by_role("heading", name="Limitations and Bias")).to_be_visible()
    compute(page)
    # The six toy items of METHODS 1.5 at ten bins.
    expect(page.locator("#headline")).to_contain_text("0.2883")
    expect(page.locator("#headline")).to_contain_text(
        "Top-label ECE: mean over the items of |accuracy - mean confidence|"
    )
    unfold(page, "#all")
    expect(page.locator("#result")).to_contain_text('"overconfidence"')


def test_edited_inputs_and_options_change_the_result(visit):
    page = visit("metrics/ece")
    unfold(page)
    edit(page, "references", 1, 0)
    choose(page, n_bins=1)
    compute(page)
    # One bin: accuracy 5/6, mean confidence 4.53/6, so the gap is 0.47/6 = 0.0783.
    expect(page.locator("#headline")).to_contain_text("0.0783")
    choose(page, n_bins=1, confidence_level=0.9, debias=True)
    compute(page)
    expect(page.locator("#headline")).to_contain_text(re.compile(r"90% interval 0\.\d{4} to 0\.\d{4}"))


def test_mistakes_are_answered_in_place(visit):
    page = visit("metrics/ece")
    unfold(page)
    alert = page.get_by_role("alert")
    whole = page.locator("#inputs textarea").input_value()
    edit(page, "predictions", 0, [0.5, 0.33])
    compute(page)
    expect(alert).to_have_text("Expected each row of `predictions` to sum to 1, but row 0 sums to 0.83.")
    page.locator("#inputs textarea").fill("half")
    compute(page)
    expect(alert).to_contain_text("Expected inputs as JSON")
    page.locator("#inputs textarea").fill(whole)
    choose(page, n_bins=2.5)
    compute(page)
    expect(alert).to_have_text("Expected `n_bins` to be a whole number, but got 2.5 (float).")
    expect(page.locator("#headline")).not_to_contain_text("0.2883")
    choose(page, n_bins=10)
    compute(page)
    expect(alert).to_have_count(0)
    expect(page.locator("#headline")).to_contain_text("0.2883")
    assert "Traceback" not in page.content()
