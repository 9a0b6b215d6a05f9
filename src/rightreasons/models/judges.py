"""A second model that reads what another one wrote: `open_judge`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rightreasons.models.servers.options import ServerOptions
from rightreasons.models.wording import Prompt

if TYPE_CHECKING:
    from rightreasons.models.protocol import Engine


def open_judge(judge: str, judge_model: str | None) -> Engine:
    """Open a second model.

    Args:
        judge: Folder or hub id of a language model, or the address of a server.
        judge_model: Name of the model on the server; None for the only one.
    """
    # A judge on this machine needs torch, which other models do not.
    from rightreasons.models.scorers import open_engine

    return open_engine(judge, Prompt(), ServerOptions(server_model=judge_model))
