"""Repairs of `evaluate` itself, which `repair_host` makes once per process.

Its combinations hand every input to every module, and its evaluators look for a class that
transformers 5 no longer has. Neither has a hook, so a few methods and one name are replaced.
"""

from __future__ import annotations

import functools
import inspect
import types
from typing import Any

_USUAL_INPUTS = ("predictions", "references")
"""Inputs for which `evaluate.combine` has its own parameters."""


@functools.cache
def repair_host() -> None:
    """Patch `evaluate`, so that `combine` and `evaluator` work with the modules of this package."""
    # Imported here, because the import takes seconds.
    from evaluate.evaluator import base
    from evaluate.module import CombinedEvaluations

    CombinedEvaluations.add = _pass_optional_inputs(CombinedEvaluations.add)
    CombinedEvaluations.add_batch = _pass_optional_inputs(CombinedEvaluations.add_batch)
    CombinedEvaluations.compute = _compute_with_own_arguments

    # If transformers is not installed, the module does not import it, and there is no evaluator.
    transformers = getattr(base, "transformers", None)
    if transformers is not None and not hasattr(transformers, "TFPreTrainedModel"):
        # Only the name in this module is replaced. A change of the package transformers itself would
        # make other libraries believe that it supports TensorFlow.
        base.transformers = _TransformersWithTensorFlow(transformers)


class _TransformersWithTensorFlow(types.ModuleType):
    """The package transformers with the class of TensorFlow models that its version 5 removed."""

    class TFPreTrainedModel:
        """Class without instances: evaluators check whether a model is one of TensorFlow."""

    def __init__(self, transformers: types.ModuleType) -> None:
        super().__init__(transformers.__name__)
        self._transformers = transformers

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transformers, name)


def _pass_optional_inputs(method: Any) -> Any:
    """Wrap a method of `evaluate.CombinedEvaluations`, so that it passes None for omitted inputs.

    Otherwise, a combination requires every input that one of its modules declares, even optional
    ones.

    Args:
        method: `add` or `add_batch` of `CombinedEvaluations`.

    Returns:
        A method with the same arguments.
    """

    @functools.wraps(method)
    def call(self: Any, *args: Any, **kwargs: Any) -> Any:
        optional: set[str] = set()
        for module in self.evaluation_modules:
            optional.update(getattr(module, "OPTIONAL_INPUTS", ()))
        omitted = optional - set(_USUAL_INPUTS) - set(kwargs)
        return method(self, *args, **dict.fromkeys(omitted), **kwargs)

    return call


def _compute_with_own_arguments(
    self: Any, predictions: Any = None, references: Any = None, **kwargs: Any
) -> dict[str, Any]:
    """Compute each module of a combination from only those arguments that the module declares.

    This function replaces `CombinedEvaluations.compute`, which passes all arguments to all modules.
    An argument that no module declares is passed to all of them, so that a misspelled name raises an
    error.

    Args:
        self: The combination.
        predictions: Predictions of the items.
        references: References of the items.
        **kwargs: Further inputs and options by name.

    Returns:
        The merged results of the modules.
    """
    arguments = {"predictions": predictions, "references": references, **kwargs}
    names_by_module = [_list_arguments(module) for module in self.evaluation_modules]
    all_names = set().union(*names_by_module)
    results = []
    for module, names in zip(self.evaluation_modules, names_by_module, strict=True):
        own_arguments = {}
        for name, value in arguments.items():
            if name in names or name not in all_names:
                own_arguments[name] = value
        results.append(module.compute(**own_arguments))
    merged: dict[str, Any] = self._merge_results(results)
    return merged


def _list_arguments(module: Any) -> set[str]:
    """Return the names of the inputs and options of a module of any package."""
    parameters = inspect.signature(module._compute).parameters
    return {*module._feature_names(), *parameters}
