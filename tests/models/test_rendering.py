"""Items are rendered as prompts: by templates, with few-shot examples, and as chats."""

import pytest

from rightreasons.models.prompts import Examples, Item, Rendering
from rightreasons.models.wording import Prompt

REVIEW = Item("r", {"text": "good fun", "text_pair": None}, 1)
QUESTION = Item("q", {"prompt": "Why cook?", "choices": ["To eat.", "To run."]}, 0)
ALL_SCORINGS = ("mean", "sum", "unconditional", "next_words", "generated")


def render(item=REVIEW, *, chat=False, examples=(), scorings=ALL_SCORINGS, **options):
    """Return the rendering of a prompt, and the request about an item."""
    names = ["negative", "positive"] if "text" in item.fields else None
    rendering = Rendering.from_prompt(
        Prompt(**options), chat=chat, scorings=scorings, label_names=names
    )
    return rendering, rendering.request(item, examples)


def test_a_question_is_rendered_as_by_lm_eval():
    rendering, request = render(QUESTION)
    assert request.prompt == "Why cook?"
    assert request.continuations == (" To eat.", " To run.")
    assert rendering.scoring == "mean"
    assert rendering.joint is False

    # White space at the end of the data's prompt belongs to the answer.
    spaced = Item("q", {"prompt": "Why cook? ", "choices": ["To eat."]})
    assert rendering.request(spaced).continuations == ("  To eat.",)


def test_options_may_be_letters_or_numbers():
    rendering, request = render(QUESTION, style="letters")
    assert request.prompt == "Why cook?\nA. To eat.\nB. To run.\nAnswer:"
    assert request.continuations == (" A", " B")
    assert rendering.joint is True
    assert rendering.scoring == "sum"

    _, request = render(REVIEW, style="numbers")
    assert request.prompt == "good fun\n\nWhich label fits?\n1. negative\n2. positive\nAnswer:"
    assert request.continuations == (" 1", " 2")


def test_a_chat_has_turns_and_no_prefix():
    _, request = render(chat=True, system="Be brief.", label_words=("bad", "good"))
    assert request.prompt == (
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "good fun\n\nWhich label fits: bad, good?"},
    )
    assert request.continuations == ("bad", "good")

    _, request = render(chat=True, answer_prefix="It is")
    assert request.prompt[-1] == {"role": "assistant", "content": "It is"}
    assert request.continuations[0] == " negative"


def test_few_shot_examples_precede_the_item():
    example = Item("o", {"text": "dull", "text_pair": None}, 0)
    template = "Review: {{ text }}\nLabel:"

    _, request = render(examples=[example], template=template)
    assert request.prompt == "Review: dull\nLabel: negative\n\nReview: good fun\nLabel:"

    _, request = render(examples=[example], template=template, chat=True)
    assert [turn["content"] for turn in request.prompt] == [
        "Review: dull\nLabel:",
        "negative",
        "Review: good fun\nLabel:",
    ]


def test_the_answer_follows_the_line_break_at_the_end_of_a_template():
    _, request = render(template="{{ text }}\n")

    assert request.prompt == "good fun"
    assert request.continuations[0] == "\nnegative"


def test_a_prompt_for_a_generated_answer_asks_for_the_letter_alone():
    rendering, request = render(QUESTION, scoring="generated")

    assert rendering.style == "letters"
    assert request.prompt.splitlines()[-2:] == ["Answer with the letter alone.", "Answer:"]


def test_a_scoring_that_a_model_does_not_support_is_not_chosen():
    rendering, _ = render(QUESTION, scorings=("next_words", "generated"))

    assert rendering.style == "letters"
    assert rendering.scoring == "next_words"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"template": "{{ txet }}"}, "but got 'txet'. Did you mean 'text'"),
        ({"template": "{{ prompt }}"}, "template for classification"),
        ({"template": "{% if text %}"}, "jinja template"),
        ({"template": "Which?"}, "`template` to"),
        ({"template": "{{ text.__class__.mro() }}"}, "can be filled with item 'r', but it fails"),
        ({"label_words": ("bad",)}, "`label_words` for"),
    ],
)
def test_invalid_templates_are_explained(options, message):
    with pytest.raises(ValueError, match=message):
        render(**options)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"label_words": ("good", "good")}, "distinct words in `label_words`"),
        ({"style": "roman"}, "Expected `style` to be one of"),
        ({"pattern": "x", "scoring": "sum"}, "'generated' where `pattern`"),
        ({"shots": -1}, "shots"),
    ],
)
def test_invalid_options_are_explained(options, message):
    with pytest.raises(ValueError, match=message):
        Prompt(**options)


def test_examples_never_contain_the_item_nor_its_origin():
    items = []
    for n in range(12):
        fields = {"text": f"text {n % 4}", "text_pair": None}
        items.append(Item(str(n), fields, n % 3 - 1))
    examples = Examples(items)
    # Four unlabeled items are excluded.
    assert len(examples.items) == 8

    copied = Item("new", {"text": "text 1", "text_pair": None})
    negated = Item("4/negated", {"text": "x"})
    for seed in range(20):
        drawn_texts = [item.fields["text"] for item in examples.draw(copied, 3, seed=seed)]
        assert "text 1" not in drawn_texts
        drawn_ids = [item.id for item in examples.draw(negated, 7, seed=seed)]
        assert "4" not in drawn_ids
    with pytest.raises(ValueError, match="besides '4/negated'"):
        examples.draw(negated, 8, seed=0)

    # Items have different examples.
    draws = set()
    for name in "abcdefgh":
        selected = examples.draw(Item(name, {"text": name}), 2, seed=3)
        draws.add(tuple(item.id for item in selected))
    assert len(draws) > 1
