"""Protocols by name: heads, rates and calibration after the released code of the Reliability Paradox, redone here."""

import math
from collections import Counter

import numpy as np
import pytest
from netcal.metrics import ECE

from rightreasons.core.choices import PROTOCOL_NAMES
from rightreasons.core.resampling import Resampling
from rightreasons.shortcuts.measure import measure_shortcuts, rank_training_heads
from rightreasons.shortcuts.protocols import PROTOCOLS, Protocol, get_protocol
from tiny_encoders import TEXTS, tiny_encoder

TEXTS = list(TEXTS)
LABELS = np.array([0, 1, 1, 2, 0, 2])
RESAMPLING = Resampling(resamples=20)


def released_heads(tokenizer, texts, labels, max_length):
    """Local mutual information as the released code computes it: label -> (token, number of it, LMI), best first."""
    counts = {}
    for label in np.unique(labels).tolist():
        rows = [text for text, other in zip(texts, labels, strict=True) if other == label]
        tokens = []
        for text in rows:
            ids = tokenizer(text, max_length=max_length, padding="max_length", truncation=True)[
                "input_ids"
            ]
            tokens += [
                t
                for t in tokenizer.convert_ids_to_tokens(ids)
                if t not in ("[CLS]", "[SEP]", "[PAD]")
            ]
        counts[label] = Counter(tokens)
    n_tokens, total = sum(map(Counter.total, counts.values())), sum(counts.values(), Counter())
    tables = {}
    for label, counter in counts.items():
        prior = counter.total() / n_tokens
        lmi = {w: c / n_tokens * math.log2(c / total[w] / prior) for w, c in counter.items()}
        tables[label] = sorted(lmi.items(), key=lambda pair: -pair[1])
    return tables


@pytest.fixture(scope="module", params=["bert", "roberta"])
def classifier(request):
    return tiny_encoder(request.param)


@pytest.mark.parametrize(
    "classifier", ["bert", "roberta", "bart", "deberta", "albert"], indirect=True
)
def test_heads_are_those_of_the_released_code(classifier):
    heads = rank_training_heads(TEXTS, LABELS, protocol="bihani2025", classifier=classifier)
    expected = released_heads(classifier.tokenizer, TEXTS, LABELS, min(128, classifier.max_length))
    assert heads.log_base == 2.0
    for label, table in expected.items():
        ours = heads[label]
        assert dict(zip(ours.tokens, ours.lmi.tolist(), strict=True)) == pytest.approx(dict(table))
        assert len(ours.head) == len(table[: round(len(table) * 0.05) + 1])
        # Tokens of equal LMI are ordered by their counts here, and by the texts there.
        assert ours.lmi[: ours.head_size].tolist() == pytest.approx(
            [value for _, value in table[: ours.head_size]]
        )
    counted = {token for table in heads.by_label for token in table.tokens}
    assert ({"<s>", "</s>", "<pad>"} <= counted) == (classifier.name != "bert")
    assert not counted & {"[CLS]", "[SEP]", "[PAD]"}


def test_a_protocol_of_pieces_needs_the_tokenizer():
    with pytest.raises(
        ValueError,
        match="protocol 'bihani2025'",
    ):
        rank_training_heads(TEXTS, LABELS, protocol="bihani2025")


def test_shortcuts_are_the_ranked_pieces_in_the_head(classifier):
    heads = rank_training_heads(TEXTS, LABELS, protocol="bihani2025", classifier=classifier)
    measured = measure_shortcuts(
        classifier,
        TEXTS,
        LABELS,
        heads,
        protocol="bihani2025",
        resampling=RESAMPLING,
        progress=False,
    )
    numbers = []
    for row in range(len(TEXTS)):
        tokens, scores = measured.attributions.tokens[row], measured.attributions.scores[row]
        assert tokens[0] == classifier.tokenizer.cls_token
        assert np.linalg.norm(scores) == pytest.approx(1.0, abs=1e-5)
        top = np.argsort(-scores, kind="stable")[:3]
        numbers.append(
            sum(
                tokens[place] in heads[int(measured.predictions[row])].head
                for place in top.tolist()
            )
        )
    assert measured.reliance.shortcut_reliance == np.mean([number > 0 for number in numbers])
    confidences = measured.probabilities.max(axis=1)
    for row in measured.reliance.bins:
        inside = [
            n for n, c in zip(numbers, confidences, strict=True) if row.lower < c <= row.upper
        ]
        assert row.n_items == len(inside)
        if inside:
            assert row.rate == pytest.approx(np.mean([n > 0 for n in inside]))
    assert measured.calibration.ece == pytest.approx(
        ECE(bins=10).measure(measured.probabilities, LABELS)
    )
    assert measured.record()["n_bins"] == 10


def test_du_explains_gold_labels_and_looks_into_their_heads(classifier):
    heads = rank_training_heads(TEXTS, LABELS)
    measured = measure_shortcuts(classifier, TEXTS, LABELS, heads, protocol=get_protocol("du2021", steps=4),
                                 resampling=RESAMPLING, progress=False)  # fmt: skip
    assert measured.attributions.explained.tolist() == LABELS.tolist()
    right = measured.predictions == LABELS
    assert 0 < right.sum() < len(right)
    assert (
        measured.reliance.correct.n_items == right.sum()
    )  # right is the prediction, whose label is not explained
    for row, example in enumerate(measured.reliance.examples):
        tokens, scores = measured.attributions.tokens[row], measured.attributions.scores[row]
        top = np.argsort(-scores, kind="stable")[:2].tolist()
        assert set(example.positions) == {
            place for place in top if tokens[place] in heads[int(LABELS[row])].head
        }


def test_settings_take_the_place_of_a_protocols_own():
    protocol = get_protocol("bihani2025", target="probability", top_n=5, n_bins=None)
    assert protocol.name == "bihani2025"
    assert (protocol.target, protocol.top_n, protocol.n_bins) == ("probability", 5, 10)
    assert get_protocol() == PROTOCOLS["rightreasons"] == Protocol()
    assert get_protocol(protocol) == protocol


@pytest.mark.parametrize(
    ("protocol", "settings", "error", "message"),
    [
        (
            "bihani",
            {},
            ValueError,
            "mean 'bihani2025'",
        ),
        (3, {}, TypeError, "protocol or a Protocol"),
        (
            "bihani2025",
            {"unit": "word"},
            ValueError,
            "Expected unit='wordpiece' with rank_special=True",
        ),
        (
            "bihani2025",
            {"unit": "word", "rank_special": False},
            ValueError,
            "with count_special=True",
        ),
        ("du2021", {"stpes": 5}, ValueError, "Did you mean 'steps'"),
    ],
)
def test_mistakes(protocol, settings, error, message):
    with pytest.raises(error) as caught:
        get_protocol(protocol, **settings)
    assert message in str(caught.value)


def test_the_names_on_the_command_line_are_those_of_the_protocols():
    assert tuple(PROTOCOLS) == PROTOCOL_NAMES
