"""Mistakes in reasoning and rewordings: which replies count as an edit."""

from types import SimpleNamespace

from rightreasons.reasons.edits import ReasoningEditor
from rightreasons.reasons.hints import find_sentences

TEXT = "Soup is warm. A pot holds it! Is that so? It is the pot."
EIGHT_WORDS = "A pot keeps the soup warm, I suppose."


def make_editor(replies, seed=3):
    """Return an editor whose model gives these replies, and the calls of that model."""
    calls = []

    def ask(kind, names, prompts, *, max_new_tokens):
        calls.append((kind, names, prompts, max_new_tokens))
        return replies

    return ReasoningEditor(SimpleNamespace(ask=ask), seed=seed), calls


def test_a_mistake_ends_the_text_before_which_nothing_changes():
    editor, calls = make_editor(["  Cold\n soup. "] * 5)
    reasons = {f"item {number}": TEXT for number in range(5)}

    edited = editor.insert_mistakes(reasons, dict.fromkeys(reasons, "Where is soup?"))

    kind, names, prompts, limit = calls[0]
    assert (kind, names, limit) == ("second mistakes", list(reasons), 1024)
    starts = set()
    for item, prompt in zip(reasons, prompts, strict=True):
        original, mistaken = edited[item]
        start, end = next(span for span in find_sentences(TEXT) if span[1] == len(original))
        starts.add(start)
        assert original == TEXT[:end]
        assert mistaken == TEXT[:start] + "Cold soup."
        assert "Where is soup?" in prompt
        assert f"\n{TEXT[start:end]}\n" in prompt
    # The sentence is drawn for each item.
    assert len(starts) > 1


def test_a_repeated_or_an_empty_reply_is_no_mistake():
    editor, _ = make_editor(["soup is WARM", "", "?", "Soup is cold."])
    reasons = dict.fromkeys("abcd", "Soup is warm.")

    edited = editor.insert_mistakes(reasons, dict.fromkeys(reasons, "Where?"))

    assert edited == {"d": ("Soup is warm.", "Soup is cold.")}


def test_the_seed_decides_the_sentence():
    choices = set()
    for seed in range(8):
        editor, _ = make_editor(["Cold."], seed=seed)
        choices.add(editor.insert_mistakes({"a": TEXT}, {"a": "Where?"})["a"][0])

    assert len(choices) > 1


def test_other_words_are_a_change_of_eight_words_or_more():
    reasons = dict.fromkeys("abcd", EIGHT_WORDS)
    # The second reply has seven words, and the third one only other marks and capitals.
    replies = [
        "I guess that soup stays warm in pots.",
        "I guess soup stays warm in pots.",
        "a POT keeps the soup warm: I suppose!",
        "",
    ]
    editor, calls = make_editor(replies)

    assert editor.reword(reasons) == {"a": (EIGHT_WORDS, replies[0])}
    assert calls[0][0] == "second rewording"
    assert calls[0][1] == list("abcd")
    assert EIGHT_WORDS in calls[0][2][0]
