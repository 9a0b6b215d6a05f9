"""What strangers may send to a Space, without a browser: each handler answers with a sentence."""

from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


def handler(demo, name):
    """Return the function of a page by its name."""
    return next(
        block.fn for block in demo.fns.values() if getattr(block.fn, "__name__", "") == name
    )


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        (
            {"choices": "\n".join(map(str, range(5_000)))},
            "most 100 choices",
        ),
        (
            {"choices": "no\n" + "x" * 1_001},
            "1,000 characters",
        ),
        ({"prompt": "x" * 4_001}, "4,000 characters"),
        ({"prompt": None}, "`Question` to"),
        ({"seed": None}, "number for `Seed`"),
        ({"k": "many"}, "`Choices to add`"),
        ({"right": 1e308}, "`Right choice`"),
        ({"text": ["0"]}, "Expected `Scores` to be a text, but got"),
    ],
)
def test_probes(build, changes, sentence):
    # In the order of the fields of the page.
    values = {
        "prompt": "Why?",
        "choices": "no\nyes",
        "right": 1,
        "k": 3,
        "seed": 0,
        "way": "my own scores",
        "method": "mean",
        "text": "",
        "key": None,
    }
    if "text" in changes:
        values["key"] = ["Why?", ["no", "yes"], 0, 3, 0]
    apply = handler(build("spaces/confusion_probes"), "apply_probes")
    outputs = list(apply(*(values | changes).values()))
    page = outputs[-1][0].replace("&#x27;", "'")
    assert sentence in page
    assert len(page) < 400


def test_an_upload_is_measured_before_it_is_read_and_deleted_then(build, tmp_path):
    for folder, place, controls in (("spaces/reliability_explorer", 1, [15, "uniform", "top_label", "l1"]),
                                    ("spaces/cue_explorer", 2, [["unigram"], 5])):  # fmt: skip
        path = tmp_path / folder.replace("/", "_") / "long.csv"
        path.parent.mkdir()
        path.write_text("p0,p1,label\n" + "0.5,0.5,1\n" * 1_000_001)
        answer = list(handler(build(folder), "open_upload")(str(path), *controls))[-1]
        assert "1,000,000 rows" in answer[place]
        assert path.exists()  # for the visitor to say what its columns are
        del answer
        assert not path.exists()
