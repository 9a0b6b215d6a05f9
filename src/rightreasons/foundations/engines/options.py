"""Where independent tasks run, as options of a command."""

from __future__ import annotations

import dataclasses

from rightreasons.foundations.options import Options, option

ENGINES = ("serial", "loky", "dask", "ray")
ADDRESSED = ("dask", "ray")
"""Engines that may have an address, `dask://HOST:PORT`."""

FORMS = "serial, loky, dask, dask://HOST:PORT, ray or ray://HOST:PORT"


@dataclasses.dataclass(frozen=True)
class EngineOptions(Options):
    """Where the independent tasks of a command run.

    Example:
        >>> EngineOptions("dask://10.0.0.1:8786").name, EngineOptions("dask://10.0.0.1:8786").address
        ('dask', '10.0.0.1:8786')
        >>> EngineOptions().name, EngineOptions(jobs=4).name
        ('serial', 'loky')
    """

    engine: str | None = option(
        None, f"Where tasks run: {FORMS}; by default loky, processes of this machine, with --jobs above 1, else serial."
    )
    jobs: int | None = option(
        None, "Tasks at a time; by default as many as the engine has cores or workers.", minimum=1
    )

    def __post_init__(self) -> None:
        from rightreasons.foundations.validation import check_one_of

        super().__post_init__()
        check_one_of(self.name, ENGINES, "engine")
        if self.engine is not None and "://" in self.engine and not (self.address and self.name in ADDRESSED):
            raise ValueError(f"Expected `engine` to be {FORMS}, but got {self.engine!r}.")

    @property
    def name(self) -> str:
        """One of `ENGINES`."""
        if self.engine is None:
            return "loky" if (self.jobs or 1) > 1 else "serial"
        return self.engine.partition("://")[0]

    @property
    def address(self) -> str:
        """The host and the port of the engine; "" for one that is started here."""
        return (self.engine or "").partition("://")[2]
