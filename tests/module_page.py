"""The page of a module's demo, used as a person would: inputs typed, the button pressed."""

import json
from typing import Any

from playwright.sync_api import Page


def compute(page: Page) -> None:
    page.get_by_role("button", name="Compute").click()


def choose(page: Page, **options: Any) -> None:
    """Write options into the page, in place of those that it shows."""
    page.locator("#chosen textarea").fill(json.dumps(options))


def edit(page: Page, name: str, item: int, value: Any) -> None:
    """Write another value of one item, or a text where it stands, into the inputs."""
    field = page.locator("#inputs textarea")
    inputs = json.loads(field.input_value())
    inputs[name][item] = value
    field.fill(json.dumps(inputs))
