"""Ways to ask: what is asked means the same, the figures are those of the papers, and a doubt has its control."""

from __future__ import annotations

import itertools
import math
import re

import datasets
import numpy as np
import pytest

from rightreasons.audited.context import AuditContext
from rightreasons.audited.splits import take_splits
from rightreasons.core.arrays import Ragged
from rightreasons.core.errors import UnreadAnswersError
from rightreasons.core.replies import Reply
from rightreasons.core.resampling import Resampling
from rightreasons.io.options import AuditOptions
from rightreasons.models.prompted import Prompted
from rightreasons.models.prompts import ORDERS, Item
from rightreasons.models.protocol import Answers, Likelihoods
from rightreasons.models.replies.gates import compute_dependence
from rightreasons.models.wording import AGAIN, DOUBT, Prompt
from rightreasons.report.answering import judge_scores
from rightreasons.ways import WaysOptions
from rightreasons.ways.formats import INSTRUCTIONS, SEPARATORS, STYLES, Way, draw_ways
from rightreasons.ways.measure import measure_ways
from rightreasons.ways.question import WAYS
from rightreasons.ways.spread import compare_flips, format_spread, prompt_sensitivity

HOW = Resampling(resamples=200)
N = 40
OPTION = re.compile(r"(?m)^(?:Options:: |<options>)?(?:([A-Z]|\d)\.|-) (true \d+|false \d+)$")


class Knowing:
    """Knows which option is true, but answers the first one shown where a question is in capitals.

    Doubted, it takes its answer back, but for every fourth item; asked again, for every fifth item alone.
    """

    name, fingerprint, thinks, budget = "knowing", "knowing", False, 32

    def __init__(self, abilities, chat=True):
        self.abilities, self.has_template, self.asked = frozenset(abilities), chat, []

    def render(self, prompt):
        return str(prompt)

    def pick(self, request):
        """Return the mark and the text of the option that it picks, and those of the others."""
        turns = request.prompt
        whole = turns if isinstance(turns, str) else turns[0]["content"]
        self.asked.append(request)
        options = OPTION.findall(whole)
        right = next(place for place, (_, text) in enumerate(options) if text.startswith("true"))
        picked = 0 if "QUESTION" in whole else right
        number = int(request.name[1:])
        if not isinstance(turns, str) and turns[-1]["content"].endswith(AGAIN + self.form(whole)):
            picked = next(
                n
                for n, (mark, text) in enumerate(options)
                if turns[1]["content"].endswith(mark or text)
            )
            turned = number % 4 if turns[-1]["content"].startswith(DOUBT) else number % 5 == 0
            picked = (picked + 1) % len(options) if turned else picked
        return [mark or text for mark, text in options], picked

    @staticmethod
    def form(whole):
        found = re.search(r"\nAnswer with .*", whole)
        return found[0] if found else ""

    def generate(self, requests, *, options, **how):
        found = []
        for request in requests:
            answers, picked = self.pick(request)
            found.append([Reply(f"ANSWER: {answers[picked]}")] * options.n)
        return Answers(found)

    def likelihoods(self, requests, **how):
        rows = []
        for request in requests:
            answers, picked = self.pick(request)
            rows.append(
                [
                    -1.0 if text.strip() == answers[picked] else -3.0
                    for text in request.continuations
                ]
            )
        counts = [len(row) for row in rows]
        return Likelihoods(
            Ragged.of(np.concatenate(rows), counts), Ragged.of(np.ones(sum(counts)), counts)
        )


@pytest.fixture(scope="module")
def split():
    rows = [
        {
            "id": f"q{n}",
            "prompt": f"Which is it, {n}?",
            "choices": [f"true {n}", f"false {n}"][:: 1 if n % 2 else -1],
            "label": 1 - n % 2,
        }
        for n in range(N)
    ]
    items = datasets.Dataset.from_list(rows)
    return take_splits({"test": items}, {"test": "primary"}, AuditOptions(), None, "here")[0]


def test_every_way_asks_the_same_item_with_all_its_options():
    engine = Knowing({"likelihoods"})
    asked = Prompted(Prompt(style="letters"), engine)
    item = Item("q1", {"prompt": "Which?", "choices": ["true 1", "false 1", "false 2"]}, 0)
    seen = set()
    for parts in itertools.product(SEPARATORS, INSTRUCTIONS, STYLES, ORDERS):
        way = Way(*parts)
        scorer = way.scorer(asked)
        (turn,) = scorer.rendering.request(item).prompt
        assert "Which?" in turn["content"]
        shown = OPTION.findall(turn["content"])
        assert [text for _, text in shown] == [
            item.fields["choices"][place] for place in scorer.rendering.places(3)
        ]
        assert (
            next(mark or text for mark, text in shown if text == "true 1")
            == scorer.rendering.answers(item)[0]
        )
        seen.add(turn["content"])
    assert len(seen) == 6 * 4 * 3 * 3
    drawn = draw_ways(asked, 20, seed=3)
    assert drawn[0] == Way("lines", "none", "letters")
    assert len(set(drawn)) == 20
    assert draw_ways(asked, 20, seed=3) == drawn != draw_ways(asked, 20, seed=4)


def test_labels_are_asked_in_other_orders_and_mean_the_same():
    asked = Prompted(
        Prompt(label_words=("bad", "good")), Knowing({"likelihoods"}), ("negative", "positive")
    )
    scorer = Way("named", "which", "letters", "reversed").scorer(asked)
    (turn,) = scorer.rendering.request(Item("q1", {"text": "Fun.", "text_pair": None})).prompt
    assert turn["content"] == "Text: Fun.\nLabels:\nA. good\nB. bad\nWhich of the labels fits?"
    assert scorer.rendering.label_words == ("bad", "good")
    assert scorer.rendering.request(Item("q", {"text": "x", "text_pair": None})).continuations == (
        "B",
        "A",
    )
    assert scorer.label_names == ("negative", "positive")


def test_scores_are_in_the_own_order_of_the_options_whatever_is_shown():
    class Lengths(Knowing):
        def likelihoods(self, requests, **how):
            rows = [
                [-float(len(text.strip())) for text in request.continuations]
                for request in requests
            ]
            counts = [len(row) for row in rows]
            return Likelihoods(
                Ragged.of(np.concatenate(rows), counts), Ragged.of(np.ones(sum(counts)), counts)
            )

    choices = [["a", "bb", "cccc"], ["dddd", "e"]]
    fingerprints = set()
    for order in ORDERS:
        scorer = Way("lines", "none", "words", order).scorer(
            Prompted(Prompt(), Lengths({"likelihoods"}))
        )
        found = scorer.choose(["p", "q"], choices, labels=[1, 0], progress=False)
        assert [row.tolist() for row in found.logits] == [[-1.0, -2.0, -4.0], [-4.0, -1.0]]
        assert found.labels.tolist() == [1, 0]
        fingerprints.add(scorer.fingerprint)
        words = Prompted(
            Prompt(label_words=("no", "maybe", "yes!!")), Lengths({"likelihoods"}), ("n", "m", "y")
        )
        told = (
            Way("lines", "none", "words", order)
            .scorer(words)
            .predict(["t"], labels=[2], progress=False)
        )
        assert (told.logits.tolist(), told.labels.tolist()) == ([[-2.0, -5.0, -5.0]], [2])
        assert told.label_names == ("n", "m", "y")
    assert len(fingerprints) == 3


def test_verdicts_are_compared_with_that_of_the_own_way(split):
    asked = Prompted(Prompt(style="letters"), Knowing({"likelihoods"}))

    def judge(scorer, scores):
        right = (scores.predicted == scores.labels).mean()
        label = "All right" if right == 1 else "Half right"
        return {"right": (label, ""), "kept": ("Kept", ""), "none": ("", "It needs a confidence.")}

    found = measure_ways(
        asked, split, options=WaysOptions(n_ways=13), resampling=HOW, progress=False, judge=judge
    )
    others = [one.way.separators != "capitals" for one in found.ways[1:]]
    assert 0 < sum(others) < 12
    assert found.ways[0].verdicts == {"right": "All right", "kept": "Kept", "none": ""}
    assert found.same_verdict["right"].value == sum(others) / 12
    assert found.same_verdict["right"].low < sum(others) / 12 < found.same_verdict["right"].high
    assert found.same_verdict["kept"].value == 1.0
    assert "none" not in found.same_verdict
    assert found.no_verdict == {"none": "It needs a confidence."}


@pytest.mark.parametrize("ability", ["text", "likelihoods"])
def test_the_verdicts_of_an_audit_are_those_of_each_way(split, ability, tmp_path):
    asked = Prompted(Prompt(style="letters"), Knowing({ability}))

    def judge(scorer, scores):
        settings = AuditOptions(n_resamples=100)
        context = AuditContext(scorer, "here", split, (), None, tmp_path, settings, progress=False)
        return judge_scores(context, scores, ["calibration", "cues"])

    found = measure_ways(
        asked,
        split,
        options=WaysOptions(n_ways=7, doubt=False),
        resampling=HOW,
        progress=False,
        judge=judge,
    )
    told = {one.way.separators == "capitals": one.verdicts["calibration"] for one in found.ways}
    # Its confidence is 0.88, one in 1 + e^-2; in capitals half of the answers are right, else all 40, which is surely
    # more, if perhaps by less than 5 points. One generated answer has no confidence.
    expected = {True: "Overconfident", False: "Somewhat underconfident"}
    assert told == (expected if ability == "likelihoods" else {True: "", False: ""})


def test_a_way_in_which_nothing_can_be_read_has_no_verdict(split, tmp_path):
    class Mute(Knowing):
        def generate(self, requests, *, options, **how):
            return Answers(
                [
                    [Reply("?" if "QUESTION" in r.prompt[0]["content"] else "ANSWER: A")]
                    for r in requests
                ]
            )

    def judge(scorer, scores):
        context = AuditContext(
            scorer, "here", split, (), None, tmp_path, AuditOptions(n_resamples=100)
        )
        return judge_scores(context, scores, ["cues"])

    asked = Prompted(Prompt(style="letters"), Mute({"text"}))
    found = measure_ways(
        asked, split, options=WaysOptions(n_ways=7), resampling=HOW, progress=False, judge=judge
    )
    assert {one.n_unread for one in found.ways if one.way.separators == "capitals"} == {40}
    assert all((one.verdicts["cues"] == "") == (one.n_unread == 40) for one in found.ways)


class Speaking(Knowing):
    """Answers in the requested form outside of capitals, where it speaks of some items alone."""

    def __init__(self, speaks):
        super().__init__({"text"})
        self.speaks = speaks

    def generate(self, requests, *, options, **how):
        found = []
        for request in requests:
            answers, picked = self.pick(request)
            is_capitals = "QUESTION" in request.prompt[0]["content"]
            is_read = not is_capitals or self.speaks(int(request.name[1:]))
            found.append([Reply(f"ANSWER: {answers[picked]}" if is_read else "Well.")])
        return Answers(found)


def measure_unread(split, speaks, n_ways=13):
    asked = Prompted(Prompt(style="letters", repair="off"), Speaking(speaks))
    options = WaysOptions(n_ways=n_ways, doubt=False)
    return measure_ways(asked, split, options=options, resampling=HOW, progress=False)


@pytest.mark.parametrize(
    ("speaks", "reason"),
    [
        (lambda n: False, "100.0%"),
        (lambda n: n > 4, "12.5%"),
        (lambda n: n not in (1, 3, 5, 7), ""),
    ],
)
def test_unread_answers_make_no_spread(split, speaks, reason):
    found = measure_unread(split, speaks)

    excluded = {one.way.separators: one.excluded for one in found.ways}
    assert excluded["lines"] == ""
    assert excluded["capitals"].startswith(reason)
    if reason:
        # Outside of capitals all answers are correct.
        assert (found.spread.spread, found.spread.n_items) == (0.0, N)
    else:
        assert found.spread.n_items == N - 4


def test_unread_answers_that_depend_on_the_correct_one_exclude_a_way(split):
    # Label 1 - n % 2: of the 20 even items four, a tenth of all, cannot be read. Fisher's exact test
    # gives p = 2 C(20, 4) / C(40, 4) = 0.106, which is no dependence; with the eight of 80 it is.
    table = compute_dependence(np.arange(80) % 20 == 0, np.arange(80) % 2)
    assert table == pytest.approx(2 * math.comb(40, 4) / math.comb(80, 4))
    found = measure_unread(split, lambda n: n not in (0, 2, 4, 6))

    assert {one.excluded for one in found.ways} == {""}


def test_without_two_readable_ways_there_is_no_spread(split):
    asked = Prompted(Prompt(style="letters", repair="off"), Speaking(lambda n: False))
    ways = [Way("lines", "none", "letters"), Way("capitals", "none", "letters")]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("rightreasons.ways.measure.draw_ways", lambda *args, **options: ways)
        found = measure_ways(asked, split, resampling=HOW, progress=False)

    assert (found.spread, found.no_spread) == (None, "the answers of 1 of 2 can be read")
    assert WAYS.answer(found, 0.95).verdict.label == "Inconclusive"


def test_a_first_way_that_cannot_be_read_ends_the_run(split):
    class Mumbling(Knowing):
        def generate(self, requests, *, options, **how):
            self.asked += requests
            return Answers([[Reply("Well.")] for _ in requests])

    engine = Mumbling({"text"})
    asked = Prompted(Prompt(style="letters", repair="off"), engine)

    with pytest.raises(UnreadAnswersError):
        measure_ways(asked, split, resampling=HOW, progress=False)
    assert len(engine.asked) == 20


def test_an_accuracy_that_depends_on_the_way_has_its_spread_and_its_parts(split):
    asked = Prompted(Prompt(style="letters"), Knowing({"likelihoods"}))
    found = measure_ways(
        asked, split, options=WaysOptions(n_ways=30), resampling=HOW, progress=False
    )
    # In capitals the first option shown is right on half of the items, in any other way all are.
    for one in found.ways:
        assert one.accuracy.value == (0.5 if one.way.separators == "capitals" else 1.0)
    assert found.spread.spread == 0.5
    assert found.spread.p_value == 1 / 201
    # The worst way of one half is one in capitals; in which order, half of its mistakes may be in the other half.
    assert 0.3 <= found.spread.held_out.value <= 0.5
    # The likeliest answer has -1 and any other -3: of the pairs of a style and the given order, those of a way in
    # capitals and another differ by 2, on the items of which the first option is false.
    given = [one.way for one in found.ways if one.way.order == "given"]
    by_style = {
        style: [way.separators == "capitals" for way in given if way.style == style]
        for style in STYLES
    }
    pairs = {style: len(own) * (len(own) - 1) for style, own in by_style.items()}
    mixed = {style: 2 * sum(own) * (len(own) - sum(own)) for style, own in by_style.items()}
    assert sum(mixed.values()) > 0
    assert found.posix.value == pytest.approx(0.5 * 2 * sum(mixed.values()) / sum(pairs.values()))


def test_a_model_that_is_always_alike_has_no_spread():
    found = format_spread([[1, 0, 1, 1, 0]] * 6, resampling=HOW)
    assert (found.spread, found.by_chance, found.p_value, found.held_out.value) == (
        0.0,
        0.0,
        1.0,
        0.0,
    )
    assert found.held_out.low < 0 < found.held_out.high


def test_spread_has_uniform_p_values_and_no_held_out_difference_where_ways_change_nothing():
    rng = np.random.default_rng(0)
    found = [
        format_spread(rng.random((8, 60)) < 0.6, resampling=Resampling(resamples=99, seed=n))
        for n in range(200)
    ]
    p_values = np.array([one.p_value for one in found])
    assert abs((p_values <= 0.1).mean() - 0.1) < 0.06  # 0.1 +- 2.8 sqrt(0.09 / 200)
    assert all(one.spread > 0 for one in found)
    held_out = np.array([one.held_out.value for one in found])
    assert abs(held_out.mean()) < 0.02
    assert np.mean([one.held_out.low <= 0 <= one.held_out.high for one in found]) > 0.9


def test_units_are_shuffled_whole():
    # Ten copies of one unit: the ways differ on all or on none.
    right = np.repeat([[1, 0, 1], [0, 1, 1]], 10, axis=1)
    alone, units = (
        format_spread(right, clusters=c, resampling=HOW) for c in (None, np.repeat([0, 1, 2], 10))
    )
    assert alone.by_chance < units.by_chance
    # Of two units that differ, half of the shuffles have the ways equal, and half have them 2/3 apart.
    assert units.by_chance == pytest.approx(1 / 3, abs=0.08)


def test_posix_is_that_of_its_equation():
    # Responses 0, 1, 0: |-2 + 1|, |-1 + 1|; |-3 + 0.5|, |-4 + 0.5|; |-1 + 1|, |-2 + 1|, over six pairs.
    assert prompt_sensitivity([[-1, -3], [-2, -0.5], [-1, -4]]) == pytest.approx(
        (1 + 0 + 2.5 + 3.5 + 0 + 1) / 6
    )


@pytest.mark.parametrize("ability", ["text", "likelihoods"])
def test_a_doubt_is_set_beside_a_neutral_second_request(split, ability):
    engine = Knowing({ability})
    asked = Prompted(Prompt(style="letters"), engine)
    found = measure_ways(
        asked, split, options=WaysOptions(n_ways=2), resampling=HOW, progress=False
    )
    flips = {one.turn: one for one in found.flips}
    # All 40 first answers are right: 30 turn when doubted (n % 4 > 0), 8 when asked again (n % 5 = 0).
    (only,) = found.flips
    assert (only.turn, only.n_items) == ("right to wrong", 40)
    assert (only.doubted.value, only.asked_again.value, only.difference.value) == (
        0.75,
        0.2,
        pytest.approx(0.55),
    )
    assert (found.no_flips, found.n_unread_again, list(flips)) == ("", 0, ["right to wrong"])
    doubted = next(
        r for r in engine.asked if len(r.prompt) == 3 and r.prompt[2]["content"].startswith(DOUBT)
    )
    said = doubted.prompt[1]["content"]
    assert re.fullmatch(r"ANSWER: [AB]" if ability == "text" else "[AB]", said)
    if ability == "text":
        assert (found.posix, found.no_posix) == (None, "generated answers have no likelihood")


def test_without_a_conversation_nothing_is_doubted(split):
    asked = Prompted(Prompt(style="letters"), Knowing({"likelihoods"}, chat=False))
    found = measure_ways(
        asked, split, options=WaysOptions(n_ways=3), resampling=HOW, progress=False
    )
    assert (found.flips, found.no_flips) == (
        (),
        "the model is asked without turns of a conversation",
    )
    left_out = measure_ways(
        asked, split, options=WaysOptions(n_ways=2, doubt=False), resampling=HOW, progress=False
    )
    assert left_out.no_flips == "it is left out"


def test_flips_are_paired():
    # Doubted, the first six of eight turn, asked again the first one: five turn by the doubt alone, none the other
    # way round. McNemar's mid-p: 2 (0.5 · 0.5^5).
    found = compare_flips("right to wrong", np.arange(8) < 6, np.arange(8) < 1)
    assert (found.doubted.value, found.asked_again.value, found.p_value) == (0.75, 0.125, 1 / 32)
    assert compare_flips("right to wrong", np.zeros(0, bool), np.zeros(0, bool)) is None
