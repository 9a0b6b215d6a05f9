"""Optional inputs of modules that `evaluate.combine` combines."""

from __future__ import annotations

import functools
from typing import Any


@functools.cache
def let_combine_omit_inputs() -> None:
    """Let `add` and `add_batch` of `evaluate.combine` omit optional inputs.

    The host looks up every input of every module by name, and fails if one is not given. Its class
    has no hook for this, so two of its methods are replaced, once per process.
    """
    # Imported late, because the import takes seconds.
    from evaluate.module import CombinedEvaluations

    CombinedEvaluations.add = _pass_optional_inputs(CombinedEvaluations.add)
    CombinedEvaluations.add_batch = _pass_optional_inputs(CombinedEvaluations.add_batch)


def _pass_optional_inputs(method: Any) -> Any:
    """Return a method of `CombinedEvaluations` that passes None for omitted optional inputs."""

    @functools.wraps(method)
    def call(self: Any, *args: Any, **kwargs: Any) -> Any:
        optional: set[str] = set()
        for module in self.evaluation_modules:
            optional.update(getattr(module, "OPTIONAL_INPUTS", ()))
        # The host has parameters of its own for these two, which may be given by position.
        omitted = optional - {"predictions", "references"} - set(kwargs)
        return method(self, *args, **dict.fromkeys(omitted), **kwargs)

    return call
