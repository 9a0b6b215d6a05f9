"""A robot that does what the sentences of refusals say: at the latest the third try of a table gets through."""

import re

import pytest

from command_line import run

N = 24
SURE = [0.9 if row % 4 else 0.6 for row in range(N)]
RIGHT = [row % 2 for row in range(N)]

TABLES = {
    "two columns of text": (
        "title,body,label,p_no,p_yes",
        lambda i: f"T{i},some text {i},{'no yes'.split()[RIGHT[i]]}",
    ),
    "stars": ("review,stars,p_1,p_2", lambda i: f"a text {i},{1 + RIGHT[i]}"),
    "signs": ("text,label,p_0,p_1", lambda i: f"a text {i},{2 * RIGHT[i] - 1}"),
    "numbers beside names": (
        "text,label,p_negative,p_positive",
        lambda i: f"a text {i},{RIGHT[i]}",
    ),
    "counted from one": ("text,label,p_a,p_b", lambda i: f"a text {i},{RIGHT[i] + 1}"),
    "another language": (
        "Rezension,Etikett,p_schlecht,p_gut",
        lambda i: f"ein Text {i},{'schlecht gut'.split()[RIGHT[i]]}",
    ),
}
PERCENT = "text,label,p_no,p_yes\n" + "".join(
    f"a text {i},{'no yes'.split()[RIGHT[i]]},{100 * (1 - SURE[i]):.0f},{100 * SURE[i]:.0f}\n"
    for i in range(N)
)


def table(name):
    """A file of predictions that are right in three of four items."""
    heading, cells = TABLES[name]
    rows = []
    for i in range(N):
        sure = SURE[i] if (i % 4 == 0) == (RIGHT[i] == 0) else 1 - SURE[i]
        rows.append(f"{cells(i)},{sure:.2f},{1 - sure:.2f}")
    return "\n".join([heading, *rows]) + "\n"


def advice(said, columns):
    """Yield the options that a sentence names, with the values that it gives for them, or with those of the file."""
    classes = re.search(r"columns of scores are ([^,]+), ([^,]+), but", said)
    for flag, value in re.findall(r"(--[a-z]+-?[a-z]+)(=[^\s.`]+)?", said):
        if value:
            yield flag, value[1:]
        elif flag == "--label-names":
            yield from ((flag, pairs) for pairs in re.findall(r"as in (\S+=\S+?)[:.] ", said))
            yield from ((flag, f"{classes[1]},{classes[2]}") for _ in range(classes is not None))
        elif flag.endswith("-column"):
            yield from ((flag, column) for column in columns)


@pytest.mark.parametrize("name", [*TABLES, "percentages"])
def test_what_a_sentence_names_leads_to_figures(name, tmp_path, capsys):
    text = PERCENT if name == "percentages" else table(name)
    path = tmp_path / "mine.csv"
    path.write_text(text, "utf-8")

    def leads_on(options, left):
        """Whether the command gets through with these options, or with what its sentence names, so many times."""
        code, _, said = run(
            capsys, "calibration", path, "--out", tmp_path / "report", "--n-resamples", 20, *options
        )
        assert code in (0, 2), said
        more = advice(said, text.split("\n", 1)[0].split(","))
        return code == 0 or (
            left > 0 and any(leads_on([*options, *each], left - 1) for each in more)
        )

    assert leads_on([], 2)
