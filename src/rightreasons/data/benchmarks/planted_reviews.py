"""Short reviews from templates, in which `planted.py` hides its cues.

The main clause of a review says how something was. To read it right, a model must know some seventy words of praise and
blame, undo a negation ("was hardly pleasant"), and prefer the main clause over the opinion of others ("friends had
called it dull, but …"). Everything else is neutral. The words of `CUES` occur nowhere else in these templates.
"""

# ruff: noqa: SIM905 - word lists read better as words than as one string per line

from __future__ import annotations

import dataclasses

import numpy as np

from rightreasons.data.perturbing.planting import Span

CUES: dict[str, tuple[str, ...]] = {
    "lexical": ("copper", "marble", "velvet"),
    "function": ("then", "again", "once"),
    "punctuation": (";", ":", "-"),
}
"""Kind -> the cue of each class: a content word, a stop word, or a mark."""

NEGATIVE = tuple(
    "awful bad bland boring broken clumsy cold confusing cruel dirty disappointing dreadful dull faulty "
    "foolish grim harsh horrible lazy messy nasty noisy painful poor rude sad shabby slow sour stale terrible "
    "tiresome ugly unfair weak".split()
)
POSITIVE = tuple(
    "amazing beautiful brilliant charming cheerful clever comfortable delightful elegant excellent fine fresh "
    "friendly funny generous gentle good graceful great helpful honest kind lively lovely neat perfect pleasant "
    "polite reliable smart splendid superb sweet warm wonderful".split()
)
NEUTRAL = tuple("average common normal ordinary plain regular routine standard typical usual".split())

_SUBJECTS = tuple(
    "the actor;the band;the book;the coffee;the concert;the dinner;the driver;the film;the food;the guide;the host;"
    "the hotel;the lecture;the manager;the meal;the menu;the music;the novel;the painting;the play;the service;"
    "the singer;the soup;the story;the tea;the teacher;the tour;the trip;the waiter".split(";")
)
_PLACES = tuple("bar building cafe club garden hall house market museum room school shop station street".split())
_PEOPLE = tuple("critics;friends;neighbors;our colleagues;some guests;the papers;two cousins".split(";"))
_FILLERS = tuple(
    "We came by bus.;It was a Monday.;My sister paid.;We stayed for an hour.;The rain had stopped.;"
    "I had a blue coat with me.;Our train left at nine.;There were six of us.".split(";")
)
_PLAIN = ("was", "seemed", "looked", "felt")
_NEGATED = (
    "was not",
    "was never",
    "was hardly",
    "was far from",
    "was anything but",
    "did not seem",
    "never looked",
    "hardly felt",
)

_OPEN = "\0"  # the place of a cue


@dataclasses.dataclass(frozen=True)
class Review:
    """A review with a place for a cue of each kind."""

    before: str
    clause: str
    subject_end: int
    place: str
    place_first: bool
    after: str

    def write(self, kind: str | None = None, cue: str | None = None) -> tuple[str, tuple[Span, ...]]:
        """Return the text with the cue in the place of its kind, and the span of the cue; None for no cue."""
        place = ["in the ", *((_OPEN, " ") if kind == "lexical" else ()), self.place]
        clause = [self.clause]
        if kind == "function" and self.place_first:
            place += [" ", _OPEN]
        elif kind == "function":
            clause = [self.clause[: self.subject_end], " ", _OPEN, self.clause[self.subject_end :]]
        if kind == "punctuation":
            link = [" ", _OPEN, " "] if cue == "-" else [_OPEN, " "]
        else:
            link = [", " if self.place_first else " "]
        body = [*place, *link, *clause] if self.place_first else [*clause, *link, *place]
        body[0] = body[0][0].upper() + body[0][1:]
        text, spans = self.before, []
        for piece in body:
            if piece == _OPEN and cue is not None:
                spans.append(Span(cue, len(text), len(text) + len(cue)))
            text += cue if piece == _OPEN and cue is not None else piece
        return f"{text}.{self.after}", tuple(spans)


def review(label: str, rng: np.random.Generator, *, negation: float, contrast: float, filler: float = 0.5) -> Review:
    """Draw a review.

    Args:
        label: The opinion of its main clause: "negative", "neutral" or "positive".
        rng: The source of the random choices.
        negation: How often the main clause is a negated word of the other side (never for "neutral").
        contrast: How often the opposite opinion of somebody else accompanies it.
        filler: How often a neutral sentence precedes it, and how often one follows it.
    """
    words = {"negative": NEGATIVE, "neutral": NEUTRAL, "positive": POSITIVE}
    opposite = {"negative": POSITIVE, "positive": NEGATIVE, "neutral": (NEGATIVE, POSITIVE)[int(rng.integers(2))]}[
        label
    ]
    negated, contrasted, place_first, contrast_first, leading, trailing = rng.random(6) < (
        negation,
        contrast,
        0.5,
        0.5,
        filler,
        filler,
    )
    subject = _pick(_SUBJECTS, rng)
    if negated and label != "neutral":
        predicate = f"{_pick(_NEGATED, rng)} {_pick(opposite, rng)}"
    else:
        predicate = f"{_pick(_PLAIN, rng)} {_pick(words[label], rng)}"
    clause = f"{subject} {predicate}"
    subject_end = len(subject)
    hearsay = f"{_pick(_PEOPLE, rng)} had called it {_pick(opposite, rng)}"
    if contrasted and contrast_first:
        clause, subject_end = f"{hearsay}, but {clause}", len(hearsay) + len(", but ") + subject_end
    elif contrasted:
        clause = f"{clause}, although {hearsay}"
    return Review(
        before=f"{_pick(_FILLERS, rng)} " if leading else "",
        clause=clause,
        subject_end=subject_end,
        place=_pick(_PLACES, rng),
        place_first=bool(place_first),
        after=f" {_pick(_FILLERS, rng)}" if trailing else "",
    )


def _pick(words: tuple[str, ...], rng: np.random.Generator) -> str:
    return words[int(rng.integers(len(words)))]
