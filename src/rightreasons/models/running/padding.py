"""How the inputs of classifiers, multiple-choice and question-answering models are padded: as their trial shows."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from rightreasons.foundations.ragged import offsets_of
from rightreasons.models.running.batching import Encoded, encode, pad
from rightreasons.models.running.trial import (
    EQUAL_LENGTHS,
    ONE_BY_ONE,
    SHORTEST,
    TRIALS,
    Answers,
    RefusalError,
    Way,
    fastest_way,
)

RIGHT = "right padding"
LEFT = "left padding"

# About as many tokens of long texts are read in a trial.
_TRIED = 512


def classifier_way(
    model: Any,
    tokenizer: Any,
    name: str,
    *,
    longest: int,
    bound: int,
    joint: bool = False,
    n_classes: int | None = None,
) -> Way:
    """Return how a model's inputs are batched, from a trial in this process: the fastest way that is exact.

    The ways are right padding, left padding, batches of equal lengths, and one by one. The padding side of the
    tokenizer does not matter.

    Args:
        model: A sequence classifier, a multiple-choice or a question-answering model.
        tokenizer: Its tokenizer.
        name: What the user called it.
        longest: Tokens of the longest sequence of the data.
        bound: Maximum tokens per sequence.
        joint: Whether the model reads tensors (n, C, T), as a multiple-choice model does.
        n_classes: Number of classes of a classifier; None for the other models.

    Raises:
        ValueError: If no way is exact, with the reason.
    """
    paired = n_classes is None

    def find(reach: int) -> Way:
        short = reach <= SHORTEST
        names, told = [RIGHT, LEFT, EQUAL_LENGTHS, ONE_BY_ONE], ""
        if not short:  # a way that fails at short texts is not asked again
            before = ask_at(SHORTEST)
            names, told = names[names.index(before.name) :], before.reason
        encoded = _trial_items(model, tokenizer, min(reach, bound), paired=paired, short=short)
        long = encoded.lengths > SHORTEST
        usable = np.arange(len(encoded))
        said: dict[str, Answers] = {}

        def ask(batch: NDArray[np.int64], side: str = "right") -> Answers:
            inputs = pad(dataclasses.replace(encoded, padding_side=side), batch, model.device)
            mask = inputs["attention_mask"].bool()
            if joint:
                inputs = {key: tensor[:, None] for key, tensor in inputs.items()}
            return _answers(model(**inputs), mask, name, n_classes)

        def alone() -> Answers:
            """Ask every item by itself; those that the model cannot read, such as too short ones, are left out."""
            nonlocal usable
            rows: list[NDArray[np.float64]] = []
            able: list[int] = []
            for item in range(len(encoded)):
                try:
                    rows += ask(np.array([item]))
                    able.append(item)
                except (RuntimeError, IndexError) as error:
                    reason = error
            if not able:
                raise reason
            usable, said["alone"] = np.array(able), rows
            return rows

        def again() -> Answers:
            """Ask the longest item once more: attention that draws at random may read short ones in full."""
            last = int(encoded.lengths[usable].argmax())
            return [*said["alone"][:last], *ask(usable[[last]])]

        def together(side: str) -> Answers:
            # The long items have a batch of their own with one short item; the others are not padded to their length.
            batches = [usable[long[usable]], usable[~long[usable]]]
            if len(batches[0]) and len(batches[1]):
                batches[0] = np.append(batches[0], batches[1][0])
            said[side] = _in_order(batches, lambda batch: ask(batch, side))
            return said[side]

        def left() -> Answers:
            rows = zip(said["alone"], said.get("right", ()), strict=False)
            off = [bool(np.abs(a - b).max() > 1e-3 * np.abs(b).max()) for a, b in rows]
            if 2 * sum(off) < len(off):
                raise RuntimeError("padding changes some texts and not others")
            return together("left")

        def equal() -> Answers:
            lengths = encoded.lengths[usable]
            return _in_order([usable[lengths == length] for length in np.unique(lengths)], ask)

        ways = {RIGHT: lambda: together("right"), LEFT: left, EQUAL_LENGTHS: equal}
        with padding_token(model, encoded.padding["input_ids"]):
            asked = {way: ways[way] for way in names if way != ONE_BY_ONE}
            way = fastest_way(model, name, alone, asked, longest=reach, again=again)
        return dataclasses.replace(way, reason="; ".join(filter(None, (told, way.reason))))

    def ask_at(longest: int) -> Way:
        return TRIALS.way(model, kind, longest, find)

    kind = "choices" if joint else "texts"
    return ask_at(min(longest, bound))


def padding_values(model: Any, tokenizer: Any, used: NDArray[np.int32] | None = None) -> dict[str, int]:
    """Return the values that pad the columns of a model's inputs.

    A model with a padding token of its own, by which a decoder's head finds the last token of a text, is padded with
    that, whatever the tokenizer's is. Any other token will do for a model without one, but not one of the texts.

    Args:
        model: A model of transformers.
        tokenizer: Its tokenizer.
        used: The token ids of the texts.
    """
    known = vocabulary_size(model)
    token = _text_config(model).pad_token_id if hasattr(_text_config(model), "pad_token_id") else None
    own = token is not None and token >= 0 and (known is None or token < known)
    if not own:
        token = next((t for t in (tokenizer.pad_token_id, tokenizer.eos_token_id) if t is not None), 0)
        if used is not None and known is not None and (used == token).any():
            free = np.setdiff1d(np.arange(known), used)
            token = free[0] if len(free) else token
    return {"input_ids": int(token or 0), "token_type_ids": int(tokenizer.pad_token_type_id)}


@contextmanager
def padding_token(model: Any, token: int) -> Iterator[None]:
    """Let a model without a padding token have one meanwhile; its configuration is as it was afterwards.

    A decoder with a classification head reads the last token that is not padding, and refuses batches without one.
    """
    config = _text_config(model)
    if config is None or getattr(config, "pad_token_id", None) is not None:
        yield
        return
    missing = "pad_token_id" not in vars(config)
    config.pad_token_id = token
    try:
        yield
    finally:
        if missing:
            del config.pad_token_id
        else:
            config.pad_token_id = None


def vocabulary_size(model: Any) -> int | None:
    """Return how many tokens a model embeds; None for a model without a table of word embeddings."""
    try:
        return int(model.get_input_embeddings().num_embeddings)
    except (AttributeError, NotImplementedError):
        return None


def check_tokens(model: Any, name: str, largest: int) -> None:
    """Check that a model knows the largest of some token ids.

    Raises:
        ValueError: If it does not.
    """
    known = vocabulary_size(model)
    if known is not None and largest >= known:
        raise ValueError(
            f"Expected token ids below {known}, which {name} knows, but its tokenizer gave {largest}: "
            "tokenizer and model do not belong together."
        )


def ordinary_tokens(model: Any, tokenizer: Any) -> NDArray[np.int64]:
    """Return the tokens of words that both tokenizer and model know, but none whose embedding is NaN or infinite."""
    size = len(tokenizer)
    known = vocabulary_size(model)
    if known is not None:
        size = min(size, known)
        table = model.get_input_embeddings().weight[:size]
        tokens = torch.nonzero(torch.isfinite(table).all(dim=1))[:, 0].cpu().numpy()
    else:
        tokens = np.arange(size)
    if not len(tokens):  # weights that are all NaN are refused where the scores are
        tokens = np.arange(size)
    ordinary = np.setdiff1d(tokens, tokenizer.all_special_ids)
    return ordinary if len(ordinary) else tokens


def _in_order(batches: Sequence[NDArray[np.int64]], ask: Callable[[NDArray[np.int64]], Answers]) -> Answers:
    """Ask batches, and return the answers in the order of the items; an item of two batches counts with the first."""
    rows: dict[int, NDArray[np.float64]] = {}
    for batch in batches:
        if len(batch):
            for item, answer in zip(batch.tolist(), ask(batch), strict=True):
                rows.setdefault(item, answer)
    return [rows[item] for item in sorted(rows)]


def _trial_items(model: Any, tokenizer: Any, longest: int, *, paired: bool, short: bool) -> Encoded:
    """Return texts, or pairs of texts, of random words: of up to 16 tokens, or one such and others of `longest`."""
    letters = ["a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l", "m", "n", "o", "p"]
    bound = min(longest, SHORTEST)
    # Ties in attention to the few best tokens, which padding upsets, show only now and then: in many tokens.
    texts = [" ".join(letters[:length]) for length in (7, 1, 4, 4, 12, 11, 10, 9, 8, 6, 5, 3)[: None if short else 1]]
    parts = [encode(tokenizer, texts, ["b"] * len(texts) if paired else None, max_length=bound)]
    if not short:
        text = " ".join(letters * (longest // 8 + 1))
        sixteenths = [16, *(12 - 5 * number % 8 for number in range(max(1, _TRIED // longest)))]
        lengths = [max(bound + 1, longest * part // 16) for part in sixteenths]
        parts += [encode(tokenizer, [text], ["b"] if paired else None, max_length=length) for length in lengths]
    columns = {name: np.concatenate([part.columns[name] for part in parts]) for name in parts[0].columns}
    words = ordinary_tokens(model, tokenizer)
    special = np.isin(columns["input_ids"], [t for t in tokenizer.all_special_ids if t != tokenizer.unk_token_id])
    drawn = np.random.default_rng(0).choice(words, len(special)).astype(np.int32)
    columns["input_ids"] = np.where(special, columns["input_ids"], drawn)
    sizes = [size for part in parts for size in part.lengths.tolist()]
    return Encoded(
        columns=columns,
        offsets=offsets_of(sizes),
        truncated=np.zeros(len(sizes), dtype=np.bool_),
        padding=padding_values(model, tokenizer, columns["input_ids"]),
    )


def _answers(outputs: Any, mask: torch.Tensor, name: str, n_classes: int | None) -> Answers:
    """Return what a model said of each row of a batch: its scores, or those of every token that is not padding."""
    if hasattr(outputs, "start_logits"):
        table = torch.stack([outputs.start_logits, outputs.end_logits], dim=-1).double()
        return [row[real].cpu().numpy() for row, real in zip(table, mask, strict=True)]
    logits = getattr(outputs, "logits", None)
    if logits is None or logits.numel() != len(mask) * (n_classes or 1):
        came = "none" if logits is None else f"a tensor of shape {tuple(logits.shape)}"
        what = "one score per choice" if n_classes is None else f"one score for each of {n_classes} classes"
        raise RefusalError(f"Expected {what} from {name}, but it gives {came} for {len(mask)} texts.")
    return list(logits.double().flatten(1).cpu().numpy())


def _text_config(model: Any) -> Any:
    config: Any = getattr(model, "config", None)
    return config.get_text_config() if hasattr(config, "get_text_config") else config
