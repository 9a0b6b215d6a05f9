"""How a server is asked, declared once."""

from __future__ import annotations

import dataclasses

from rightreasons.foundations.options import Options, option


@dataclasses.dataclass(frozen=True)
class ServerOptions(Options):
    """How an OpenAI-compatible server is asked."""

    server_model: str | None = option(
        None, "Name of the model on the server; by default the only one that the server lists."
    )
    key_variable: str = option(
        "OPENAI_API_KEY", "Environment variable that holds the server's key; the key itself is written nowhere."
    )
    in_flight: int = option(8, "Requests in flight at the same time.", minimum=1)
    requests_per_minute: int | None = option(None, "Maximum requests per minute; by default as many as go.", minimum=1)
    timeout: int = option(120, "Seconds to wait for a reply before the request is repeated.", minimum=1)
    retries: int = option(5, "How often a request that fails is repeated, with growing pauses.", minimum=0)
    prompt_price: float | None = option(None, "Price of a million prompt tokens, for the count of what a run costs.")
    answer_price: float | None = option(None, "Price of a million generated tokens.")

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("prompt_price", "answer_price"):
            price = getattr(self, name)
            if price is not None and not (isinstance(price, (int, float)) and 0 <= price < float("inf")):
                raise ValueError(f"Expected `{name}` to be zero or more, but got {price!r}.")
