"""A second model that judges texts of another one: `open_judge`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rightreasons.models.servers.options import ServerOptions
from rightreasons.models.wording import Prompt

if TYPE_CHECKING:
    from rightreasons.models.protocol import Engine


def open_judge(judge: str, judge_model: str | None) -> Engine:
    """Open a language model that reads the answers of another model.

    Args:
        judge: Folder or hub id of the model, or the address of a server.
        judge_model: Name of the model on the server. None if the server has only one.
    """
    # A judge in this process needs torch, which is not installed everywhere.
    from rightreasons.models.scorers import open_engine

    return open_engine(judge, Prompt(), ServerOptions(server_model=judge_model))
