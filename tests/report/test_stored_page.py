"""The page about stored predictions: a file is no model, and is not called correct."""

import re

import numpy as np

import rightreasons


def audit_rows(out, name="answers.csv"):
    rng = np.random.default_rng(0)
    lines = ["p_no,p_yes,label"]
    # Each label is drawn with the probability that the model gives it.
    for share in rng.uniform(size=60).tolist():
        label = "no" if rng.random() < share else "yes"
        lines.append(f"{share:.3f},{1 - share:.3f},{label}")
    path = out / name
    path.write_text("\n".join(lines) + "\n", "utf-8")
    return rightreasons.audit(
        predictions=str(path),
        out=out / "report",
        questions=["calibration"],
        n_resamples=20,
        progress=False,
    )


def test_the_subject_of_a_sentence_is_the_model_of_the_file(tmp_path):
    result = audit_rows(tmp_path)

    page = result.page.read_text("utf-8")
    claim = re.search(r'<h1 class="claim">(.*?)</h1>', page)[1]
    assert claim.startswith("The model of answers.csv is correct on ")
    assert claim in result._repr_html_()


def test_a_dash_in_a_table_is_explained(tmp_path):
    page = audit_rows(tmp_path).page.read_text("utf-8")

    for table in re.findall(
        r'<div class="scroll" tabindex="0" role="region" aria-label="Table: (?!items).*?</p>',
        page,
        re.DOTALL,
    ):
        has_dash = ">–</span>" in table
        assert has_dash == ("A dash means that there is no value." in table)
    assert "A dash means that there is no value." in page
