"""An engine in front of another one, which counts, records or repeats its answers."""

from __future__ import annotations

from typing import Any

from rightreasons.models.protocol import Engine


class WrappedEngine:
    """An engine with all members of another one, except for those that a subclass replaces.

    Args:
        engine: The other engine.
    """

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def __getattr__(self, name: str) -> Any:
        # Python calls this only for members that neither the object nor its class has.
        return getattr(self._engine, name)
