"""What attributions are made of: tokens and words, special tokens, truncation, options, resuming, and bad input."""

import copy
import dataclasses
import inspect
import re
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from scipy.special import softmax

from killing import killed_at
from rightreasons.core.errors import SetAsideWarning
from rightreasons.core.tokens import split_words
from rightreasons.models.classes import predict
from rightreasons.models.gradients import attribution
from rightreasons.models.gradients.attribution import integrated_gradients
from rightreasons.models.gradients.options import AttributionOptions
from rightreasons.models.gradients.words import find_word_spans, match_pieces, merge_pieces
from rightreasons.models.items import Items
from rightreasons.shortcuts.detector import find_shortcuts
from tiny_encoders import ARCHITECTURES, TEXTS, refusing, tiny_encoder

TEXTS = list(TEXTS)
QUICK = {"method": "gauss_legendre", "steps": 4, "progress": False}


@pytest.fixture(scope="module")
def bert():
    return tiny_encoder("bert")


@pytest.fixture(scope="module")
def roberta():
    return tiny_encoder("roberta")


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_words_are_those_of_the_statistics(architecture):
    texts = ["the   rain, the sun!", "a\nlovely plot", "NOT great, fine!"]
    # The tiny tokenizers of ALBERT and DeBERTa-v2 make one <unk> of "...".
    if architecture not in ("albert", "deberta_v2"):
        texts.append("It's not a WELL-known film... 2.5")

    attributions = integrated_gradients(tiny_encoder(architecture), texts, unit="word", **QUICK)

    offsets = attributions.scores.offsets
    for row, text in enumerate(texts):
        words = split_words(text)
        assert list(attributions.tokens[row]) == words
        item = slice(offsets[row], offsets[row + 1])
        spans = zip(attributions.starts[item], attributions.ends[item], strict=True)
        assert [text[start:end].lower() for start, end in spans] == words


def test_a_word_takes_the_largest_of_its_pieces(roberta):
    text = "unforgettable plots, untalented"
    largest = []
    for label in (0, 1, 2):
        options = {**QUICK, "reduce": "sum", "label": "gold", "labels": [label]}
        pieces = integrated_gradients(roberta, [text], **options)
        # The pieces of the first word are those that end before its end.
        in_first_word = pieces.ends <= len("unforgettable")
        assert in_first_word.sum() > 1
        scores = pieces.scores[0][in_first_word]
        assert scores.min() < 0 < scores.max()
        largest.append(scores[np.abs(scores).argmax()])

        words = integrated_gradients(roberta, [text], unit="word", **options)

        assert words.tokens[0] == ("unforgettable", "plots", ",", "untalented")
        assert words.scores[0][0] == pytest.approx(largest[-1])
    # The largest in magnitude is positive for some classes and negative for others.
    assert min(largest) < 0 < max(largest)


def test_pieces_of_no_word_belong_to_the_next_and_those_of_two_to_both():
    # The words are: it ' s so.
    spans = find_word_spans("it's  so")
    # The fourth piece covers no character, although it is inside a word, and the last is at the end.
    starts = np.array([0, 2, 4, 7, 6, 8])
    ends = np.array([2, 4, 5, 7, 8, 8])

    pieces, words = match_pieces(spans, starts, ends)

    assert pieces.tolist() == [0, 1, 1, 2, 3, 4, 5]
    assert words.tolist() == [0, 1, 2, 3, 3, 3, 3]

    pieces, words = match_pieces(find_word_spans("  "), np.array([0]), np.array([2]))
    assert (len(pieces), len(words)) == (0, 0)


LANGUAGES = (
    "a 한국어 film",
    "फिल्म  अच्छी",
    "ฉันชอบ 映画はとても",
    "I ❤️ it 👍🏽 👨\u200d👩\u200d👧 🇩🇪🇫🇷 1️⃣!",
    "don't  so\n",
)


@pytest.mark.parametrize("architecture", ["bert", "roberta", "albert"])
def test_no_piece_is_lost_in_any_script(architecture):
    classifier = tiny_encoder(architecture)
    items = Items.of(classifier, LANGUAGES)
    scores = np.random.default_rng(5).normal(size=len(items.token_positions.special))

    words = merge_pieces(items, scores, unit="word", merge="sum")
    largest = merge_pieces(items, scores, unit="word", merge="absmax")
    pieces = merge_pieces(items, scores, unit="wordpiece", merge="sum")

    for row, text in enumerate(LANGUAGES):
        # Each piece counts in the sum of its item, and the largest one names a word.
        assert words.scores[row].sum() == pytest.approx(pieces.scores[row].sum())
        assert np.abs(largest.scores[row]).max() == np.abs(pieces.scores[row]).max()
        assert set(words.tokens[row]) <= set(split_words(text))


def test_a_piece_of_white_space_counts_for_the_next_word():
    classifier = tiny_encoder("albert")
    items = Items.of(classifier, ["a 한국어"])
    ids = items.encoded.columns["input_ids"].tolist()
    pieces = classifier.tokenizer.convert_ids_to_tokens(ids)
    # The tokenizer writes the mark of a word's beginning apart before letters that it does not know.
    position = pieces.index("▁")
    scores = np.zeros(len(pieces))
    scores[position] = -2.0

    words = merge_pieces(items, scores, unit="word", merge="absmax")

    assert words.tokens[0] == ("a", "한국어")
    assert words.scores[0].tolist() == [0.0, -2.0]


def test_emoji_and_letters_of_scripts_without_spaces_are_words():
    emoji = ["❤️", "it", "👍🏽", "👨\u200d👩\u200d👧", "🇩🇪", "🇫🇷", "1️⃣"]
    assert split_words(LANGUAGES[3]) == ["i", *emoji, "!"]

    thai = ["ฉั", "น", "ช", "อ", "บ"]
    assert split_words(LANGUAGES[2]) == [*thai, *"映画はとても"]


def test_special_tokens_are_left_out_though_they_have_a_share(bert):
    attributions = integrated_gradients(
        bert, TEXTS, reduce="sum", method="gauss_legendre", steps=30, progress=False
    )

    for tokens in attributions.tokens:
        assert not {"[CLS]", "[SEP]", "[PAD]"} & set(tokens)
    lengths = [len(tokens) for tokens in attributions.tokens]
    assert lengths == attributions.scores.lengths.tolist()
    # Completeness: all tokens together make up value - baseline_value + gap, so the special ones make up the rest.
    total = attributions.value - attributions.baseline_value + attributions.gap
    token_sum = np.array([scores.sum() for scores in attributions.scores])
    assert (np.abs(total - token_sum) > 0).all()


def test_spans_of_a_pair_count_in_their_own_text(bert):
    texts, text_pairs = ["a good film", "bad"], ["the plot", "not so dull"]

    pieces = integrated_gradients(bert, texts, text_pairs=text_pairs, **QUICK)
    words = integrated_gradients(bert, texts, text_pairs=text_pairs, unit="word", **QUICK)

    assert pieces.tokens[0] == ("a", "good", "film", "the", "plot")
    assert pieces.parts[:5].tolist() == [0, 0, 0, 1, 1]
    assert pieces.starts[:5].tolist() == [0, 2, 7, 0, 4]
    # Each word of these texts is one piece.
    assert words.tokens == pieces.tokens
    np.testing.assert_allclose(words.scores.values, pieces.scores.values)


def test_long_texts_are_cut_and_counted(bert):
    texts = ["good " * 40, "a film"]

    pieces = integrated_gradients(bert, texts, **QUICK)
    words = integrated_gradients(bert, texts, unit="word", **QUICK)

    assert pieces.truncated.tolist() == [True, False]
    assert pieces.n_truncated == 1
    # The model has 32 places; two of them are special.
    assert len(pieces.tokens[0]) == 30
    assert len(words.tokens[0]) == 30


def test_attributions_hold_the_logits_labels_and_predictions(bert):
    gold = [0, 1, 2, 0, 1, -1]

    attributions = integrated_gradients(bert, TEXTS, ids="abcdef", labels=gold, **QUICK)

    logits = predict(bert, TEXTS, progress=False).logits
    np.testing.assert_allclose(attributions.logits, logits, atol=1e-5)
    assert attributions.explained.tolist() == logits.argmax(axis=1).tolist()
    assert attributions.ids == tuple("abcdef")
    assert attributions.labels.tolist() == gold
    probabilities = softmax(logits, axis=1)
    np.testing.assert_allclose(attributions.value, probabilities.max(axis=1), atol=1e-6)


def test_a_sum_is_at_most_the_norm_times_the_root_of_the_dimensions(bert):
    by_sum = integrated_gradients(bert, TEXTS, reduce="sum", **QUICK)
    by_norm = integrated_gradients(bert, TEXTS, reduce="l2", **QUICK)

    # |sum| <= sqrt(d) times the L2 norm, with d = 16.
    bounds = 4 * by_norm.scores.values
    assert (np.abs(by_sum.scores.values) <= bounds + 1e-7).all()
    assert (by_norm.scores.values >= 0).all()


def test_the_gap_closes_with_more_nodes(bert):
    gaps = []
    for steps in (5, 20, 80):
        attributions = integrated_gradients(
            bert,
            TEXTS,
            baseline="pad",
            target="logit",
            method="riemann_right",
            steps=steps,
            progress=False,
        )
        gaps.append(np.abs(attributions.gap).max())

    # The error of the right sum falls with 1/m: by 4 at each step, with room for higher orders.
    assert gaps[0] > 2 * gaps[1] > 4 * gaps[2]


def test_the_model_is_afterwards_as_it_was(bert):
    model = bert.model
    model.train()
    model.get_input_embeddings().weight.requires_grad_(False)
    old_weights = {name: tensor.clone() for name, tensor in model.state_dict().items()}
    random_state = torch.random.get_rng_state()
    try:
        integrated_gradients(bert, TEXTS, **QUICK)

        assert all(module.training for module in model.modules())
        flags = {name: parameter.requires_grad for name, parameter in model.named_parameters()}
        assert not flags.pop("bert.embeddings.word_embeddings.weight")
        assert all(flags.values())
        assert all(parameter.grad is None for parameter in model.parameters())
        for name, tensor in model.state_dict().items():
            assert torch.equal(tensor, old_weights[name])
        assert torch.equal(random_state, torch.random.get_rng_state())
        assert not model.get_input_embeddings()._forward_hooks
    finally:
        model.get_input_embeddings().weight.requires_grad_(True)
        model.eval()


def test_the_size_of_a_pass_changes_nothing(bert):
    small = integrated_gradients(bert, TEXTS, max_tokens=1, steps=20, progress=False)
    large = integrated_gradients(bert, TEXTS, max_tokens=100_000, steps=20, progress=False)
    np.testing.assert_allclose(small.scores.values, large.scores.values, rtol=1e-3, atol=1e-6)
    np.testing.assert_allclose(small.gap, large.gap, atol=1e-5)


def test_a_killed_run_resumes(bert, tmp_path, monkeypatch):
    # 90 texts, ten at a time, are nine batches.
    texts = [f"{word} film" for word in ("good", "bad", "dull") for _ in range(30)]
    monkeypatch.setattr(attribution, "ITEMS_IN_FLIGHT", 10)
    uninterrupted = integrated_gradients(bert, texts, **QUICK)
    integrate = killed_at(attribution.integrate, 4)
    monkeypatch.setattr(attribution, "integrate", integrate)

    with pytest.raises(KeyboardInterrupt):
        integrated_gradients(bert, texts, out=tmp_path / "run", **QUICK)
    assert integrate.calls == 4

    resumed = integrated_gradients(bert, texts, out=tmp_path / "run", **QUICK)
    # Three of the nine batches were done before.
    assert integrate.calls == 4 + 6
    np.testing.assert_array_equal(resumed.scores.values, uninterrupted.scores.values)
    assert resumed.tokens == uninterrupted.tokens

    # A finished run is opened, for other units too.
    integrated_gradients(bert, texts, out=tmp_path / "run", unit="word", **QUICK)
    assert integrate.calls == 10
    with pytest.warns(SetAsideWarning, match="differs in options"):
        integrated_gradients(bert, texts, out=tmp_path / "run", **{**QUICK, "steps": 5})


def test_a_stored_run_with_another_padding_token_is_set_aside(bert, tmp_path):
    options = {"baseline": "pad", "out": tmp_path, **QUICK}
    integrated_gradients(bert, TEXTS, **options)
    tokenizer = copy.deepcopy(bert.tokenizer)
    tokenizer.pad_token = "the"
    classifier = dataclasses.replace(bert, tokenizer=tokenizer)

    with pytest.warns(SetAsideWarning, match="differs in options"):
        integrated_gradients(classifier, TEXTS, **options)


def test_attributions_feed_the_search_for_shortcuts(bert):
    attributions = integrated_gradients(bert, TEXTS, unit="word", **QUICK)

    # As no text has 99 words, "the" is found wherever it stands.
    shortcuts = find_shortcuts(
        attributions.tokens,
        attributions.scores,
        attributions.explained,
        {0: ["the"], 1: ["the"], 2: ["the"]},
        top_n=99,
    )

    assert shortcuts.cued.tolist() == ["the" in split_words(text) for text in TEXTS]


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"target": "score"}, ValueError, "'probability' or 'logit'"),
        ({"label": "gold"}, ValueError, "`labels` with label='gold'"),
        ({"baseline": "noise"}, ValueError, "'auto', 'zeros'"),
        ({"method": "trapezoid"}, ValueError, "Expected `method` to be one of"),
        ({"steps": 3}, ValueError, "Expected `steps` to be at least 5, but got 3."),
        ({"steps": 2.5}, TypeError, "Expected `steps` to be a whole number"),
        ({"tolerance": -1.0}, ValueError, "Expected `tolerance` to be at least 0"),
        ({"unit": "letter"}, ValueError, "Expected `unit`"),
        ({"reduce": "dot"}, ValueError, "Expected `reduce` to be one of 'l2' or 'sum'"),
        ({"labels": [0, 1]}, ValueError, "of one length, but got 6 and 2"),
        ({"labels": [0, 1, 2, 3, 0, 0]}, ValueError, "between -1 and 2, but item 3 is 3"),
        (
            {"labels": [0, 1, 2, -1, 0, 0], "label": "gold"},
            ValueError,
            "between 0 and 2, but item 3 is -1",
        ),
        ({"ids": ["a"] * 6}, ValueError, "each `ids` once"),
        ({"max_length": 500}, ValueError, "`max_length` to"),
        ({"texts": ["good", " "]}, ValueError, "item 1 is empty"),
        ({"texts": "good"}, TypeError, "Expected `texts` to be a sequence of texts"),
        ({"texts": []}, ValueError, "Expected at least one text"),
    ],
)
def test_each_mistake_has_its_sentence(bert, change, error, message):
    arguments = {"texts": TEXTS, "progress": False, **change}
    with pytest.raises(error, match=re.escape(message)):
        integrated_gradients(bert, **arguments)


def test_options_are_keywords_or_one_object(bert):
    options = AttributionOptions(method="gauss_legendre", steps=4, unit="word")

    by_object = integrated_gradients(bert, TEXTS, options=options, progress=False)
    by_keywords = integrated_gradients(bert, TEXTS, unit="word", **QUICK)

    np.testing.assert_array_equal(by_object.scores.values, by_keywords.scores.values)
    assert "word" in by_object.definition
    with pytest.raises(TypeError, match="`options` or keywords"):
        integrated_gradients(bert, TEXTS, options=options, steps=5)
    with pytest.raises(TypeError, match="got 'step'. Did you mean 'steps'"):
        integrated_gradients(bert, TEXTS, step=5)

    # The signature lists the keywords, so that an editor can complete them.
    names = list(inspect.signature(integrated_gradients).parameters)
    assert names[:2] == ["classifier", "texts"]
    assert set(AttributionOptions.list_names()) < set(names)
    assert "options" not in names


def test_models_without_embeddings_or_classes_are_refused(bert, roberta, monkeypatch):
    monkeypatch.setattr(roberta.tokenizer, "_mask_token", None, raising=False)
    monkeypatch.setattr(type(roberta.model), "get_input_embeddings", lambda self: None)
    with pytest.raises(ValueError, match="word embeddings"):
        integrated_gradients(roberta, ["good"], **QUICK)

    chooser = tiny_encoder("bert", n_labels=None)
    with pytest.raises(ValueError, match="This needs gradients, which bert cannot give"):
        integrated_gradients(chooser, ["good"], **QUICK)


def test_a_model_that_gives_nan_is_named():
    classifier = tiny_encoder("bert")
    word_id = classifier.tokenizer.convert_tokens_to_ids("dull")
    with torch.no_grad():
        classifier.model.get_input_embeddings().weight[word_id] = float("nan")

    with pytest.raises(ValueError, match="bert gave NaN"):
        integrated_gradients(classifier, ["good", "dull"], ids=["first", "second"], **QUICK)


def test_a_slow_tokenizer_is_refused(bert):
    tokenizer = SimpleNamespace(is_fast=False, model_max_length=32)
    classifier = dataclasses.replace(bert, tokenizer=tokenizer)
    with pytest.raises(ValueError, match="fast tokenizer"):
        integrated_gradients(classifier, ["good"], **QUICK)


def test_items_that_the_model_cannot_read_are_left_out():
    classifier = tiny_encoder("bert", n_labels=3)
    texts = ["the film was good", "awful plot", " ", "a dull plot", "awful"]
    readable = [texts[0], texts[3]]
    options = {"ids": ["v", "y"], "labels": [2, 1], **QUICK}
    predicted = integrated_gradients(classifier, readable, **options)

    with refusing(classifier, "awful"):
        with pytest.raises(ValueError, match="Expected a model that can read every item"):
            integrated_gradients(classifier, ["awful"], **QUICK)
        attributions = integrated_gradients(
            classifier,
            texts,
            ids=["v", "w", "x", "y", "z"],
            labels=[2, 0, 1, 1, 0],
            label="gold",
            fail_fast=False,
            **QUICK,
        )
        expected = integrated_gradients(classifier, readable, label="gold", **options)

    assert attributions.ids == predicted.ids
    assert attributions.tokens == predicted.tokens
    assert attributions.labels.tolist() == [2, 1]
    assert attributions.explained.tolist() == [2, 1]
    np.testing.assert_allclose(attributions.value, expected.value, atol=1e-6)
    np.testing.assert_allclose(attributions.gap, expected.gap, atol=1e-6)
    np.testing.assert_allclose(attributions.scores.values, expected.scores.values, atol=1e-6)
    assert list(attributions.failures) == ["x", "w", "z"]
    assert attributions.failures["x"] == "Its text has no words."
    assert "fails at item 'z'" in attributions.failures["z"]
