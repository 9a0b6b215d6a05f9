"""A few calques that users do not read again: reports, help, README and documentation use the field's words."""

import re

import pytest

CALQUES = {
    "beside this page": "other files",
    "goes with": "is associated with",
    "how sure": "how confident",
    "in silence": "without a mention",
    "is told": "gets a message",
    "stands for": "represents",
    "surely": "significantly",
    "tells apart": "distinguishes",
    "told apart": "distinguished",
    "too sure": "overconfident",
}
"""What must not come back, and what to write."""

SOURCES = (
    "README.md",
    "CHANGELOG.md",
    "docs/*.md",
    "docs/evidence/*.md",
    "docs/recipes/*.md",
    "docs/tutorials/*.md",
    "src/rightreasons/*/*.md.j2",
    "src/rightreasons/cli/commands.json",
    "src/rightreasons/report/templates/*.j2",
    "src/rightreasons/report/templates/terms.json",
)
GENERATED = re.compile(r"<!-- (?!end|figure)[^>]* -->.*?<!-- end of[^>]* -->", re.DOTALL)


@pytest.mark.parametrize("pattern", SOURCES)
def test_no_calque_comes_back(pattern, root):
    paths = [path for path in sorted(root.glob(pattern)) if path.name != "api.md"]
    assert paths
    for path in paths:
        text = " ".join(GENERATED.sub("", path.read_text("utf-8")).split())
        for calque, word in CALQUES.items():
            match = re.search(rf"\b{calque}\b", text, re.IGNORECASE)
            assert match is None, (
                f"{path.name}: write “{word}”, not “{text[match.start() - 30 :][:70]}”"
            )
