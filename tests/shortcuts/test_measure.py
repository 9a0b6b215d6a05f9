"""What a shortcut measurement says of words, by hand: three classes, texts of unequal length, a repeated word."""

from types import SimpleNamespace

import numpy as np
import pytest

from rightreasons.core.arrays import Ragged
from rightreasons.core.resampling import Resampling
from rightreasons.models.loading import load_classifier
from rightreasons.shortcuts.measure import (
    ShortcutMeasurement,
    WithheldError,
    measure_shortcuts,
    rank_training_heads,
)
from rightreasons.shortcuts.mutual_information import lmi
from rightreasons.shortcuts.protocols import get_protocol
from rightreasons.shortcuts.reliance import shortcut_reliance
from tiny_models import save_tiny_classifier, tiny_texts

RESAMPLING = Resampling(resamples=20)
TEXTS = ["copper film", "a copper copper set", "velvet", "the plot"]
SCORES = [[0.9, -0.1], [0.1, 0.5, -0.2, 0.2], [0.3], [0.0, 0.0]]
PREDICTED = [0, 0, 2, 1]


@pytest.fixture(scope="module")
def heads():
    texts = [
        "copper film",
        "copper plot",
        "the film",
        "marble set",
        "velvet film",
        "velvet",
        "a set",
    ]
    return lmi(texts, [0, 0, 1, 1, 2, 2, 1])


@pytest.fixture(scope="module")
def measured(heads):
    tokens = [text.split() for text in TEXTS]
    offsets = np.cumsum([0, *map(len, tokens)])
    starts = [
        start
        for words in tokens
        for start in np.cumsum([0, *(len(word) + 1 for word in words[:-1])])
    ]
    ends = [
        start + len(word)
        for start, word in zip(starts, (w for words in tokens for w in words), strict=True)
    ]
    reliance = shortcut_reliance(
        tokens, SCORES, PREDICTED, heads, top_n=1, rank_by="magnitude", n_bins=5, resampling=RESAMPLING,
        references=[0, 1, 2, 1], confidences=[0.7, 0.9, 0.5, 0.5],
    )  # fmt: skip
    attributions = SimpleNamespace(
        tokens=tokens,
        explained=np.array(PREDICTED),
        scores=Ragged(np.concatenate(SCORES), offsets),
        starts=np.array(starts),
        ends=np.array(ends),
        parts=np.array(
            [0, 0, 0, 0, 0, 1, 0, 0, 0]
        ),  # the last word of the second text is that of a pair
    )
    return ShortcutMeasurement(
        attributions=attributions,
        probabilities=np.eye(3)[PREDICTED],
        labels=np.array([0, 1, 2, 1]),
        reliance=reliance,
        tradeoff=None,
        calibration=None,
        protocol=get_protocol(top_n=1, n_bins=5),
        rows=np.arange(4),
        left_out="",
        n_left_out=0,
    )


def test_types_and_bins(measured):
    assert measured.cued.tolist() == [True, True, True, False]
    assert (measured.reliance.lexicon_cued, measured.reliance.grammar_cued) == (0.75, 0.0)
    # 0.5 twice in (0.4, 0.6], both right; 0.7 right; 0.9 wrong; nothing below.
    assert [row.accuracy for row in measured.reliance.bins] == [None, None, 1.0, 1.0, 0.0]


def test_training_heads_leave_out_what_says_nothing():
    heads = rank_training_heads(
        ["good", "bad", " ", "odd"], np.array([1, 0, 0, -1]), text_pairs=["film", "film", "", "set"]
    )
    assert set(heads[0].tokens) | set(heads[1].tokens) == {"good", "bad", "film"}


class TestValidity:
    """Items whose attributions do not add up are left out of every figure, or all figures are withheld."""

    TEXTS = tuple(tiny_texts(24)[0])
    LABELS = tuple(tiny_texts(24)[1])

    @pytest.fixture(scope="class")
    def classifier(self, tmp_path_factory):
        folder = save_tiny_classifier(
            tmp_path_factory.mktemp("valid") / "model", initializer_range=0.5
        )
        return load_classifier(folder, device="cpu")

    def measure(self, classifier, **options):
        heads = rank_training_heads(list(self.TEXTS), np.array(self.LABELS))
        return measure_shortcuts(
            classifier,
            list(self.TEXTS),
            list(self.LABELS),
            heads,
            resampling=RESAMPLING,
            progress=False,
            **options,
        )

    def test_figures_are_about_the_others(self, classifier):
        coarse = {"method": "riemann_right", "steps": 4}
        whole = self.measure(classifier, protocol=get_protocol(**coarse, max_gap=1e9))
        share = np.abs(
            whole.attributions.gap / (whole.attributions.value - whole.attributions.baseline_value)
        )
        bound = float(np.median(share))
        part = self.measure(
            classifier, protocol=get_protocol(min_valid=0.4, **coarse, max_gap=bound)
        )
        rows = np.flatnonzero(share <= bound)
        assert whole.left_out == ""
        assert part.rows.tolist() == rows.tolist()
        assert part.n_left_out == 24 - len(rows)
        assert part.left_out.startswith(
            f"{24 - len(rows)} of 24 items are excluded, because their attributions miss"
        )
        assert [row.to_dict() for row in part.reliance.examples] == [
            whole.reliance.examples[row].to_dict() for row in rows
        ]
        assert part.reliance.shortcut_reliance == whole.cued[rows].mean()
        assert part.calibration.accuracy == (whole.predictions == whole.labels)[rows].mean()
        record = part.record()
        assert record["n_items"] == len(rows)

    def test_too_few_are_no_figure(self, classifier):
        with pytest.raises(
            WithheldError,
            match="valid attributions",
        ):
            self.measure(
                classifier, protocol=get_protocol(method="riemann_right", steps=2, max_gap=1e-6)
            )

    def test_the_papers_leave_out_none(self, classifier):
        assert self.measure(classifier, protocol="du2021").left_out == ""
