"""The terms of the report, each in a sentence, for readers who meet them first here."""

from __future__ import annotations

import re

TERMS = {
    "accuracy": "Share of items that the model gets right.",
    "attribution": "How much each word moved the model's score, found by integrating its gradient.",
    "behavioral test": "A text made for one ability, with what the model must, must not or may answer.",
    "blind picks": "Words drawn at random from the same text, as frequent as those that the prediction rests on.",
    "calibration": "Agreement between how sure a model is and how often it is right.",
    "calibration error": "Mean distance between confidence and accuracy, over bins of confidence (ECE). 0 is perfect.",
    "causal shortcut rate": "Share of predictions that change when the word they rest on is taken out of the text.",
    "chance": "What guessing without looking at the item would give.",
    "confidence": "The probability that a model gives to the answer it picks.",
    "contrast set": "An item with small changes by a person, some of which change the right answer.",
    "control word": "A word of the same text, about as frequent as the cue, that gives no label away.",
    "cue": "A word or pattern that tells the label without what the text means.",
    "eigenvalue": "How fast a prediction changes when its words are moved a little, in the worst direction.",
    "functionality": "One ability that a behavioral suite tests, such as negation.",
    "head": "The words that most tell a label in the training data: the first few percent by LMI.",
    "interval": "The range that holds the figure's true value in 95 of 100 such studies, if no other level is given.",
    "LMI": "Local mutual information: how much a word tells a label, weighted by how often the two meet.",
    "log loss": "Mean of minus the logarithm of the probability of the right answer, in nats. Lower is better.",
    "MacroCE": "Mean of the calibration errors of right and of wrong predictions. Lower is better.",
    "p-value": "How often chance alone gives a difference as large as the one seen.",
    "pass rate": "Share of the cases of a behavioral test that the model passes.",
    "prior bias": "Preferring some answers when the question is taken away and none can be right.",
    "productivity": "How often the choice that has a cue is the right one.",
    "shortcut": "A word that gives the label away in the training data and that a prediction rests on.",
    "shortcut-cued": "Said of a prediction that rests on a shortcut.",
    "temperature": "One number that divides all scores of a model: it changes how sure it is, and no prediction.",
}
"""Term -> what it means, in one or two sentences."""

_TERM = re.compile(rf"\b({'|'.join(sorted(map(re.escape, TERMS), key=len, reverse=True))})(?=s?\b)", re.IGNORECASE)
_BY_NAME = {term.lower(): term for term in TERMS}


def find_term(text: str) -> tuple[int, int, str] | None:
    """Return where the first term of a text stands, and which it is; None where there is none.

    Example:
        >>> find_term("The control words change it")
        (4, 16, 'control word')
    """
    match = _TERM.search(text)
    return None if match is None else (match.start(), match.end(), _BY_NAME[match[1].lower()])


def anchor(term: str) -> str:
    """Return the id of a term on the page.

    Example:
        >>> anchor("control word")
        'term-control-word'
    """
    return f"term-{re.sub('[^a-z]+', '-', term.lower())}"
