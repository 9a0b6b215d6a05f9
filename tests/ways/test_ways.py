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

RESAMPLING = Resampling(resamples=200)
N_ITEMS = 40
OPTION = re.compile(r"(?m)^(?:Options:: |<options>)?(?:([A-Z]|\d)\.|-) (true \d+|false \d+)$")


class KnowingEngine:
    """Knows which option is true, but answers the first displayed one if a question is in capitals.

    Doubted, it takes its answer back, but for every fourth item; asked again, for every fifth item only.
    """

    name, fingerprint, thinks, budget = "knowing", "knowing", False, 32

    def __init__(self, abilities, has_template=True):
        self.abilities = frozenset(abilities)
        self.has_template = has_template
        self.requests = []

    def render(self, prompt):
        return str(prompt)

    def choose(self, request):
        """Return the answers that name the displayed options, and the position of the chosen one."""
        self.requests.append(request)
        turns = request.prompt
        question = turns if isinstance(turns, str) else turns[0]["content"]
        options = OPTION.findall(question)
        answers = [mark or text for mark, text in options]
        is_true = [text.startswith("true") for _, text in options]
        position = 0 if is_in_capitals(question) else is_true.index(True)
        if isinstance(turns, str) or not turns[-1]["content"].endswith(AGAIN + get_form(question)):
            return answers, position

        previous = [turns[1]["content"].endswith(answer) for answer in answers].index(True)
        number = int(request.name[1:])
        changes = number % 5 == 0
        if turns[-1]["content"].startswith(DOUBT):
            changes = number % 4 != 0
        return answers, (previous + changes) % len(options)

    def generate(self, requests, *, options, **keeping):
        replies = []
        for request in requests:
            answers, position = self.choose(request)
            replies.append([Reply(f"ANSWER: {answers[position]}")] * options.n)
        return Answers(replies)

    def likelihoods(self, requests, **keeping):
        rows = []
        for request in requests:
            answers, position = self.choose(request)
            is_chosen = [text.strip() == answers[position] for text in request.continuations]
            rows.append(np.where(is_chosen, -1.0, -3.0))
        return make_likelihoods(rows)


def is_in_capitals(question):
    return "QUESTION" in question


def get_form(question):
    """Return the line that says in which form to answer; "" without one."""
    form = re.search(r"\nAnswer with .*", question)
    return form[0] if form else ""


def make_likelihoods(rows):
    counts = [len(row) for row in rows]
    values = Ragged.of(np.concatenate(rows), counts)
    return Likelihoods(values, Ragged.of(np.ones(sum(counts)), counts))


def make_model(engine, **wording):
    return Prompted(Prompt(style="letters", **wording), engine)


def judge_nothing(scorer, scores):
    return {}


def measure(model, split, *, judge=judge_nothing, **options):
    """Measure the ways to ask a model about all items."""
    ways_options = WaysOptions(**options)
    return measure_ways(
        model, split, options=ways_options, resampling=RESAMPLING, progress=False, judge=judge
    )


def find_in_capitals(measurement):
    """Return the results of the ways in capitals, and those of the others."""
    in_capitals = []
    others = []
    for result in measurement.ways:
        group = in_capitals if result.way.separators == "capitals" else others
        group.append(result)
    return in_capitals, others


@pytest.fixture(scope="module")
def split():
    """Forty items whose true option comes first in those with odd numbers."""
    rows = []
    for number in range(N_ITEMS):
        choices = [f"true {number}", f"false {number}"]
        is_odd = number % 2
        rows.append(
            {
                "id": f"q{number}",
                "prompt": f"Which is it, {number}?",
                "choices": choices if is_odd else choices[::-1],
                "label": 1 - is_odd,
            }
        )
    tables = {"test": datasets.Dataset.from_list(rows)}
    return take_splits(tables, {"test": "primary"}, AuditOptions(), None, "here")[0]


def test_every_way_asks_the_same_item_with_all_its_options():
    model = make_model(KnowingEngine({"likelihoods"}))
    item = Item("q1", {"prompt": "Which?", "choices": ["true 1", "false 1", "false 2"]}, 0)
    questions = set()
    for parts in itertools.product(SEPARATORS, INSTRUCTIONS, STYLES, ORDERS):
        rendering = Way(*parts).scorer(model).rendering

        (turn,) = rendering.request(item).prompt

        question = turn["content"]
        options = OPTION.findall(question)
        texts = [text for _, text in options]
        assert "Which?" in question
        assert texts == [
            item.fields["choices"][place] for place in rendering.get_displayed_order(3)
        ]
        mark, text = options[texts.index("true 1")]
        assert rendering.answers(item)[0] == (mark or text)
        questions.add(question)
    assert len(questions) == 6 * 4 * 3 * 3


def test_ways_are_drawn_once_each_by_the_seed_after_the_usual_one():
    model = make_model(KnowingEngine({"likelihoods"}))

    ways = draw_ways(model, 20, seed=3)

    assert ways[0] == Way("lines", "none", "letters")
    assert len(set(ways)) == 20
    assert draw_ways(model, 20, seed=3) == ways
    assert draw_ways(model, 20, seed=4) != ways


def test_labels_are_asked_in_other_orders_and_mean_the_same():
    prompt = Prompt(label_words=("bad", "good"))
    model = Prompted(prompt, KnowingEngine({"likelihoods"}), ("negative", "positive"))

    scorer = Way("named", "which", "letters", "reversed").scorer(model)

    request = scorer.rendering.request(Item("q1", {"text": "Fun.", "text_pair": None}))
    (turn,) = request.prompt
    assert turn["content"] == "Text: Fun.\nLabels:\nA. good\nB. bad\nWhich of the labels fits?"
    # "bad" is the first label, and the second option.
    assert request.continuations == ("B", "A")
    assert scorer.rendering.label_words == ("bad", "good")
    assert scorer.label_names == ("negative", "positive")


class LengthEngine(KnowingEngine):
    """The longer an answer is, the less likely it is."""

    def likelihoods(self, requests, **keeping):
        rows = []
        for request in requests:
            rows.append([-float(len(text.strip())) for text in request.continuations])
        return make_likelihoods(rows)


@pytest.mark.parametrize("order", ORDERS)
def test_scores_are_in_the_order_of_the_data_whatever_is_displayed(order):
    way = Way("lines", "none", "words", order)
    engine = LengthEngine({"likelihoods"})

    choices = [["a", "bb", "cccc"], ["dddd", "e"]]
    chooser = way.scorer(Prompted(Prompt(), engine))
    scores = chooser.choose(["p", "q"], choices, labels=[1, 0], progress=False)
    assert [row.tolist() for row in scores.logits] == [[-1.0, -2.0, -4.0], [-4.0, -1.0]]
    assert scores.labels.tolist() == [1, 0]

    prompt = Prompt(label_words=("no", "maybe", "yes!!"))
    classifier = way.scorer(Prompted(prompt, engine, ("n", "m", "y")))
    scores = classifier.predict(["t"], labels=[2], progress=False)
    assert scores.logits.tolist() == [[-2.0, -5.0, -5.0]]
    assert (scores.labels.tolist(), scores.label_names) == ([2], ("n", "m", "y"))


def test_stored_answers_to_another_order_are_not_taken():
    model = Prompted(Prompt(), LengthEngine({"likelihoods"}))

    ways = [Way("lines", "none", "words", order) for order in ORDERS]

    assert len({way.scorer(model).fingerprint for way in ways}) == 3


def test_verdicts_are_compared_with_that_of_the_usual_way(split):
    model = make_model(KnowingEngine({"likelihoods"}))

    def judge(scorer, scores):
        is_perfect = (scores.predicted == scores.labels).all()
        label = "All correct" if is_perfect else "Half correct"
        return {
            "share": (label, ""),
            "equal": ("Equal", ""),
            "none": ("", "It needs a confidence."),
        }

    result = measure(model, split, judge=judge, n_ways=13)

    # The first way is the usual one. Those in capitals have another verdict.
    n_in_capitals = len(find_in_capitals(result)[0])
    assert 0 < n_in_capitals < 12
    assert result.ways[0].verdicts == {"share": "All correct", "equal": "Equal", "none": ""}
    same_verdict = result.same_verdict["share"]
    assert same_verdict.value == (12 - n_in_capitals) / 12
    assert same_verdict.low < same_verdict.value < same_verdict.high
    assert result.same_verdict["equal"].value == 1.0
    assert "none" not in result.same_verdict
    assert result.no_verdict == {"none": "It needs a confidence."}


def make_judge(split, folder, questions):
    """Return a function that gives the verdicts of an audit on scores."""
    settings = AuditOptions(n_resamples=100)

    def judge(scorer, scores):
        context = AuditContext(scorer, "here", split, (), None, folder, settings, progress=False)
        return judge_scores(context, scores, questions)

    return judge


@pytest.mark.parametrize(
    ("ability", "verdicts"),
    [
        # The confidence is 1 / (1 + e^-2) = 0.88. In capitals half of the answers are correct, else
        # all 40, which is significantly more, if perhaps by less than 5 points.
        ("likelihoods", ("Overconfident", "Underconfident, perhaps by 5 points or more")),
        # One generated answer has no confidence.
        ("text", ("", "")),
    ],
    ids=["likelihoods", "text"],
)
def test_the_verdicts_of_an_audit_are_those_of_each_way(split, ability, verdicts, tmp_path):
    model = make_model(KnowingEngine({ability}))
    judge = make_judge(split, tmp_path, ["calibration", "cues"])

    result = measure(model, split, judge=judge, n_ways=7, doubt=False)

    for group, verdict in zip(find_in_capitals(result), verdicts, strict=True):
        assert {way.verdicts["calibration"] for way in group} == {verdict}


class MuteEngine(KnowingEngine):
    """Says nothing that can be read to a question in capitals."""

    def generate(self, requests, *, options, **keeping):
        replies = []
        for request in requests:
            is_mute = is_in_capitals(request.prompt[0]["content"])
            replies.append([Reply("?" if is_mute else "ANSWER: A")])
        return Answers(replies)


def test_a_way_in_which_nothing_can_be_read_has_no_verdict(split, tmp_path):
    model = make_model(MuteEngine({"text"}))

    result = measure(model, split, judge=make_judge(split, tmp_path, ["cues"]), n_ways=7)

    in_capitals, _ = find_in_capitals(result)
    assert {way.n_unread for way in in_capitals} == {N_ITEMS}
    # Nor can a letter be read where options have none.
    for way in result.ways:
        assert (way.verdicts["cues"] == "") == (way.n_unread == N_ITEMS)


class SpeakingEngine(KnowingEngine):
    """Answers in the requested form, but in capitals to some items only.

    Args:
        answers: Function of the number of an item: whether it has an answer in capitals.
    """

    def __init__(self, answers):
        super().__init__({"text"})
        self.answers = answers

    def generate(self, requests, *, options, **keeping):
        replies = []
        for request in requests:
            answers, position = self.choose(request)
            reply = f"ANSWER: {answers[position]}"
            is_answered = self.answers(int(request.name[1:]))
            if is_in_capitals(request.prompt[0]["content"]) and not is_answered:
                reply = "Well."
            replies.append([Reply(reply)])
        return Answers(replies)


def measure_unread(split, answers):
    model = make_model(SpeakingEngine(answers), repair="off")
    return measure(model, split, n_ways=13, doubt=False)


@pytest.mark.parametrize(
    ("answers", "reason"), [(lambda number: False, "100.0%"), (lambda number: number > 4, "12.5%")]
)
def test_a_way_with_many_unread_answers_makes_no_spread(split, answers, reason):
    result = measure_unread(split, answers)

    in_capitals, others = find_in_capitals(result)
    assert all(way.excluded.startswith(reason) for way in in_capitals)
    assert {way.excluded for way in others} == {""}
    # Outside of capitals all answers are correct.
    assert (result.spread.spread, result.spread.n_items) == (0.0, N_ITEMS)


def test_items_with_few_unread_answers_are_left_out_of_all_ways(split):
    result = measure_unread(split, lambda number: number not in (1, 3, 5, 7))

    assert {way.excluded for way in result.ways} == {""}
    assert result.spread.n_items == N_ITEMS - 4


def test_unread_answers_that_depend_on_the_correct_one_exclude_a_way(split):
    # Label 1 - n % 2: of the 20 even items four, a tenth of all, cannot be read. Fisher's exact test
    # gives p = 2 C(20, 4) / C(40, 4) = 0.106, which is no dependence.
    result = measure_unread(split, lambda number: number not in (0, 2, 4, 6))

    assert {way.excluded for way in result.ways} == {""}


def test_the_dependence_on_the_label_is_fishers_exact_test():
    # All four unread of 80 answers are to even items, of which there are 40.
    p_value = compute_dependence(np.arange(80) % 20 == 0, np.arange(80) % 2)

    assert p_value == pytest.approx(2 * math.comb(40, 4) / math.comb(80, 4))


def test_without_two_readable_ways_there_is_no_spread(split, monkeypatch):
    ways = [Way("lines", "none", "letters"), Way("capitals", "none", "letters")]
    monkeypatch.setattr("rightreasons.ways.measure.draw_ways", lambda *_, **__: ways)
    model = make_model(SpeakingEngine(lambda number: False), repair="off")

    result = measure(model, split)

    assert (result.spread, result.no_spread) == (None, "the answers of 1 of 2 can be read")
    assert WAYS.answer(result, 0.95).verdict.label == "Inconclusive"


class MumblingEngine(KnowingEngine):
    """Says nothing that can be read."""

    def generate(self, requests, *, options, **keeping):
        self.requests += requests
        return Answers([[Reply("Well.")] for _ in requests])


def test_a_first_way_that_cannot_be_read_ends_the_run(split):
    engine = MumblingEngine({"text"})

    with pytest.raises(UnreadAnswersError):
        measure(make_model(engine, repair="off"), split)

    assert len(engine.requests) == 20


@pytest.fixture(scope="module")
def thirty_ways(split):
    """Thirty ways of a model that answers half of the items correctly in capitals, and all in any other way."""
    return measure(make_model(KnowingEngine({"likelihoods"})), split, n_ways=30)


def test_an_accuracy_that_depends_on_the_way_has_a_spread(thirty_ways):
    in_capitals, others = find_in_capitals(thirty_ways)

    assert {way.accuracy.value for way in in_capitals} == {0.5}
    assert {way.accuracy.value for way in others} == {1.0}
    assert thirty_ways.spread.spread == 0.5
    # No shuffle of 200 reaches it.
    assert thirty_ways.spread.p_value == 1 / 201
    # The worst way of one half is in capitals; by its order, half of its mistakes may be in the other half.
    assert 0.3 <= thirty_ways.spread.held_out.value <= 0.5


def test_likelihoods_of_answers_differ_between_ways_of_one_style(thirty_ways):
    # The likeliest answer has -1 and the other -3: of the pairs of ways in one style and the given
    # order, those in capitals and not differ by 2, on the half of the items whose first option is false.
    n_pairs = 0
    n_different = 0
    for style in STYLES:
        is_capital = []
        for result in thirty_ways.ways:
            if (result.way.style, result.way.order) == (style, "given"):
                is_capital.append(result.way.separators == "capitals")
        n_pairs += len(is_capital) * (len(is_capital) - 1)
        n_different += 2 * sum(is_capital) * (len(is_capital) - sum(is_capital))

    assert n_different > 0
    assert thirty_ways.posix.value == pytest.approx(0.5 * 2 * n_different / n_pairs)


def test_equal_answers_in_all_ways_have_no_spread():
    spread = format_spread([[1, 0, 1, 1, 0]] * 6, resampling=RESAMPLING)

    assert (spread.spread, spread.by_chance, spread.p_value) == (0.0, 0.0, 1.0)
    assert spread.held_out.value == 0.0
    assert spread.held_out.low < 0 < spread.held_out.high


def test_spread_has_uniform_p_values_and_no_held_out_difference_if_ways_change_nothing():
    rng = np.random.default_rng(0)
    spreads = []
    for seed in range(200):
        is_correct = rng.random((8, 60)) < 0.6
        resampling = Resampling(resamples=99, seed=seed)
        spreads.append(format_spread(is_correct, resampling=resampling))

    # 0.1 +- 2.8 sqrt(0.09 / 200).
    p_values = np.array([spread.p_value for spread in spreads])
    assert abs((p_values <= 0.1).mean() - 0.1) < 0.06
    assert all(spread.spread > 0 for spread in spreads)
    held_out = np.array([spread.held_out.value for spread in spreads])
    assert abs(held_out.mean()) < 0.02
    covers_zero = [spread.held_out.low <= 0 <= spread.held_out.high for spread in spreads]
    assert np.mean(covers_zero) > 0.9


def test_units_are_shuffled_whole():
    # Ten copies of one unit: the ways differ on all or on none.
    is_correct = np.repeat([[1, 0, 1], [0, 1, 1]], 10, axis=1)
    clusters = np.repeat([0, 1, 2], 10)

    by_item = format_spread(is_correct, resampling=RESAMPLING)
    by_unit = format_spread(is_correct, clusters=clusters, resampling=RESAMPLING)

    assert by_item.by_chance < by_unit.by_chance
    # Of two units that differ, half of the shuffles have the ways equal, and half have them 2/3 apart.
    assert by_unit.by_chance == pytest.approx(1 / 3, abs=0.08)


def test_posix_is_that_of_its_equation():
    # Responses 0, 1, 0: |-2 + 1|, |-1 + 1|; |-3 + 0.5|, |-4 + 0.5|; |-1 + 1|, |-2 + 1|, over six pairs.
    sensitivity = prompt_sensitivity([[-1, -3], [-2, -0.5], [-1, -4]])

    assert sensitivity == pytest.approx((1 + 0 + 2.5 + 3.5 + 0 + 1) / 6)


@pytest.mark.parametrize(("ability", "answer"), [("text", "ANSWER: [AB]"), ("likelihoods", "[AB]")])
def test_a_doubt_is_compared_with_a_neutral_second_request(split, ability, answer):
    engine = KnowingEngine({ability})

    result = measure(make_model(engine), split, n_ways=2)

    # All 40 first answers are correct: 30 change if doubted (n % 4 > 0), 8 if asked again (n % 5 = 0).
    (flips,) = result.flips
    assert (flips.turn, flips.n_items) == ("right to wrong", N_ITEMS)
    assert (flips.doubted.value, flips.asked_again.value) == (0.75, 0.2)
    assert flips.difference.value == pytest.approx(0.55)
    assert (result.no_flips, result.n_unread_again) == ("", 0)
    conversations = [request.prompt for request in engine.requests if len(request.prompt) == 3]
    doubted = [turns for turns in conversations if turns[2]["content"].startswith(DOUBT)]
    assert re.fullmatch(answer, doubted[0][1]["content"])


@pytest.mark.parametrize(("ability", "confidence"), [("likelihoods", True), ("text", False)])
def test_a_correct_answer_that_only_the_doubt_changes_is_shown(split, ability, confidence):
    result = measure(make_model(KnowingEngine({ability})), split, n_ways=2)

    section = WAYS.answer(result)

    (example,) = section.finding.pair
    assert section.finding.item_figure == "given_up"
    (figure,) = [figure for figure in section.by_item if figure.key == "given_up"]
    values = dict(zip(figure.ids, figure.values, strict=True))
    # 30 answers change if doubted (n % 4 > 0), 6 of which also change if asked again (n % 5 = 0),
    # and 2 change only then (0 and 20).
    assert sorted(values.values()) == [-1] * 2 + [0] * 14 + [1] * 24
    assert values[example.id] == 1
    assert example.conditions == ("First answer", "After “Are you sure?”")
    true, false = sorted(example.choices, key=lambda choice: not choice.is_correct)
    assert [answer.is_picked for answer in true.answers] == [True, False]
    assert [answer.is_picked for answer in false.answers] == [False, True]
    assert (example.confidence is not None) is confidence
    assert (true.answers[0].confidence is not None) is confidence


def test_an_item_is_shown_in_the_best_and_in_the_worst_format(split):
    result = measure(make_model(KnowingEngine({"likelihoods"})), split, n_ways=13)

    section = WAYS.answer(result)

    assert section.verdict.label == "Depends on the prompt format"
    (example,) = section.finding.pair
    (figure,) = [figure for figure in section.by_item if figure.key == "lost_by_format"]
    values = dict(zip(figure.ids, figure.values, strict=True))
    # In the worst format, the first displayed option is picked, which is the true one in half.
    assert sorted(values.values()) == [0] * 20 + [1] * 20
    assert section.finding.item_figure == figure.key
    assert values[example.id] == 1
    assert example.conditions == ("Best format", "Worst format")
    assert example.prediction == example.label


def test_generated_answers_have_no_sensitivity(split):
    result = measure(make_model(KnowingEngine({"text"})), split, n_ways=2, doubt=False)

    assert (result.posix, result.no_posix) == (None, "generated answers have no likelihood")


def test_without_a_conversation_nothing_is_doubted(split):
    model = make_model(KnowingEngine({"likelihoods"}, has_template=False))

    result = measure(model, split, n_ways=3)

    assert result.flips == ()
    assert "plain prompts, not conversations" in result.no_flips


def test_a_doubt_can_be_left_out(split):
    result = measure(make_model(KnowingEngine({"likelihoods"})), split, n_ways=2, doubt=False)

    assert result.no_flips == "it is left out"


def test_flips_are_paired():
    # Doubted, the first six of eight change, asked again the first one: five change by the doubt
    # alone, none the other way round. McNemar's mid-p: 2 (0.5 * 0.5^5).
    flips = compare_flips("right to wrong", np.arange(8) < 6, np.arange(8) < 1)

    assert (flips.doubted.value, flips.asked_again.value, flips.p_value) == (0.75, 0.125, 1 / 32)


def test_without_items_there_are_no_flips():
    nothing = np.zeros(0, bool)

    assert compare_flips("right to wrong", nothing, nothing) is None
