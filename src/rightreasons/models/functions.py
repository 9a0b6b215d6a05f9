"""A function of texts, or a fitted estimator, as a scorer of classes: `FunctionScorer`."""

from __future__ import annotations

import hashlib
import inspect
import pickle
import uuid
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from rightreasons.core.errors import (
    OptionError,
    ScoreKindError,
    attach_options,
    get_first_line,
)
from rightreasons.core.labels.names import check_label_names
from rightreasons.core.scores import Scores
from rightreasons.core.store import digest_package_code
from rightreasons.core.validation import (
    SCORE_KINDS,
    check_ids,
    check_labels,
    check_logits,
    check_one_of,
    check_same_length,
    check_texts,
    has_numbers_outside,
)
from rightreasons.models.answers import parse_answers
from rightreasons.models.fingerprints import fingerprint_texts
from rightreasons.models.protocol import Ability
from rightreasons.models.running import Store, open_store, run_batches
from rightreasons.models.runs.columns import Column
from rightreasons.models.runs.progress import BarText

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from rightreasons.models.protocol import HowToKeep, Source

TEXTS_PER_CALL = 256
"""Maximum number of texts that a function gets at once."""


class FunctionScorer:
    """A scorer of classes that is a function of texts, without gradients.

    Args:
        function: Takes a list of N texts, and `text_pairs` if it has such a parameter, and returns
            the scores of K classes in one of the forms of `parse_answers`.
        label_names: K names of the classes.
        name: Name of the scorer in reports.
        fingerprint: Name of what the answers depend on, such as a version. None digests `source`.
        source: Object whose content the answers depend on.
        scores: What the numbers are: "probabilities" (default), "logits" or "log_probabilities".
            A single logit per text is that of the second of two classes.

    Attributes:
        fingerprint: Digest of the given name or of the object; without either, a new one for each
            scorer.
        label_match: How its classes were matched with the labels of the data. Empty if its classes
            have names of their own.
    """

    abilities: frozenset[Ability] = frozenset()
    """Nothing but scores."""
    joint = False
    """Classes are not choices."""

    def __init__(
        self,
        function: Callable[..., Any],
        label_names: Iterable[object],
        name: str,
        fingerprint: str | None = None,
        *,
        source: Any = None,
        scores: str = "probabilities",
    ) -> None:
        """Check the class names, and digest the function or the object behind it.

        Raises:
            OptionError: If there are fewer than two classes.
        """
        self.label_names = check_label_names([str(label) for label in label_names])
        if len(self.label_names) < 2:
            raise OptionError(
                f"Expected at least two classes, but {name} has {len(self.label_names)}.",
                option="label_names",
            )
        self.name = name
        self.label_match = ""
        self._function = function
        self._scores = check_one_of(scores, SCORE_KINDS, "scores")
        # The digest is computed now, because the first call may change the object.
        if fingerprint is None:
            self._digest = _digest_estimator(source)
        else:
            self._digest = hashlib.blake2b(fingerprint.encode()).hexdigest()[:32]
        self.fingerprint = self._digest or uuid.uuid4().hex

    def describe(self) -> dict[str, Any]:
        """Return the name of the function, and whether its answers are stored for later runs."""
        return {"function": self.name, "kept": self._digest is not None}

    def predict(
        self,
        texts: Sequence[str],
        *,
        text_pairs: Sequence[str] | None = None,
        ids: Iterable[object] | None = None,
        labels: Sequence[int] | NDArray[Any] | None = None,
        **storage: Unpack[HowToKeep],
    ) -> Scores:
        """Score the classes of N texts, by calls of the function with up to `TEXTS_PER_CALL` texts.

        Texts for which the function fails are left out, and named in `Scores.failures`.

        Args:
            texts: N texts. Empty texts are passed to the function, too.
            text_pairs: N second texts for a task of pairs.
            ids: N unique ids. If None, "0", "1", …
            labels: (N,) gold labels, -1 for unlabeled items.
            **storage: Options of `HowToKeep`.

        Raises:
            ValueError: If there are pairs of texts, but the function has no parameter for them; or
                if the function fails for every text.
        """
        columns = self._check_columns(texts, text_pairs)
        names = tuple(check_ids(range(len(texts)) if ids is None else ids, "ids"))
        check_same_length(**columns, ids=names, labels=texts if labels is None else labels)
        gold = None
        if labels is not None:
            gold = check_labels(labels, len(self.label_names), name="labels", minimum=-1)

        def compute(batch: NDArray[np.int64]) -> Mapping[str, Column]:
            arguments = []
            for column in columns.values():
                arguments.append([column[item] for item in batch])
            return {"logits": self._compute_logits(*arguments)}

        # The store contains the answers of complete calls, so that an interrupted run can resume.
        n_calls = -(-len(texts) // TEXTS_PER_CALL)
        scored = run_batches(
            compute,
            np.array_split(np.arange(len(texts)), n_calls),
            store=self._open_store(storage.get("out"), names, columns),
            progress=storage.get("progress", True),
            bar=BarText("predictions"),
            fail_fast=False,
        )
        failures = {}
        for item, reason in sorted(scored.failures.items()):
            failures[names[item]] = reason
        scored_labels = None
        if gold is not None:
            scored_labels = gold[scored.positions]
        return Scores(
            ids=tuple(names[item] for item in scored.positions),
            logits=scored.array("logits"),
            labels=scored_labels,
            label_names=self.label_names,
            failures=failures,
        )

    def choose(
        self, prompts: Sequence[str], choices: Sequence[Sequence[str]], **options: Any
    ) -> Scores:
        """Refuse choices: the function scores classes."""
        raise ValueError(
            f"Expected a scorer of choices, but {self.name} is a classifier: use `predict`."
        )

    def _check_columns(
        self, texts: Sequence[str], text_pairs: Sequence[str] | None
    ) -> dict[str, list[str]]:
        """Check the texts, and return them by the names of the function's parameters.

        Args:
            texts: N texts.
            text_pairs: N second texts, or None.

        Returns:
            `texts` and, for a task of pairs, `text_pairs`.

        Raises:
            ValueError: If there are pairs, but the function has no parameter for them.
        """
        columns = {"texts": check_texts(texts, "texts", allow_empty=True)}
        if text_pairs is None:
            return columns
        if not _has_pair_parameter(self._function):
            raise ValueError(
                f"Expected single texts for {self.name}, but the data has pairs of texts. Pass a "
                "function with the parameters `texts` and `text_pairs`."
            )
        columns["text_pairs"] = check_texts(text_pairs, "text_pairs", allow_empty=True)
        return columns

    def _open_store(
        self, folder: Any, names: Sequence[str], columns: Mapping[str, Sequence[str]]
    ) -> Store | None:
        """Open the store of the function's answers.

        Args:
            folder: Folder of the answers, or None.
            names: N ids of the texts.
            columns: Parameter of the function, `texts` or `text_pairs` -> N texts.

        Returns:
            The store. None without a folder, or if a later run could not tell whether the function
            is the same.
        """
        if folder is None or self._digest is None:
            return None
        run = {
            "kind": "predictions",
            "model": self._digest,
            "code": digest_package_code(),
            "scores": self._scores,
            "ids": fingerprint_texts(names),
        }
        for name, column in columns.items():
            run[name] = fingerprint_texts(column)
        return open_store(folder, run)

    def _compute_logits(self, texts: list[str], *pairs: list[str]) -> NDArray[np.float64]:
        """Call the function with some texts, and return its scores as logits.

        Args:
            texts: n texts.
            *pairs: For a task of pairs, one list of n second texts.

        Returns:
            (n, K) logits, or log-probabilities.

        Raises:
            TypeError: If the function does not return one answer per text.
            ScoreKindError: If it returns numbers outside [0, 1] instead of probabilities.
            ValueError: If the function fails, or its answers are not scores of K classes.
        """
        expected = f"{self._scores.replace('_', ' ')} of {self.name}"
        answers = self._call_function(texts, pairs, expected)
        try:
            table = parse_answers(answers, self.label_names, self._scores)
        except Exception as error:
            reason = get_first_line(error).rstrip(".:")
            option = getattr(error, "option", ())
            raise OptionError(f"Expected {expected}, but {reason}.", option=option) from error
        _check_count(len(texts), len(table), self.name)

        n_classes = len(self.label_names)
        # With two classes, a single number per text is the score of the second class.
        is_second_class = table.shape == (len(texts),) and n_classes == 2
        if is_second_class and self._scores == "logits":
            # The softmax of the logits 0 and z is the sigmoid of z.
            table = np.column_stack((np.zeros(len(table)), table))
        elif table.shape != (len(texts), n_classes) and not is_second_class:
            raise ValueError(
                f"Expected {n_classes} {expected} for each of {len(texts)} texts, but got an array "
                f"of shape {table.shape}."
            )
        # If the check fails, the numbers are usually logits, and `scores` is the option to change.
        try:
            with attach_options("scores"):
                logits = check_logits(table, scores=self._scores, name=self.name)
        except OptionError as error:
            if self._scores != "probabilities" or not has_numbers_outside(table):
                raise
            # The run would otherwise go on with fewer texts, and read logits that are between 0 and
            # 1 by accident as probabilities.
            raise ScoreKindError(str(error), option=error.option) from error
        # `check_logits` returns `Ragged` only for rows of different lengths, which are not possible
        # here.
        return np.asarray(logits, dtype=np.float64)

    def _call_function(self, texts: list[str], pairs: Sequence[list[str]], expected: str) -> Any:
        """Call the function with some texts, and return its result.

        Args:
            texts: n texts.
            pairs: A tuple with the list of n second texts; empty for single texts.
            expected: Description of the expected result, for errors, such as "scores of rule".

        Raises:
            ValueError: If the function raises any error.
        """
        options = {"text_pairs": pairs[0]} if pairs else {}
        try:
            return self._function(texts, **options)
        except Exception as error:
            reason = get_first_line(error).rstrip(".:")
            advice = ""
            if not pairs and _accepts_single_text(self._function, texts[0]):
                advice = ": ask a function of one text as lambda texts: [function(text) for text in texts]"
            raise ValueError(
                f"Expected {expected} for a list of texts, but the call fails: "
                f"{type(error).__name__}: {reason}{advice}."
            ) from error


def is_user_code(source: Source) -> bool:
    """Return whether the scores of a model are computed by code of the user."""
    if isinstance(source, FunctionScorer):
        return True
    return not type(source).__module__.startswith("rightreasons.")


def _check_count(n_texts: int, n_answers: int, name: str) -> None:
    """Check that a function returned one answer per text.

    Args:
        n_texts: Number of texts.
        n_answers: Number of answers.
        name: Name of the function, for errors.

    Raises:
        TypeError: If the numbers differ. This error ends the run. After a ValueError, the run would
            call the function with fewer texts, and two numbers that a function returns for one text
            would be mistaken for the answers to two texts.
    """
    if n_answers != n_texts:
        raise TypeError(
            f"Expected {name} to return one answer for each of {n_texts} texts, but got "
            f"{n_answers}. Wrap a function of one text as lambda texts: [function(text) for text "
            "in texts]."
        )


def _accepts_single_text(function: Callable[..., Any], text: str) -> bool:
    """Return whether a function can be called with one text, instead of a list of texts."""
    try:
        function(text)
    except Exception:
        # Functions of users raise errors of any type.
        return False
    return True


def _has_pair_parameter(function: Callable[..., Any]) -> bool:
    try:
        return "text_pairs" in inspect.signature(function).parameters
    except (TypeError, ValueError):
        # Some functions, such as those of C extensions, have no signature.
        return False


def _digest_estimator(model: Any) -> str | None:
    """Digest a fitted estimator of scikit-learn by its pickled content.

    Args:
        model: The estimator, or any other object.

    Returns:
        32 hexadecimal digits. None if the content does not identify the answers: the object has no
        `predict_proba`, has a function among its parameters (a pickle has only its name), or cannot
        be pickled.
    """
    if not hasattr(model, "predict_proba"):
        return None
    components = [model]
    if hasattr(model, "get_params"):
        components += model.get_params().values()
    if any(map(inspect.isfunction, components)):
        return None
    # Vectorizers of scikit-learn store the memory address of their stop words, which differs
    # between processes. It is removed while the estimator is pickled.
    addresses = []
    for component in components:
        attributes = getattr(component, "__dict__", {})
        if "_stop_words_id" in attributes:
            addresses.append((attributes, attributes.pop("_stop_words_id")))
    try:
        return hashlib.blake2b(pickle.dumps(model), digest_size=16).hexdigest()
    except Exception:
        # Pickling an object may raise an error of any type.
        return None
    finally:
        for attributes, address in addresses:
            attributes["_stop_words_id"] = address
