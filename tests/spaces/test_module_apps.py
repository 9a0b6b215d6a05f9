"""The demo of an evaluate module, used as a person would: compute, edit, change options, make mistakes."""

import pytest
from playwright.sync_api import expect

from module_page import choose, compute, edit
from rightreasons.evaluate_module import available_modules, module_path

pytestmark = pytest.mark.browser


@pytest.mark.parametrize("name", available_modules())
def test_the_example_of_every_module_computes(build, name):
    # What the button calls with what stands on the page, which is also what the page opens with.
    demo = build(f"{module_path(name).split('/')[-2]}/{name}")
    (compute,) = [
        block for block in demo.fns.values() if block.fn and block.fn.__name__ == "compute"
    ]
    headline, result = compute.fn(*(control.value for control in compute.inputs))
    assert not headline
    assert result


def test_example_computes_and_the_card_is_there(visit):
    page = visit("metrics/ece")
    expect(page.get_by_role("heading", name="Limitations and Bias")).to_be_visible()
    # The six toy items of METHODS 1.5 at ten bins.
    expect(page.locator("#result")).to_contain_text("0.2883")
    expect(page.locator("#result")).to_contain_text('"overconfidence"')


def test_edited_inputs_and_options_change_the_result(visit):
    page = visit("metrics/ece")
    edit(page, "references", 1, 0)
    choose(page, n_bins=1)
    compute(page)
    # One bin: accuracy 5/6, mean confidence 4.53/6, so the gap is 0.47/6 = 0.0783.
    expect(page.locator("#result")).to_contain_text("0.0783")


def test_mistakes_are_answered_in_place(visit):
    page = visit("metrics/ece")
    alert = page.get_by_role("alert")
    whole = page.locator("#inputs textarea").input_value()
    edit(page, "predictions", 0, [0.5, 0.33])
    compute(page)
    expect(alert).to_have_text(
        "Expected each row of `predictions` to sum to 1, but row 0 sums to 0.83."
    )
    page.locator("#inputs textarea").fill("half")
    compute(page)
    expect(alert).to_contain_text("Expected `Inputs` as JSON")
    page.locator("#inputs textarea").fill(whole)
    choose(page, n_bins=2.5)
    compute(page)
    expect(alert).to_have_text("Expected `n_bins` to be a whole number, but got 2.5 (float).")
    expect(page.locator("#result")).not_to_contain_text("0.2883")
    choose(page, n_bins=10)
    compute(page)
    expect(alert).to_have_count(0)
    expect(page.locator("#result")).to_contain_text("0.2883")
    assert "Traceback" not in page.content()
