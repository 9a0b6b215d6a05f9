"""Encoder-decoders and masked language models give the numbers of plain calls, one answer at a time."""

from types import SimpleNamespace

import numpy as np
import pytest
import torch
import transformers

from command_line import run
from rightreasons.audited.opening import is_prompted, load_model
from rightreasons.models import Prompt, Prompted, as_scorer, load_chooser
from rightreasons.models.choices import find_model_kind, load_language_model
from rightreasons.models.classes import choose
from rightreasons.models.gradients.inputs import explain_missing_gradients
from rightreasons.models.language import bidirectional
from rightreasons.models.local import LocalEngine
from rightreasons.models.protocol import Request
from tiny_bidirectional import MAKERS, save_tiny_bidirectional, tiny_t5, words_of
from tiny_models import save_tiny_encoder, tiny_texts

REQUESTS = [
    Request("a", "the film was good", (" good", " very bad and dull", " so")),
    Request("b", "rain", (" sun and rain", " the")),
    Request(
        "c",
        "the man fell because the floor was wet and so",
        (" wet", " broke", " the plot was very bad"),
    ),
    Request("d", "the film was bad", (" bad", " good")),
    Request("e", "", (" film", " very lovely")),
]


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    """Kind of model -> the folder of a tiny one."""
    root = tmp_path_factory.mktemp("readers")
    return {kind: save_tiny_bidirectional(root / kind, kind) for kind in MAKERS}


@pytest.fixture(params=MAKERS)
def scorer(request, folders):
    return load_language_model(folders[request.param], device="cpu")


def score_answer(scorer, request, text):
    """Return the log-likelihood of one answer by a plain call, and for a masked model by one per token."""
    if scorer.model.config.is_encoder_decoder:
        return score_by_decoder(scorer, request.prompt, text)
    return score_masked(scorer, request.prompt, text)


@torch.no_grad()
def score_by_decoder(scorer, prompt, text):
    prompt_ids = scorer.tokenizer(prompt)["input_ids"]
    answer_ids = scorer.tokenizer(text, add_special_tokens=False)["input_ids"]
    output = scorer.model(input_ids=torch.tensor([prompt_ids]), labels=torch.tensor([answer_ids]))
    # The loss is the mean over the tokens.
    return -float(output.loss) * len(answer_ids)


@torch.no_grad()
def score_masked(scorer, prompt, text):
    words = scorer.tokenizer
    ids = words(prompt + text)["input_ids"]
    answer_ids = words(text, add_special_tokens=False)["input_ids"]
    # The end token of the prompt takes the place of the answer.
    start = len(words(prompt)["input_ids"]) - 1
    total = 0.0
    for position, answer_id in enumerate(answer_ids, start):
        assert ids[position] == answer_id
        masked = torch.tensor([ids])
        masked[0, position] = words.mask_token_id
        log_probabilities = scorer.model(masked).logits[0, position].double().log_softmax(-1)
        total += float(log_probabilities[answer_id])
    return total


def test_masked_rows_of_one_length_share_passes_of_a_bounded_number_of_tokens(folders, monkeypatch):
    scorer = load_language_model(folders["bert"], device="cpu")
    shapes = []
    forward = scorer.model.forward

    def record_forward(*args, **kwargs):
        shapes.append(tuple(kwargs["input_ids"].shape))
        return forward(*args, **kwargs)

    monkeypatch.setattr(scorer.model, "forward", record_forward)
    monkeypatch.setattr(bidirectional, "_PASS_TOKENS", 8)
    # Rows of [CLS], one or six words, an answer of one word, and [SEP]: 4 and 9 tokens.
    short = Request("a", "rain", (" good", " bad", " so", " wet"))
    long = Request("b", "the film was good and so", (" good", " bad", " wet"))

    LocalEngine(scorer).likelihoods([short, long], progress=False)

    # Two rows of four tokens are a pass, and so is a row that is longer than the limit.
    assert {(2, 4), (1, 9)} <= set(shapes)
    assert all(n_rows == 1 or n_rows * size <= 8 for n_rows, size in shapes)


def test_likelihoods_are_those_of_one_answer_at_a_time(scorer):
    likelihoods = LocalEngine(scorer).likelihoods(REQUESTS, progress=False)

    for request, values, lengths in zip(
        REQUESTS, likelihoods.values, likelihoods.lengths, strict=True
    ):
        expected = [score_answer(scorer, request, text) for text in request.continuations]
        assert values == pytest.approx(expected, abs=1e-5)
        assert lengths.tolist() == [len(text.split()) for text in request.continuations]
    # Far from uniform.
    assert np.ptp(likelihoods.values.values) > 1
    assert likelihoods.way.startswith("equal lengths")
    is_masked = scorer.model.config.model_type == "bert"
    assert ("each token of an answer masked in turn" in likelihoods.way) == is_masked


@pytest.mark.parametrize("kind", ["t5", "bart"])
def test_likelihoods_are_those_of_the_harness(folders, kind):
    harness = pytest.importorskip(
        "lm_eval.models.huggingface", reason="lm-evaluation-harness is not installed"
    )
    from lm_eval.api.instance import Instance

    scorer = load_language_model(folders[kind], device="cpu")
    harness_model = harness.HFLM(
        pretrained=scorer.model,
        tokenizer=scorer.tokenizer,
        backend="seq2seq",
        batch_size=3,
        device="cpu",
        max_length=scorer.max_length,
    )
    requests = [*REQUESTS, Request("long", "the " * 60 + "film", (" good", " very bad"))]
    instances = []
    for request in requests:
        for text in request.continuations:
            pair = (request.prompt, text)
            instances.append(Instance("loglikelihood", {}, pair, len(instances)))

    likelihoods = LocalEngine(scorer).likelihoods(requests, progress=False)

    results = harness_model.loglikelihood(instances, disable_tqdm=True)
    expected = [value for value, _ in results]
    # Of up to 60 nats, in float32.
    assert likelihoods.values.values == pytest.approx(expected, abs=1e-4)
    assert likelihoods.truncated == 1


def test_the_order_of_the_items_and_the_batches_change_nothing(scorer):
    batched = LocalEngine(scorer).likelihoods(REQUESTS, progress=False)

    reversed_singly = LocalEngine(scorer, max_tokens=1).likelihoods(REQUESTS[::-1], progress=False)

    expected = np.concatenate([*batched.values][::-1])
    assert reversed_singly.values.values == pytest.approx(expected, abs=1e-5)


def test_next_words_are_first_tokens(scorer):
    request = Request("0", "the film was", (" good and dull", " bad"))

    likelihoods = LocalEngine(scorer).next_words([request], progress=False)

    expected = [score_answer(scorer, request, word) for word in (" good", " bad")]
    assert likelihoods.values[0] == pytest.approx(expected, abs=1e-5)


def test_a_stored_run_is_read_again(scorer, tmp_path):
    engine = LocalEngine(scorer)
    out = tmp_path / "a"

    computed = engine.likelihoods(REQUESTS, progress=False, out=out)
    chunk = sorted(out.glob("chunk-*"))[0]
    time = chunk.stat().st_mtime_ns
    stored = engine.likelihoods(REQUESTS, progress=False, out=out)

    assert stored.values.values.tolist() == computed.values.values.tolist()
    assert chunk.stat().st_mtime_ns == time


def test_prompts_that_are_too_long_are_truncated_and_choices_refused(scorer):
    limit = scorer.max_length
    assert limit == {"t5": 50, "bart": 40, "bert": 32}[scorer.model.config.model_type]
    long_prompt = Request("long", "the " * (limit + 5) + "film", (" good", " bad"))
    long_choice = Request("never", "the", (" good" * (limit + 1), " bad"))

    likelihoods = LocalEngine(scorer).likelihoods(
        [*REQUESTS, long_prompt, long_choice], progress=False
    )

    assert likelihoods.truncated == 1
    assert np.isfinite(likelihoods.values[len(REQUESTS)]).all()
    assert list(likelihoods.failures) == ["never"]
    assert f"but item 'never' has a choice of {limit + 1} tokens" in likelihoods.failures["never"]


@torch.no_grad()
def generate_likeliest(scorer, prompt, n_tokens):
    """Return the text of the likeliest tokens, up to the end token 1."""
    prompt_ids = scorer.tokenizer(prompt, return_tensors="pt")["input_ids"]
    start = scorer.model.config.decoder_start_token_id
    tokens = []
    while len(tokens) < n_tokens and 1 not in tokens:
        decoder_ids = torch.tensor([[start, *tokens]])
        logits = scorer.model(input_ids=prompt_ids, decoder_input_ids=decoder_ids).logits
        tokens.append(int(logits[0, -1].argmax()))
    return scorer.tokenizer.decode(tokens, skip_special_tokens=True)


@pytest.mark.parametrize("kind", ["t5", "bart"])
def test_generated_answers_are_those_of_one_at_a_time(folders, kind):
    scorer = load_language_model(folders[kind], device="cpu")
    engine = LocalEngine(scorer)
    requests = REQUESTS[:4]

    answers = engine.generate(requests, max_new_tokens=5, progress=False)
    for request, texts in zip(requests, answers.texts, strict=True):
        assert texts == [generate_likeliest(scorer, request.prompt, 5)]

    # Sampled answers depend neither on the order nor on the other items.
    options = {"n": 2, "temperature": 1.0, "max_new_tokens": 4, "seed": 1, "progress": False}
    samples = engine.generate(requests, **options).texts
    subset = engine.generate([requests[2], requests[1]], **options).texts
    assert subset == [samples[2], samples[1]]


def test_gradients_are_not_an_ability_nor_is_text_that_of_a_masked_model(scorer):
    abilities = {"likelihoods", "next_words", "processes"}
    if scorer.model.config.is_encoder_decoder:
        abilities.add("text")
    engine = LocalEngine(scorer)
    assert engine.abilities == abilities

    prompted = Prompted(Prompt(), engine, ("bad", "good"))
    assert "needs gradients" in explain_missing_gradients(prompted)
    if "text" not in engine.abilities:
        with pytest.raises(ValueError, match="supports .mean, .*, next_words., but got"):
            Prompted(Prompt(scoring="generated"), engine, ("bad", "good"))


@pytest.mark.parametrize(
    ("kind", "expected"),
    [("t5", "encoder-decoder"), ("bart", "encoder-decoder"), ("bert", "masked")],
)
def test_every_entry_point_opens_them(folders, kind, expected):
    folder = folders[kind]
    assert find_model_kind(folder) == expected
    assert is_prompted(folder)

    by_name = load_model(folder, device="cpu")
    chooser = load_chooser(folder, method="sum", device="cpu")
    assert type(by_name) is type(chooser)

    loaded = as_scorer(by_name.engine.model, tokenizer=by_name.engine.tokenizer)
    assert loaded.abilities == by_name.abilities

    prompts = ["the film was", "rain"]
    choices = [["good", "very bad"], ["sun", "rain"]]
    prompted = Prompted(Prompt(template="{{ prompt }}", scoring="sum"), loaded.engine)
    scores = prompted.choose(prompts, choices, progress=False)
    expected_scores = choose(chooser, prompts, choices, progress=False)
    assert scores.logits == pytest.approx(expected_scores.logits, abs=1e-5)
    assert as_scorer(folder, label_names=["bad", "good"]).label_names == ("bad", "good")


def test_a_t5_classifier_is_a_classifier_and_an_encoder_without_a_head_is_refused(tmp_path):
    config = tiny_t5(words_of("t5")).config
    transformers.T5ForSequenceClassification(config).save_pretrained(tmp_path / "classes")
    assert find_model_kind(tmp_path / "classes") == "T5ForSequenceClassification"
    assert not is_prompted(tmp_path / "classes")

    save_tiny_encoder(tmp_path / "encoder")
    with pytest.raises(ValueError, match="head. Fine-tune"):
        load_model(tmp_path / "encoder")


def test_weights_that_are_not_finite_and_a_tokenizer_without_a_mask_are_refused(folders, tmp_path):
    scorer = load_language_model(folders["bert"])
    scorer.tokenizer.mask_token = None
    with pytest.raises(ValueError, match="a mask token"):
        scorer.try_out()

    with torch.no_grad():
        next(scorer.model.parameters()).fill_(np.nan)
    scorer.model.save_pretrained(tmp_path)
    words_of("bert").save_pretrained(tmp_path)
    with pytest.raises(ValueError, match="Expected finite weights"):
        load_language_model(tmp_path)


@pytest.mark.parametrize("kind", ["t5", "bert"])
def test_an_audit_of_a_folder_ends_in_a_report(folders, kind, tmp_path, capsys):
    texts, labels = tiny_texts(40)
    lines = ["text,label"]
    for text, label in zip(texts, labels, strict=True):
        lines.append(f"{text},{('bad', 'good')[label]}")
    table = tmp_path / "data.csv"
    table.write_text("\n".join(lines))
    out = tmp_path / "report"

    finished = run(capsys, "audit", folders[kind], table, "--out", out, "--limit", "20")

    assert finished.code == 0, finished.err
    assert (out / "index.html").is_file()


@pytest.mark.parametrize(
    ("kind", "settings", "auto_class", "layers"),
    [
        ("t5", {"task_type": "SEQ_2_SEQ_LM"}, transformers.AutoModelForSeq2SeqLM, ["q", "v"]),
        # Without a task, an adapter that holds no head is not one of a classifier.
        ("t5", {}, transformers.AutoModelForSeq2SeqLM, ["q", "v"]),
        ("bert", {}, transformers.AutoModelForMaskedLM, ["query", "value"]),
    ],
)
def test_an_adapter_is_opened_on_its_base(kind, settings, auto_class, layers, folders, tmp_path):
    peft = pytest.importorskip("peft")
    base = auto_class.from_pretrained(folders[kind])
    lora = peft.LoraConfig(target_modules=layers, init_lora_weights=False, **settings)
    peft.get_peft_model(base, lora).save_pretrained(tmp_path)

    def compute_likelihoods(folder):
        engine = LocalEngine(load_language_model(folder, device="cpu"))
        return engine.likelihoods(REQUESTS, progress=False).values.values

    assert find_model_kind(tmp_path) == find_model_kind(folders[kind])
    differences = compute_likelihoods(tmp_path) - compute_likelihoods(folders[kind])
    assert np.abs(differences).max() > 1e-3


@pytest.mark.parametrize("kind", ["t5", "bart"])
@pytest.mark.parametrize("method", ["PromptTuningConfig", "PrefixTuningConfig"])
def test_a_tuned_prompt_precedes_what_the_encoder_reads(method, kind, folders, tmp_path):
    peft = pytest.importorskip("peft")
    base = transformers.AutoModelForSeq2SeqLM.from_pretrained(folders[kind])
    config = getattr(peft, method)(task_type="SEQ_2_SEQ_LM", num_virtual_tokens=3)
    with torch.random.fork_rng():
        torch.manual_seed(2)
        adapted = peft.get_peft_model(base, config)
        for weight in adapted.parameters():
            if weight.requires_grad:
                weight.data.normal_(0, 0.5)
    adapted.eval().save_pretrained(tmp_path)

    scorer = load_language_model(tmp_path, device="cpu")

    request = REQUESTS[0]
    reference = SimpleNamespace(tokenizer=scorer.tokenizer, model=adapted)
    expected = [score_answer(reference, request, text) for text in request.continuations]
    wrapped = as_scorer(adapted, tokenizer=scorer.tokenizer)
    for engine in (LocalEngine(scorer), wrapped.engine):
        likelihoods = engine.likelihoods([request], progress=False)
        assert likelihoods.values.values == pytest.approx(expected, abs=1e-5)
