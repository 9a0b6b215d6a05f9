"""Two gates for generated answers that cannot be read.

`check_first_answers` ends a run whose first answers are mostly unread before it costs more.
`compute_dependence` tests whether the unread answers depend on the correct answer, in which case no
figure of the others can be trusted.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy
from numpy.typing import NDArray

from rightreasons.core.errors import UnreadAnswersError
from rightreasons.core.significance import holm

N_FIRST = 20
"""Number of answers after which a run is checked."""

MAX_UNREAD_SHARE = 0.5
"""Share of unread answers among the first ones above which a run ends."""

MAX_UNREAD_FOR_VERDICT = 0.1
"""Share of unread answers above which the others conclude nothing."""

MAX_DEPENDENCE_P = 0.01
"""p-value below which unread answers are taken to depend on the correct answer."""

N_SHOWN = 3
MAX_SHOWN_CHARACTERS = 100


def check_first_answers(unread: Sequence[str], n_answers: int, model: str) -> None:
    """Check that at least half of the first answers of a run can be read.

    Args:
        unread: The answers that cannot be read, as texts or as reasons such as "refused".
        n_answers: Number of all answers. If it is less than `N_FIRST`, nothing is checked.
        model: Name of the model, for errors.

    Raises:
        UnreadAnswersError: If more than half of the answers cannot be read.

    Example:
        >>> check_first_answers(["Well, it depends."] * 9, 20, "toy")
    """
    if n_answers < N_FIRST or len(unread) <= MAX_UNREAD_SHARE * n_answers:
        return
    # A few texts in the error let the user see why they cannot be read.
    samples = []
    for text in unread[:N_SHOWN]:
        line = " ".join(text.split())
        if len(line) > MAX_SHOWN_CHARACTERS:
            # The end is shown, because an answer is expected there.
            line = f"…{line[-MAX_SHOWN_CHARACTERS:]}"
        samples.append(repr(line))
    raise UnreadAnswersError(
        f"Expected answers that can be read, but {len(unread)} of the first {n_answers} answers "
        f"of {model} cannot be read, such as {'; '.join(samples)}. Set `form` to 'constrained' if "
        "the server can restrict answers to the options. Otherwise set `pattern` to an "
        "expression that finds the answer, set `style` to 'letters' and `scoring` to "
        "'next_words', or raise `max_new_tokens`.",
        option=("form", "pattern", "style", "scoring", "max_new_tokens"),
    )


def compute_dependence(unread: Any, values: Any) -> float:
    r"""Test whether the share of unread answers depends on a value, such as the label.

    For each value, Fisher's exact test compares the share of unread answers with that of the other
    values. The smallest p-value after Holm's correction is returned.

    Args:
        unread: (N,) whether each answer is unread.
        values: (N,) the correct answer, its displayed position, or another group.

    Returns:
        The p-value. 1.0 if no answer or every answer is unread, or if all values are equal.

    Example:
        Of 20 answers, the 5 unread ones are all among the 10 with label 1:
        2 C(10, 5) / C(20, 5) = 504 / 15504.

        >>> labels = [0, 1] * 10
        >>> unread = [False, True] * 5 + [False] * 10
        >>> round(compute_dependence(unread, labels), 4), round(504 / 15504, 4)
        (0.0325, 0.0325)
    """
    is_unread: NDArray[np.bool_] = np.asarray(unread, dtype=np.bool_)
    groups = np.asarray(values)
    distinct_values = np.unique(groups)
    if is_unread.all() or not is_unread.any() or len(distinct_values) < 2:
        return 1.0
    # With two values, both have the same table and test.
    if len(distinct_values) == 2:
        distinct_values = distinct_values[:1]
    p_values = []
    for value in distinct_values:
        has_value = groups == value
        n_unread = (is_unread & has_value).sum()
        n_read = (~is_unread & has_value).sum()
        n_other_unread = (is_unread & ~has_value).sum()
        n_other_read = (~is_unread & ~has_value).sum()
        table = np.array([[n_unread, n_read], [n_other_unread, n_other_read]])
        p_values.append(float(scipy.stats.fisher_exact(table).pvalue))
    return float(holm(np.array(p_values)).min())
