"""What the sections of an audit share: the model, the items, and what the model said about them, computed once."""

from __future__ import annotations

import dataclasses
import functools
import hashlib
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, cast

import numpy as np
from numpy.typing import NDArray

from rightreasons.auditing.predictions import safe_name
from rightreasons.foundations.label_names import match_labels
from rightreasons.foundations.resampling import Resampling
from rightreasons.foundations.scores import Scores
from rightreasons.foundations.storing.records import digest_of_value
from rightreasons.foundations.validation import unknown_name

if TYPE_CHECKING:
    import datasets

    from rightreasons.auditing.asking import Asked
    from rightreasons.auditing.page.parts import Reads
    from rightreasons.auditing.stored import StoredModel
    from rightreasons.data.suites.suite import Suite
    from rightreasons.measuring.calibration import JudgedItems
    from rightreasons.measuring.occlusion.leaving_out import Occlusion
    from rightreasons.measuring.options import BehaviorOptions
    from rightreasons.models.loading import Classifier
    from rightreasons.models.prompting.prompted import Prompted

Role = Literal["primary", "comparison", "validation", "train"]

PAIRS = "pair_id"
"""The column of what belongs together where none is named, before `source_id`."""

VALIDATION_SPLITS = ("validation", "dev", "valid", "val")
"""The splits that may be used to fit a temperature."""

WORK = ".work"
"""The folder of a report that holds results under way, so that a killed audit goes on where it stopped."""


@dataclasses.dataclass(frozen=True, eq=False)
class AuditSplit:
    """The items of one split that the audit looks at.

    Attributes:
        name: The name of the split.
        role: "primary" (what the headlines are about), "comparison", "validation" or "train".
        data: The rows in the common schema, with all further columns.
        labels: (N,) labels in the model's numbering; -1 where there is none.
        data_label_names: The names of the labels as the data has them; () for multiple choice.
        label_mapping: How labels and classes were matched, in words.
        class_of: The model's class of each of the data's labels, and -1 at the end for none; None for multiple choice.
        n_available: How many items the split has.
        fingerprint: A digest of ids, texts and labels.
        groups_column: The column of the sets or pairs of items; None where none was named.
        left_out: (id, reason) of the items that the model could not score; they are not among the N.
    """

    name: str
    role: Role
    data: datasets.Dataset
    labels: NDArray[np.int64]
    data_label_names: tuple[str, ...]
    label_mapping: str
    class_of: NDArray[np.int64] | None
    n_available: int
    fingerprint: str
    groups_column: str | None = None
    left_out: tuple[tuple[str, str], ...] = ()

    def __len__(self) -> int:
        return len(self.labels)

    @functools.cached_property
    def ids(self) -> tuple[str, ...]:
        """N unique ids."""
        return tuple(self.data["id"])

    @functools.cached_property
    def texts(self) -> list[str]:
        """N texts, or prompts."""
        return list(self.data["prompt" if self.choices is not None else "text"])

    @functools.cached_property
    def text_pairs(self) -> list[str] | None:
        """N second texts; None where there are none."""
        return self.column("text_pair")

    @functools.cached_property
    def choices(self) -> list[list[str]] | None:
        """N lists of choices; None for classification."""
        return self.column("choices") if self.class_of is None else None

    @functools.cached_property
    def planted(self) -> list[list[dict[str, Any]]] | None:
        """N lists of planted tokens {token, start, end}, of data that tells them; else None."""
        return self.column("planted")

    @functools.cached_property
    def cue_labels(self) -> NDArray[np.int64] | None:
        """(N,) the class that the planted cue stands for, -1 for none, in the model's numbering; None where unknown."""
        raw = self.column("cue_label")
        return None if raw is None or self.class_of is None else self.class_of[np.array(raw, dtype=np.int64)]

    @functools.cached_property
    def pair_ids(self) -> list[str] | None:
        """N names that items of several splits share when they are forms of one item; None where there are none."""
        return self.column(self.groups_column or PAIRS)

    def label_classes(self, model_names: Sequence[str] | None) -> dict[str, str]:
        """Return the name of the model's class of each of the data's labels that has one; {} for multiple choice."""
        if self.class_of is None or model_names is None:
            return {}
        pairs = zip(self.data_label_names, self.class_of.tolist(), strict=False)
        return {name: model_names[label] for name, label in pairs if label >= 0}

    @property
    def labeled(self) -> NDArray[np.bool_]:
        """(N,) which items have a label."""
        return np.asarray(self.labels >= 0)

    def take(self, rows: Sequence[int] | NDArray[np.intp]) -> AuditSplit:
        """Return the split with some of its rows alone; the fingerprint stays that of the whole."""
        return dataclasses.replace(self, data=self.data.select(rows), labels=self.labels[rows])

    def column(self, name: str) -> list[Any] | None:
        """Return a column of the data, or None where there is none of that name."""
        return list(self.data[name]) if name in self.data.column_names else None


class AuditContext:
    """The model, the items and the predictions of one audit.

    Sections ask it and keep nothing themselves: what one has computed, such as the predictions, is there for the next.

    Args:
        classifier: The model, or the stored predictions in its place.
        dataset_name: What the user called the data.
        splits: The splits that are audited, the primary one first.
        validation: A labeled split to fit on, where there is one.
        train: The whole training split, if there is one; for questions about what the model learned from.
        out: The folder of the report.
        seed: Decides every random choice of every section.
        confidence_level: The level of every interval.
        n_resamples: The resamples of every bootstrap.
        batch_size: Items per batch.
        data_dir: A folder of local copies of known data.
        progress: Whether to show progress bars.
        fail_fast: Whether an item that the model cannot score is an error; if not, it is left out.
        command: The command that audits the same model and data in the same way, without questions; "" where one of
            them is an object.
    """

    def __init__(
        self,
        *,
        classifier: Asked | StoredModel,
        dataset_name: str,
        splits: Sequence[AuditSplit],
        validation: AuditSplit | None,
        train: datasets.Dataset | None,
        out: Path,
        seed: int = 0,
        confidence_level: float = 0.95,
        n_resamples: int = 1000,
        batch_size: int = 32,
        data_dir: str | None = None,
        progress: bool = True,
        fail_fast: bool = False,
        command: str = "",
    ) -> None:
        self.source = classifier
        self.dataset_name = dataset_name
        self.primary = splits[0]
        self.comparisons = tuple(splits[1:])
        self.validation = validation
        self.train = train
        self.out = out
        self.seed = seed
        self.confidence_level = confidence_level
        self.n_resamples = n_resamples
        self.batch_size = batch_size
        self.data_dir = data_dir
        self.progress = progress
        self.fail_fast = fail_fast
        self.command = command
        self.model_fingerprint, self._tokenizer_fingerprint = _fingerprints_of(classifier)
        self._splits = {split.name: split for split in (*splits, *([validation] if validation else []))}
        self._suite: Suite | None = None
        self._scores: dict[str, Scores] = {}
        self._errors: dict[str, ValueError] = {}
        self._occluded: dict[tuple[str, int], tuple[AuditSplit, Occlusion]] = {}

    def suite(self, options: BehaviorOptions) -> Suite | None:
        """Open the behavioral suite that the options name, once; None where they name none."""
        if options.suite is None:
            return None
        if self._suite is None:
            from rightreasons.data.suites.opening import open_suite

            self._suite = open_suite(options.suite, data_dir=self.data_dir, seed=self.seed, **options.opening())
        return self._suite

    @property
    def resampling(self) -> Resampling:
        """How intervals and tests are resampled."""
        return Resampling(self.confidence_level, self.n_resamples, self.seed)

    @property
    def stored(self) -> StoredModel | None:
        """The stored predictions that take the place of a model; None where there is a model."""
        from rightreasons.auditing.stored import StoredModel

        return self.source if isinstance(self.source, StoredModel) else None

    @property
    def scorer(self) -> Asked:
        """The model, for questions that ask it anew; stored predictions are none."""
        from rightreasons.auditing.stored import StoredModel

        if isinstance(self.source, StoredModel):
            raise ValueError(f"Expected a model, but {self.source.name} holds stored predictions.")
        return self.source

    @functools.cached_property
    def classifier(self) -> Classifier:
        """The model as one with gradients: prompted classes are a classifier whose logits are those of label words."""
        from rightreasons.models.gradients.label_words import label_word_classifier

        if self.prompted is None or self.label_names is None:
            return cast("Classifier", self.scorer)
        return label_word_classifier(self.prompted)

    @property
    def prompted(self) -> Prompted | None:
        """The prompted language model that is asked; None where it is another model."""
        from rightreasons.models.prompting.prompted import Prompted

        return self.source if isinstance(self.source, Prompted) else None

    @property
    def answers_once(self) -> bool:
        """Whether each item has one generated answer, and so no confidence."""
        if self.stored is not None:
            return self.stored.answers_once
        return self.prompted is not None and self.prompted.answers_once

    @property
    def server(self) -> dict[str, Any] | None:
        """The server that is asked, what its trial found and what it cost so far; None where the model is here."""
        return None if self.prompted is None else self.prompted.server()

    @property
    def n_parameters(self) -> int | None:
        """The number of the model's parameters; None where it is not here."""
        model = getattr(self.source if self.prompted is None else self.prompted.engine, "model", None)
        return None if self.stored is not None or model is None else int(model.num_parameters())

    def why_no_gradients(self) -> str:
        """Say why the words of a text have no gradients, for a section that does not apply; "" where they have."""
        from rightreasons.models.gradients.embedding_input import EmbeddingInput

        if self.prompted is not None:
            from rightreasons.models.gradients.label_words import why_no_gradients

            return why_no_gradients(self.prompted)
        if not getattr(self.classifier.tokenizer, "is_fast", False):
            return "The tokenizer does not give the positions of its tokens in the text."
        try:
            EmbeddingInput(self.classifier.model)
        except ValueError as error:
            return str(error)
        return ""

    @property
    def model_name(self) -> str:
        """What the model is called, or the file of its predictions."""
        return self.source.name

    @property
    def label_names(self) -> tuple[str, ...] | None:
        """The names of the model's classes; None for multiple choice and for the confidence in given answers."""
        return self.source.label_names

    @property
    def task(self) -> Literal["classification", "multiple_choice", "confidence"]:
        """What the model does; "confidence" where the confidence in its answers is all that is stored."""
        if self.stored is not None:
            return self.stored.task
        return "multiple_choice" if self.label_names is None else "classification"

    @property
    def splits(self) -> tuple[AuditSplit, ...]:
        """The audited splits, the primary one first; the validation split is not among them."""
        return (self.primary, *self.comparisons)

    @property
    def all_splits(self) -> tuple[AuditSplit, ...]:
        """The audited splits, and the validation split where there is one."""
        return (*self.splits, *([self.validation] if self.validation else []))

    @property
    def digest(self) -> str:
        """A digest of the model, its tokenizer and the items, those that are left out included."""
        items = [[split.name, split.role, split.fingerprint] for split in self.all_splits]
        return digest_of_value([self.model_fingerprint, self._tokenizer_fingerprint, self.dataset_name, items])

    def read(self, reads: Reads) -> tuple[AuditSplit, ...]:
        """Return the splits whose scores a question may ask for."""
        return {"primary": (self.primary,), "audited": self.splits, "all": self.all_splits}[reads]

    def score_all(self, reads: Iterable[Reads] = ("all",)) -> None:
        """Score splits, and leave out the items that the model cannot score, before any question is asked.

        A split that cannot be scored at all is left as it is: each question that asks for its scores says so.

        Args:
            reads: The splits that the questions may ask for; the primary one is scored always, as reports are compared
                by it.
        """
        for split in dict.fromkeys(split for each in ("primary", *reads) for split in self.read(each)):
            try:
                scores = self._predict(split)
                reason = next(iter(scores.failures.values()), "")
                if reason and self.fail_fast:
                    raise ValueError(reason)
                if not len(scores):
                    raise ValueError(
                        f"Expected answers of {self.model_name} to the items of “{split.name}”, but none of "
                        f"{len(split)} can be read: {reason}."
                    )
            except ValueError as error:
                if self.fail_fast:
                    raise
                self._errors[split.name] = error
                continue
            if scores.failures:
                split = self._leave_out(split, scores.failures)
            self._scores[split.name] = scores

    def has_scores(self, split: AuditSplit) -> bool:
        """Say whether a split is scored: it is not where no question asked for that, or where those that did failed."""
        return split.name in self._scores

    def _leave_out(self, split: AuditSplit, reasons: Mapping[str, str]) -> AuditSplit:
        left_out = tuple((name, reasons[name]) for name in split.ids if name in reasons)
        rows = [row for row, name in enumerate(split.ids) if name not in reasons]
        kept = dataclasses.replace(split.take(rows), left_out=left_out)
        self._splits[split.name] = kept
        if split is self.primary:
            self.primary = kept
        if split is self.validation:
            self.validation = kept
        self.comparisons = tuple(kept if each is split else each for each in self.comparisons)
        return kept

    def split(self, name: str) -> AuditSplit:
        """Return a split by its name."""
        if name not in self._splits:
            raise unknown_name("split of this audit", name, self._splits)
        return self._splits[name]

    def label_name(self, label: int) -> str:
        """Return the name of a class, or "choice 1" of a multiple-choice item; "" for no label."""
        if label < 0:
            return ""
        if self.task == "confidence":
            return ("wrong", "right")[label]
        return f"choice {label + 1}" if self.label_names is None else self.label_names[label]

    def scores(self, split: AuditSplit | str | None = None) -> Scores:
        """Return what the model says about a split: computed at the first call, kept, and resumed after a kill.

        Args:
            split: A split or its name; None for the primary one.

        Returns:
            The scores, in the order of the split's items.
        """
        found = self.primary if split is None else self.split(split) if isinstance(split, str) else split
        if found.name in self._errors:
            raise self._errors[found.name]
        if found.name not in self._scores:
            scores = self._predict(found)
            for reason in scores.failures.values():  # its items are in use already
                raise ValueError(reason)
            self._scores[found.name] = scores
        return self._scores[found.name]

    def judged(self, split: AuditSplit) -> JudgedItems:
        """Compare what the model says about the labeled items of a split with their labels."""
        from rightreasons.measuring.calibration import JudgedItems

        scores = self.scores(split)
        return JudgedItems.of(scores.logits, split.labels, probabilities=scores.probabilities, kind=scores.kind)

    def occluded(self, split: AuditSplit, limit: int) -> tuple[AuditSplit, Occlusion]:
        """Ask the model about some items of a split without each of their words: once, for every question.

        Args:
            split: The split; its labeled items are asked about, or all where none has a label.
            limit: How many items at most, chosen by the seed and their ids, or those of the pairs they belong to.

        Returns:
            The items, and what the model says of them.
        """
        from rightreasons.data.opening.splits import chosen_rows
        from rightreasons.measuring.occlusion.leaving_out import occlude

        key = split.name, limit
        if key not in self._occluded:
            rows = np.flatnonzero(split.labeled) if split.labeled.any() else np.arange(len(split))
            names = split.pair_ids or list(split.ids)
            items = split.take(rows[chosen_rows([names[row] for row in rows], limit, seed=self.seed)])
            self._occluded[key] = (
                items,
                occlude(
                    self.scorer,
                    items.texts,
                    text_pairs=items.text_pairs,
                    choices=items.choices,
                    ids=items.ids,
                    labels=items.labels,
                    batch_size=self.batch_size,
                    progress=self.progress,
                    out=self.folder(
                        f"occlusion-{safe_name(split.name)}", split.fingerprint, str(limit), str(self.seed)
                    ),
                    fail_fast=self.fail_fast,
                ),
            )
        return self._occluded[key]

    def folder(self, purpose: str, *depends: str) -> Path:
        """Return a folder for results under way, one for each model with its tokenizer and what else they depend on.

        Args:
            purpose: What is kept there, such as the name of a question.
            *depends: What else the results depend on, such as the fingerprint of a split or an option.

        Returns:
            A folder that a later run of the same audit finds again; it need not exist yet.
        """
        whole = (self.model_fingerprint, self._tokenizer_fingerprint, *depends)
        digest = hashlib.blake2b("|".join(whole).encode(), digest_size=8).hexdigest()
        return self.out / WORK / f"{purpose}-{digest}"

    def predict_anew(self, split: AuditSplit) -> Scores:
        """Return what the model says about items, without a bar, and keep nothing."""
        return self._ask(split, progress=False)

    def _predict(self, split: AuditSplit) -> Scores:
        if self.stored is not None:
            return self.stored.scores(split)
        from rightreasons.models.running.bars import bars_about

        method = str(getattr(self.scorer, "method", ""))
        folder = self.folder(f"predictions-{safe_name(split.name)}", split.fingerprint, *filter(None, [method]))
        with bars_about("predictions", split.name):
            return self._ask(split, progress=self.progress, out=folder)

    def _ask(self, split: AuditSplit, **how: Any) -> Scores:
        from rightreasons.models.scoring.choices import choose
        from rightreasons.models.scoring.classes import predict

        shared: dict[str, Any] = {
            "ids": split.ids,
            "labels": split.labels,
            "batch_size": self.batch_size,
            "fail_fast": self.fail_fast,
            **how,
        }
        if split.choices is not None:
            return choose(self.scorer, split.texts, split.choices, distinct=False, **shared)
        return predict(self.scorer, split.texts, text_pairs=split.text_pairs, **shared)


def take_split(
    data: datasets.Dataset,
    *,
    name: str,
    role: Role,
    model_names: Sequence[str] | None,
    where: str,
    seen: Iterable[int] | None = None,
    first_label: int | None = None,
    limit: int | None = None,
    seed: int = 0,
    groups_column: str | None = None,
) -> AuditSplit:
    """Take the items of a split that the audit will look at, their labels in the model's numbering.

    With a limit, the items are chosen by (seed, id): the same ones whatever the order of the rows. Items that share a
    set or a pair are chosen together, so that no set loses an item.

    Args:
        data: Rows in the common schema: id, text (text_pair), label; or id, prompt, choices, label.
        name: The name of the split.
        role: Its part in the audit.
        model_names: The names of the model's classes; None for multiple choice.
        where: What the data is called, for errors.
        seen: The labels that occur in any split, which tells where numbers begin; None for those of this split.
        first_label: The number of the first class where labels are numbers, 0 or 1; None to find out.
        limit: How many items at most; None for all.
        seed: Decides which.
        groups_column: The column of the sets or pairs of items; None for `pair_id` or `source_id` where there is one.

    Returns:
        The split.

    Raises:
        ValueError: If there is no such column, or labels and classes do not match.
    """
    from rightreasons.data.opening.columns import named_column
    from rightreasons.data.opening.splits import chosen_rows

    n_available = len(data)
    if groups_column is not None:
        named_column(data, groups_column, "groups_column", where)
    if limit is not None and limit < n_available:
        column = groups_column or next((name for name in (PAIRS, "source_id") if name in data.column_names), None)
        data = data.select(chosen_rows(data["id"][:], limit, seed=seed, groups=column and data[column][:]))
    names: tuple[str, ...] = ()
    class_of = None
    labels = np.full(len(data), -1, dtype=np.int64)
    how = "the data has no labels"
    if "label" in data.column_names:
        labels, how = np.array(data["label"][:], dtype=np.int64), "the index of the right choice"
        if model_names is not None:
            names = tuple(data.features["label"].names)
            match = match_labels(
                names,
                model_names,
                used=np.unique(labels[labels >= 0]),
                seen=seen,
                first=first_label,
                where=where,
                remedy="first_label says which",
                rename="label_names",
            )
            # An index of -1 reads the last entry.
            class_of, how = np.append(match.class_of, -1), match.in_words
            labels = class_of[labels]
    return AuditSplit(
        name, role, data, labels, names, how, class_of, n_available, _fingerprint(data, labels), groups_column
    )


def choose_splits(
    available: Mapping[str, datasets.Dataset], split: str | Sequence[str] | None, where: str
) -> list[str]:
    """Choose which splits are audited, the primary one first.

    Named splits are taken as they are named. Else it is the first of test, validation and dev that has labels, with the
    splits whose names begin with its name and an underscore (test, test_absent, test_flipped); a dataset with one split
    is audited on that.
    """
    if split is not None:
        names = [name.strip() for name in split.split(",")] if isinstance(split, str) else list(split)
        for name in names:
            if name not in available:
                raise unknown_name(f"split of {where}", name, available)
        return list(dict.fromkeys(names))
    from rightreasons.data.opening.splits import choose_split

    primary = choose_split(available, where=where)
    return [primary, *(other for other in available if other.startswith(f"{primary}_"))]


# ------------------------------------------------------------------------------------------------------------- private


def _fingerprint(data: datasets.Dataset, labels: NDArray[np.int64]) -> str:
    digest = hashlib.blake2b(labels.tobytes(), digest_size=16)
    for column in ("id", "text", "text_pair", "prompt", "choices"):
        for value in data[column] if column in data.column_names else ():
            encoded = str(value).encode("utf-8", "surrogatepass")
            digest.update(len(encoded).to_bytes(8, "little") + encoded)
        digest.update(column.encode())
    return digest.hexdigest()


def _fingerprints_of(classifier: Asked | StoredModel) -> tuple[str, str]:
    """Digest the model, and its tokenizer where it has one of its own."""
    from rightreasons.auditing.stored import StoredModel
    from rightreasons.models.prompting.prompted import Prompted
    from rightreasons.models.running.fingerprint import fingerprint_model, fingerprint_tokenizer

    if isinstance(classifier, (StoredModel, Prompted)):
        return classifier.fingerprint, ""
    tokenizer = getattr(classifier, "tokenizer", None)
    return fingerprint_model(classifier.model), "" if tokenizer is None else fingerprint_tokenizer(tokenizer)
