"""A Space in the browser, used as a person would: opened, read, given a file."""

from collections.abc import Callable

from playwright.sync_api import Page, expect


def opener(space: str, shown: str) -> Callable:
    """Return a function that opens a Space and waits until `shown` is there."""

    def open_page(visit) -> Page:
        page = visit(space)
        expect(page.locator(shown).first).to_be_visible()
        return page

    return open_page


def pick(page: Page, option: str) -> None:
    """Choose a radio button."""
    page.get_by_role("radio", name=option, exact=True).check()


def unfold(page: Page, name: str) -> None:
    """Open what is folded, and wait until it is drawn: a field that is filled before that gets its old value again."""
    page.get_by_role("button", name=name).click()
    until_drawn(page)


def turn_to(page: Page, name: str) -> None:
    """Turn to a tab, and wait until it is drawn, as `unfold` does."""
    tab = page.get_by_role("tab", name=name)
    tab.click()
    expect(tab).to_have_attribute("aria-selected", "true")
    until_drawn(page)


def until_drawn(page: Page) -> None:
    """Wait until the page has drawn what a click has changed."""
    page.evaluate(
        "() => new Promise(drawn => requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(drawn))))"
    )


def tile(page: Page, name: str, where: str = "#figures"):
    """The value of a tile."""
    return (
        page.locator(f"{where} div", has=page.locator("dt", has_text=name)).last.locator("dd").first
    )


def upload(page: Page, *files, where: str = "#upload") -> None:
    """Give files to an upload that is shown."""
    page.locator(f"{where} input[type=file]").set_input_files([str(file) for file in files])


def upload_in_tab(page: Page, file) -> None:
    """Turn to the tab "Upload", and give it a file."""
    turn_to(page, "Upload")
    upload(page, file)
