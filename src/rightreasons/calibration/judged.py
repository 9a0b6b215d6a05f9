"""Labeled items with the scores of a model, the input of all figures of calibration.

`JudgedItems.of` parses scores and labels once. The figures read its plain arrays, and share what is
slow to compute: the binned error, the resamples, the null model and the canonical order.
"""

from __future__ import annotations

import dataclasses
import functools
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rightreasons.calibration.confidences import TopLabel, parse_top_label
from rightreasons.calibration.error_interval import Draws, draw_resamples
from rightreasons.calibration.errors import (
    CalibrationErrorOptions,
    CalibrationResult,
    bin_pairs,
    find_mistake,
    make_calibration_result,
)
from rightreasons.calibration.options import CalibrationOptions
from rightreasons.calibration.smooth import ConsistencyResult, consistency
from rightreasons.core.arrays import Floats, Ragged, take_rows
from rightreasons.core.binning import BinnedPairs
from rightreasons.core.clusters import count_units, select_clusters
from rightreasons.core.ordering import argsort_canonical
from rightreasons.core.resampling import Resampling


@dataclasses.dataclass(frozen=True, eq=False)
class JudgedItems:
    """Labeled items with the scores of a model.

    Attributes:
        logits: (N, K) logits, or `Ragged` if the number of choices varies. For kind="confidence":
            (N, 2) log-probabilities of an incorrect and of a correct answer.
        top: Top label of each item.
        kind: "top_label" for class scores, "confidence" if only the confidence in the given answers
            is known.
        n_bins: Number of bins of the binned figures.
        clusters: (N,) name of the cluster of each item; None if the items are independent.
    """

    logits: Floats | Ragged
    top: TopLabel
    kind: str = "top_label"
    n_bins: int = CalibrationOptions().n_bins
    clusters: NDArray[Any] | None = None
    _cache: dict[Any, Any] = dataclasses.field(default_factory=dict, init=False, repr=False)

    def __len__(self) -> int:
        return len(self.top)

    @classmethod
    def of(
        cls,
        logits: Floats | Ragged,
        labels: NDArray[np.int64],
        *,
        probabilities: Floats | Ragged | None = None,
        kind: str = "top_label",
        n_bins: int = CalibrationOptions().n_bins,
        clusters: Any = None,
    ) -> JudgedItems:
        """Parse scores and labels, and leave out unlabeled items.

        Args:
            logits: (N, K) logits, or `Ragged`.
            labels: (N,) labels, -1 for unlabeled items. For kind="confidence": whether the given
                answer is correct.
            probabilities: The probabilities that the logits were computed from: (N, K) or `Ragged`,
                and (N,) for kind="confidence". If None, they are computed from the logits.
            kind: "top_label" or "confidence".
            n_bins: Number of bins of the binned figures.
            clusters: (N,) name of the cluster of each item; None if the items are independent.

        Returns:
            The labeled items.
        """
        rows = np.flatnonzero(labels >= 0)
        # A table is copied only if rows are excluded.
        has_all_rows = len(rows) == len(labels)
        if not has_all_rows or isinstance(logits, Ragged):
            labels = labels[rows]
            logits = take_rows(logits, rows)
            if probabilities is not None:
                probabilities = take_rows(probabilities, rows)
        if probabilities is None:
            # Logits are class scores, even if `kind` is "confidence".
            kind = "top_label"
            top = parse_top_label(logits, labels, scores="logits")
        else:
            exact: Any = probabilities
            if isinstance(exact, Ragged):
                exact = list(exact)
            top = parse_top_label(exact, labels, kind=kind)
        return cls(logits, top, kind, n_bins, select_clusters(clusters, rows))

    @property
    def n_units(self) -> int:
        """Number of independent units: clusters, or items without clusters."""
        return count_units(self.clusters, len(self))

    @property
    def has_fixed_classes(self) -> bool:
        """Whether all items have the same classes, unlike multiple choice and given answers."""
        return self.kind == "top_label" and not isinstance(self.logits, Ragged)

    @property
    def table(self) -> Floats:
        """(N, K) probabilities of items with the same classes."""
        return np.asarray(self.top.probabilities)

    @property
    def label_probability(self) -> Floats:
        """(N,) probability of the label, in [0, 1], of items with the same classes."""
        rows = np.arange(len(self))
        # Rounding may lift a probability slightly above 1.
        return np.clip(self.table[rows, self.top.labels], 0.0, 1.0)

    def count_masked_units(self, mask: NDArray[np.bool_]) -> int:
        """Return the number of independent units among the items of a mask."""
        n_items = int(np.count_nonzero(mask))
        return count_units(select_clusters(self.clusters, mask), n_items)

    @functools.cached_property
    def canonical_answers(self) -> tuple[Floats, NDArray[np.bool_], NDArray[Any] | None]:
        """(N,) confidences, (N,) correctness and (N,) clusters of the items, sorted by their values.

        Because of the sorting, random groups do not depend on the order of the input. The clusters
        are None if the items are independent.
        """
        top = self.top
        # Items are sorted by all columns, so that only equal items keep the order of the input.
        columns = [top.confidence, top.predicted, top.correct, top.labels]
        if not isinstance(top.probabilities, Ragged):
            columns.append(top.probabilities)
        order = argsort_canonical(*columns)
        clusters = select_clusters(self.clusters, order)
        return top.confidence[order], top.correct[order], clusters

    # --- Results that several figures share

    @functools.cached_property
    def binned_error(self) -> CalibrationResult:
        """The plain calibration error with its bins, without an interval."""
        return self.compute_error()

    def compute_error(
        self, resampling: Resampling | None = None, **options: Any
    ) -> CalibrationResult:
        """Return a binned calibration error.

        Args:
            resampling: Level, resamples and seed of the interval; None for no interval.
            **options: Fields of `CalibrationErrorOptions`, such as norm="l2". By default, `n_bins` and
                `kind` are those of these items.
        """
        fields = {"n_bins": self.n_bins, "kind": self.kind, **options}
        parsed = CalibrationErrorOptions(**fields)
        draws = None
        # The largest gap (norm="max") has no interval, so it needs no resamples.
        if resampling is not None and parsed.norm != "max":
            draws = self.get_resamples(parsed, resampling)
        sample = self.get_binned_pairs(parsed)
        return make_calibration_result(
            self.top, sample, parsed, resampling, draws=draws, mistake=self._mistake
        )

    @functools.cached_property
    def _mistake(self) -> type[UserWarning] | None:
        return find_mistake(self.top, is_vector=False)

    def get_binned_pairs(self, options: CalibrationErrorOptions) -> BinnedPairs:
        """Return the items in bins, which are cached: errors of all norms and levels share them."""
        key = ("bins", options.kind, options.strategy, options.n_bins)
        if key not in self._cache:
            self._cache[key] = bin_pairs(self.top, options, self.clusters)
        sample: BinnedPairs = self._cache[key]
        return sample

    def get_resamples(self, options: CalibrationErrorOptions, resampling: Resampling) -> Draws:
        """Return bootstrap resamples of the items, from a cache if they were drawn before.

        Args:
            options: Options of the error; the resamples depend on its kind and bins, not on its norm.
            resampling: Number of resamples and seed; the level does not matter.
        """
        # Without the norm and the level in the key, errors of all norms and levels share resamples.
        key = (
            "resamples",
            options.kind,
            options.strategy,
            options.n_bins,
            resampling.resamples,
            resampling.seed,
        )
        if key not in self._cache:
            self._cache[key] = draw_resamples(self.get_binned_pairs(options), resampling)
        draws: Draws = self._cache[key]
        return draws

    def get_null_model(self, resampling: Resampling) -> ConsistencyResult:
        """Return the errors that a calibrated model with the same confidences would have by chance.

        The result is cached for each resampling.

        Args:
            resampling: Level, number of simulated errors, and seed.

        Returns:
            The simulated errors in comparison with the observed one.
        """
        key = ("null model", resampling)
        if key not in self._cache:
            calibrated = None
            if self.clusters is not None:
                # The items of a cluster are dependent. Their events were simulated together with the
                # resamples of the error.
                options = CalibrationErrorOptions(n_bins=self.n_bins, kind=self.kind)
                draws = self.get_resamples(options, resampling)
                if draws.calibrated is not None:
                    calibrated = draws.calibrated[:, 0]
            self._cache[key] = consistency(
                self.binned_error, calibrated=calibrated, resampling=resampling
            )
        null_model: ConsistencyResult = self._cache[key]
        return null_model
