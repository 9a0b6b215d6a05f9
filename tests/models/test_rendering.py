"""Items in words: templates, few-shot examples and chats."""

import pytest

from rightreasons.models.prompts import Examples, Item, Rendering
from rightreasons.models.wording import Prompt

REVIEW = Item("r", {"text": "good fun", "text_pair": None}, 1)
QUESTION = Item("q", {"prompt": "Why cook?", "choices": ["To eat.", "To run."]}, 0)
EVERY = ("mean", "sum", "unconditional", "next_words", "generated")


def rendered(item=REVIEW, *, chat=False, examples=(), scorings=EVERY, **options):
    names = ["negative", "positive"] if "text" in item.fields else None
    rendering = Rendering.from_prompt(
        Prompt(**options), chat=chat, scorings=scorings, label_names=names
    )
    return rendering, rendering.request(item, examples)


def test_a_question_is_asked_as_lm_eval_asks_it():
    rendering, request = rendered(QUESTION)
    assert (request.prompt, request.continuations) == ("Why cook?", (" To eat.", " To run."))
    assert (rendering.scoring, rendering.joint) == ("mean", False)
    # White space at the end of what the data asks belongs to the answer.
    spaced = Item("q", {"prompt": "Why cook? ", "choices": ["To eat."]})
    assert rendering.request(spaced).continuations == ("  To eat.",)


def test_letters_and_numbers():
    rendering, request = rendered(QUESTION, style="letters")
    assert request.prompt == "Why cook?\nA. To eat.\nB. To run.\nAnswer:"
    assert (request.continuations, rendering.joint, rendering.scoring) == (
        (" A", " B"),
        True,
        "sum",
    )
    _, request = rendered(REVIEW, style="numbers")
    assert request.prompt == "good fun\n\nWhich label fits?\n1. negative\n2. positive\nAnswer:"
    assert request.continuations == (" 1", " 2")


def test_a_chat_has_turns_and_no_prefix():
    _, request = rendered(chat=True, system="Be brief.", label_words=("bad", "good"))
    assert request.prompt == (
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "good fun\n\nWhich label fits: bad, good?"},
    )
    assert request.continuations == ("bad", "good")
    _, request = rendered(chat=True, answer_prefix="It is")
    assert (request.prompt[-1], request.continuations[0]) == (
        {"role": "assistant", "content": "It is"},
        " negative",
    )


def test_few_shot_examples_stand_before_the_item():
    other = Item("o", {"text": "dull", "text_pair": None}, 0)
    template = "Review: {{ text }}\nLabel:"
    _, request = rendered(examples=[other], template=template)
    assert request.prompt == "Review: dull\nLabel: negative\n\nReview: good fun\nLabel:"
    _, request = rendered(examples=[other], template=template, chat=True)
    assert [turn["content"] for turn in request.prompt] == [
        "Review: dull\nLabel:",
        "negative",
        "Review: good fun\nLabel:",
    ]


def test_a_template_that_ends_in_a_line_break_has_its_answer_behind_it():
    _, request = rendered(template="{{ text }}\n")
    assert (request.prompt, request.continuations[0]) == ("good fun", "\nnegative")


def test_a_generated_answer_is_asked_for_alone():
    rendering, request = rendered(QUESTION, scoring="generated")
    assert (rendering.style, request.prompt.splitlines()[-2:]) == (
        "letters",
        ["Answer with the letter alone.", "Answer:"],
    )


def test_what_a_model_cannot_do_is_not_chosen():
    rendering, _ = rendered(QUESTION, scorings=("next_words", "generated"))
    assert (rendering.style, rendering.scoring) == ("letters", "next_words")


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"template": "{{ txet }}"}, "but got 'txet'. Did you mean 'text'"),
        ({"template": "{{ prompt }}"}, "template for classification"),
        (
            {"template": "{% if text %}"},
            "jinja template",
        ),
        (
            {"template": "Which?"},
            "`template` to",
        ),
        ({"template": "{{ text.__class__.mro() }}"}, "can be filled with item 'r', but it fails"),
        (
            {"label_words": ("bad",)},
            "`label_words` for",
        ),
    ],
)
def test_bad_templates(options, sentence):
    with pytest.raises(ValueError, match=sentence):
        rendered(**options)


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (
            {"label_words": ("good", "good")},
            "distinct words in `label_words`",
        ),
        ({"style": "roman"}, "Expected `style` to be one of"),
        (
            {"pattern": "x", "scoring": "sum"},
            "'generated' where `pattern`",
        ),
        ({"shots": -1}, "shots"),
    ],
)
def test_bad_options(options, sentence):
    with pytest.raises(ValueError, match=sentence):
        Prompt(**options)


def test_examples_never_hold_the_item_nor_its_origin():
    items = [
        Item(str(n), {"text": f"text {n % 4}", "text_pair": None}, n % 3 - 1) for n in range(12)
    ]
    examples = Examples(items)
    assert len(examples.items) == 8  # those without a label are left out
    copy = Item("new", {"text": "text 1", "text_pair": None})
    for seed in range(20):
        assert all(item.fields["text"] != "text 1" for item in examples.draw(copy, 3, seed=seed))
        assert "4" not in {
            item.id for item in examples.draw(Item("4/negated", {"text": "x"}), 7, seed=seed)
        }
    with pytest.raises(ValueError, match="besides '4/negated'"):
        examples.draw(Item("4/negated", {"text": "x"}), 8, seed=0)
    own = {
        tuple(i.id for i in examples.draw(Item(name, {"text": name}), 2, seed=3))
        for name in "abcdefgh"
    }
    assert len(own) > 1
