"""Encoder-decoders and masked language models: their numbers are those of plain calls, one answer at a time."""

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
    return {
        kind: save_tiny_bidirectional(tmp_path_factory.mktemp("readers") / kind, kind)
        for kind in MAKERS
    }


@pytest.fixture(params=MAKERS)
def scorer(request, folders):
    return load_language_model(folders[request.param], device="cpu")


def alone(scorer, request, text):
    """The log-likelihood of one answer by one plain call, and for a masked model by one for each of its tokens."""
    words, model = scorer.tokenizer, scorer.model
    answer = words(text, add_special_tokens=False)["input_ids"]
    with torch.no_grad():
        if model.config.is_encoder_decoder:
            prompt = words(request.prompt)["input_ids"]
            loss = model(input_ids=torch.tensor([prompt]), labels=torch.tensor([answer])).loss
            return -float(loss) * len(answer)  # the loss is the mean over the tokens
        total, first = 0.0, len(words(request.prompt)["input_ids"]) - 1
        for place in range(first, first + len(answer)):
            tokens = torch.tensor([words(request.prompt + text)["input_ids"]])
            assert tokens[0, place] == answer[place - first]
            tokens[0, place] = words.mask_token_id
            total += float(
                model(tokens).logits[0, place].double().log_softmax(-1)[answer[place - first]]
            )
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

    # Two rows of four tokens are a pass, and so is a row that is longer than the bound.
    assert {(2, 4), (1, 9)} <= set(shapes)
    assert all(rows == 1 or rows * size <= 8 for rows, size in shapes)


def test_likelihoods_are_those_of_one_answer_at_a_time(scorer):
    told = LocalEngine(scorer).likelihoods(REQUESTS, progress=False)
    for request, row, lengths in zip(REQUESTS, told.values, told.lengths, strict=True):
        assert row == pytest.approx(
            [alone(scorer, request, text) for text in request.continuations], abs=1e-5
        )
        assert lengths.tolist() == [len(text.split()) for text in request.continuations]
    assert np.ptp(told.values.values) > 1  # far from uniform
    assert told.way.startswith("equal lengths")
    assert ("each token of an answer masked in turn" in told.way) == (
        scorer.model.config.model_type == "bert"
    )


@pytest.mark.parametrize("kind", ["t5", "bart"])
def test_likelihoods_are_those_of_the_harness(folders, kind):
    harness = pytest.importorskip(
        "lm_eval.models.huggingface", reason="lm-evaluation-harness is not installed"
    )
    from lm_eval.api.instance import Instance

    scorer = load_language_model(folders[kind], device="cpu")
    how = {"backend": "seq2seq", "batch_size": 3, "device": "cpu", "max_length": scorer.max_length}
    model = harness.HFLM(pretrained=scorer.model, tokenizer=scorer.tokenizer, **how)
    requests = [*REQUESTS, Request("long", "the " * 60 + "film", (" good", " very bad"))]
    pairs = [(request.prompt, text) for request in requests for text in request.continuations]
    asked = [Instance("loglikelihood", {}, pair, place) for place, pair in enumerate(pairs)]
    theirs = [value for value, _ in model.loglikelihood(asked, disable_tqdm=True)]
    ours = LocalEngine(scorer).likelihoods(requests, progress=False)
    assert ours.values.values == pytest.approx(theirs, abs=1e-4)  # of up to 60 nats, in float32
    assert ours.truncated == 1


def test_the_order_of_the_items_and_the_batches_change_nothing(scorer):
    told = LocalEngine(scorer).likelihoods(REQUESTS, progress=False)
    others = LocalEngine(scorer, max_tokens=1).likelihoods(REQUESTS[::-1], progress=False)
    assert others.values.values == pytest.approx(np.concatenate([*told.values][::-1]), abs=1e-5)


def test_next_words_are_first_tokens(scorer):
    request = Request("0", "the film was", (" good and dull", " bad"))
    told = LocalEngine(scorer).next_words([request], progress=False)
    assert told.values[0] == pytest.approx(
        [alone(scorer, request, w) for w in (" good", " bad")], abs=1e-5
    )


def test_a_killed_run_resumes(scorer, tmp_path):
    engine = LocalEngine(scorer)
    first = engine.likelihoods(REQUESTS, progress=False, out=tmp_path / "a")
    chunk = sorted((tmp_path / "a").glob("chunk-*"))[0]
    before = chunk.stat().st_mtime_ns
    again = engine.likelihoods(REQUESTS, progress=False, out=tmp_path / "a")
    assert again.values.values.tolist() == first.values.values.tolist()
    assert chunk.stat().st_mtime_ns == before


def test_what_an_item_has_too_many_tokens_for_is_cut_or_refused(scorer):
    bound = scorer.max_length
    assert bound == {"t5": 50, "bart": 40, "bert": 32}[scorer.model.config.model_type]
    long = Request("long", "the " * (bound + 5) + "film", (" good", " bad"))
    never = Request("never", "the", (" good" * (bound + 1), " bad"))
    told = LocalEngine(scorer).likelihoods([*REQUESTS, long, never], progress=False)
    assert told.truncated == 1
    assert np.isfinite(told.values[len(REQUESTS)]).all()
    assert list(told.failures) == ["never"]
    assert f"but item 'never' has a choice of {bound + 1} tokens" in told.failures["never"]


@pytest.mark.parametrize("kind", ["t5", "bart"])
def test_generated_answers_are_those_of_one_at_a_time(folders, kind):
    scorer = load_language_model(folders[kind], device="cpu")
    engine = LocalEngine(scorer)
    together = engine.generate(REQUESTS[:4], max_new_tokens=5, progress=False)
    for request, texts in zip(REQUESTS, together.texts, strict=False):
        prompt, tokens = scorer.tokenizer(request.prompt, return_tensors="pt")["input_ids"], []
        start = scorer.model.config.decoder_start_token_id
        while (
            len(tokens) < 5 and 1 not in tokens
        ):  # the likeliest token, by hand, up to the end token
            with torch.no_grad():
                logits = scorer.model(
                    input_ids=prompt, decoder_input_ids=torch.tensor([[start, *tokens]])
                ).logits
            tokens.append(int(logits[0, -1].argmax()))
        assert texts == [scorer.tokenizer.decode(tokens, skip_special_tokens=True)]
    drawn = engine.generate(
        REQUESTS[:4], n=2, temperature=1.0, max_new_tokens=4, seed=1, progress=False
    ).texts
    again = engine.generate(
        REQUESTS[2:0:-1], n=2, temperature=1.0, max_new_tokens=4, seed=1, progress=False
    ).texts
    assert again == [drawn[2], drawn[1]]


def test_abilities_claim_no_gradients_and_of_a_masked_model_no_text(scorer):
    able = {"likelihoods", "next_words", "processes"}
    engine = LocalEngine(scorer)
    assert engine.abilities == (able | {"text"} if scorer.model.config.is_encoder_decoder else able)
    prompted = Prompted(Prompt(), engine, ("bad", "good"))
    assert "needs gradients" in explain_missing_gradients(prompted)
    if "text" not in engine.abilities:
        with pytest.raises(ValueError, match="supports .mean, .*, next_words., but got"):
            Prompted(Prompt(scoring="generated"), engine, ("bad", "good"))


@pytest.mark.parametrize(
    ("kind", "told"), [("t5", "encoder-decoder"), ("bart", "encoder-decoder"), ("bert", "masked")]
)
def test_every_door_opens_them(folders, kind, told):
    folder = folders[kind]
    assert find_model_kind(folder) == told
    assert is_prompted(folder)
    named, loaded = (
        load_model(folder, device="cpu"),
        load_chooser(folder, method="sum", device="cpu"),
    )
    assert type(named) is type(loaded)
    want = choose(
        loaded, ["the film was", "rain"], [["good", "very bad"], ["sun", "rain"]], progress=False
    )
    model = as_scorer(named.engine.model, tokenizer=named.engine.tokenizer)
    assert model.abilities == named.abilities
    asked = Prompted(Prompt(template="{{ prompt }}", scoring="sum"), model.engine)
    scores = asked.choose(
        ["the film was", "rain"], [["good", "very bad"], ["sun", "rain"]], progress=False
    )
    assert scores.logits == pytest.approx(want.logits, abs=1e-5)
    assert as_scorer(folder, label_names=["bad", "good"]).label_names == ("bad", "good")


def test_a_classifier_stays_one_and_an_encoder_without_a_head_is_refused(tmp_path):
    words = words_of("t5")
    tiny = tiny_t5(words).config
    transformers.T5ForSequenceClassification(tiny).save_pretrained(tmp_path / "classes")
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
    table = tmp_path / "data.csv"
    rows = [f"{text},{('bad', 'good')[label]}" for text, label in zip(texts, labels, strict=True)]
    table.write_text("\n".join(["text,label", *rows]))
    done = run(capsys, "audit", folders[kind], table, "--out", tmp_path / "report", "--limit", "20")
    assert done.code == 0, done.err
    assert (tmp_path / "report" / "index.html").is_file()


@pytest.mark.parametrize(
    ("kind", "says", "auto", "layers"),
    [
        ("t5", {"task_type": "SEQ_2_SEQ_LM"}, transformers.AutoModelForSeq2SeqLM, ["q", "v"]),
        (
            "t5",
            {},
            transformers.AutoModelForSeq2SeqLM,
            ["q", "v"],
        ),  # it holds no head, so it made no classifier
        ("bert", {}, transformers.AutoModelForMaskedLM, ["query", "value"]),
    ],
)
def test_an_adapter_is_opened_on_its_base(kind, says, auto, layers, folders, tmp_path):
    peft = pytest.importorskip("peft")
    base = auto.from_pretrained(folders[kind])
    settings = peft.LoraConfig(target_modules=layers, init_lora_weights=False, **says)
    peft.get_peft_model(base, settings).save_pretrained(tmp_path)
    assert find_model_kind(tmp_path) == find_model_kind(folders[kind])
    told = [
        LocalEngine(load_language_model(folder, device="cpu"))
        .likelihoods(REQUESTS, progress=False)
        .values.values
        for folder in (tmp_path, folders[kind])
    ]
    assert np.abs(told[0] - told[1]).max() > 1e-3


@pytest.mark.parametrize("kind", ["t5", "bart"])
@pytest.mark.parametrize("method", ["PromptTuningConfig", "PrefixTuningConfig"])
def test_a_tuned_prompt_stands_before_what_the_encoder_reads(method, kind, folders, tmp_path):
    peft = pytest.importorskip("peft")
    base = transformers.AutoModelForSeq2SeqLM.from_pretrained(folders[kind])
    with torch.random.fork_rng():
        torch.manual_seed(2)
        adapted = peft.get_peft_model(
            base, getattr(peft, method)(task_type="SEQ_2_SEQ_LM", num_virtual_tokens=3)
        )
        for weight in adapted.parameters():
            if weight.requires_grad:
                weight.data.normal_(0, 0.5)
    adapted.eval().save_pretrained(tmp_path)
    opened = load_language_model(tmp_path, device="cpu")
    whole, (request, *_) = SimpleNamespace(tokenizer=opened.tokenizer, model=adapted), REQUESTS
    want = [alone(whole, request, text) for text in request.continuations]
    for engine in (LocalEngine(opened), as_scorer(adapted, tokenizer=opened.tokenizer).engine):
        assert engine.likelihoods([request], progress=False).values.values == pytest.approx(
            want, abs=1e-5
        )
