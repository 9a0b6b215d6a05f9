"""Providers of inspect_ai (Anthropic, Google, Bedrock, Mistral and others), each asked as if it were a server.

What is asked in the words of OpenAI's conversations is put into inspect_ai's, and what it returns back into those, so
that trial, flight, stores, counts and bounds are those of any server.
"""

from __future__ import annotations

import asyncio
import re
import threading
from collections.abc import Mapping
from typing import Any

from rightreasons.io.harnesses.inspect_logs import inspect_words
from rightreasons.models.servers.client import CHAT, BadReplyError, Client, RequestError
from rightreasons.models.servers.options import INSPECT

_MARKUP = re.compile(r"\[/?[a-z]+\]")


class Provider(Client):
    """A model of a provider that inspect_ai knows; `url` is "inspect:PROVIDER/MODEL".

    A field of inspect_ai's `GenerateConfig` in `extra_body` is one of the request, anything else goes to the provider.

    Raises:
        ValueError: If there is no such provider, or it lacks a package or a key.
    """

    failing = (Exception,)

    def _connect(self, url: str, headers: Mapping[str, str]) -> str:
        from inspect_ai.model import GenerateConfig, get_model

        provider, _, self._name = url.removeprefix(INSPECT).partition("/")
        extra = {
            name: value
            for name, value in self.more.items()
            if name not in GenerateConfig.model_fields
        }
        # Repeating and waiting are this client's, which counts and stores them.
        config = GenerateConfig(
            max_retries=0,
            attempt_timeout=self.options.timeout,
            max_connections=self.options.in_flight,
            extra_headers=dict(headers) or None,
            extra_body=extra or None,
        )
        key = self._key if self.options.key_variable != type(self.options)().key_variable else None
        try:
            self._model = get_model(
                url.removeprefix(INSPECT), config=config, api_key=key or None, memoize=False
            )
        except Exception as error:  # of a package of its own where one is absent
            reason = self._say(_MARKUP.sub("", str(error)).removeprefix("ERROR: "))
            raise ValueError(
                f"Expected a model that inspect_ai can ask, but of {url}: {reason}."
            ) from error
        self._secrets += [self._model.api.api_key] if self._model.api.api_key else []
        self._loop = asyncio.new_event_loop()
        threading.Thread(target=self._loop.run_forever, daemon=True).start()
        return f"{INSPECT}{provider}"

    def models(self) -> list[str]:
        """Return the name of the model."""
        return [self._name]

    def _send(self, path: str, body: Mapping[str, Any] | None) -> Any:
        from inspect_ai.model import GenerateConfig, ResponseSchema, messages_from_openai

        if path != CHAT or body is None:
            raise RequestError("inspect_ai asks providers by conversations alone", status=404)
        settings = {
            name: value for name, value in body.items() if name not in ("model", "messages")
        }
        if "stop" in settings:
            settings["stop_seqs"] = settings.pop("stop")
        form = settings.pop("response_format", None)
        unknown = sorted(set(settings) - set(GenerateConfig.model_fields) - set(self.more))
        if unknown or "prompt_logprobs" in settings:
            raise RequestError(
                f"inspect_ai has no parameter {(unknown or ['prompt_logprobs'])[0]} for providers",
                status=400,
            )
        if form is not None:
            schema = form["json_schema"]
            settings["response_schema"] = ResponseSchema(
                name=schema["name"], json_schema=schema["schema"], strict=schema["strict"]
            )
        known = {
            name: value for name, value in settings.items() if name in GenerateConfig.model_fields
        }

        async def generated() -> Any:
            turns = await messages_from_openai(body["messages"], model=self._name)
            return await self._model.generate(turns, config=GenerateConfig(**known))

        return _reply_of(asyncio.run_coroutine_threadsafe(generated(), self._loop).result())

    def _failure(self, error: Exception, *, last: bool) -> RequestError:
        if isinstance(error, BadReplyError):
            return super()._failure(error, last=last)
        if hasattr(error, "last_attempt"):  # of tenacity, as inspect_ai would have repeated it
            error = error.last_attempt.exception() or error
        if isinstance(error, RuntimeError) and isinstance(
            error.__cause__, Exception
        ):  # it tells the whole request
            error = error.__cause__
        if hasattr(error, "status_code") and hasattr(
            error, "response"
        ):  # providers' own clients are made alike
            return self._refusal(
                error.status_code,
                getattr(error, "body", None) or str(error),
                error.response.headers,
            )
        decision = self._model.api.should_retry(error)
        passing = getattr(decision, "retry", decision) or "Timeout" in type(error).__name__
        return RequestError(
            f"the provider fails: {type(error).__name__}: {self._say(error)}",
            status=None if passing else 400,
            ends=self._model.api.is_auth_failure(error),
            wait=getattr(decision, "retry_after", None),
        )


def _reply_of(output: Any) -> dict[str, Any]:
    """Return what inspect_ai returns as a reply of a chat."""
    if output.error and not output.choices:
        raise RequestError(f"the provider refuses the request ({output.error})", status=400)
    usage, counted = output.usage, {}
    if usage is not None:
        cached = (usage.input_tokens_cache_read or 0) + (usage.input_tokens_cache_write or 0)
        counted = {
            "prompt_tokens": usage.input_tokens + cached,
            "completion_tokens": usage.output_tokens,
        }
        counted["completion_tokens_details"] = {"reasoning_tokens": usage.reasoning_tokens}
    choices = []
    for choice in (each.model_dump() for each in output.choices):
        words = inspect_words(choice["message"]["content"])
        message = {
            "content": words["text"],
            "reasoning_content": words["thinking"],
            "refusal": words["refusal"],
        }
        choices.append(
            {
                "message": message,
                "finish_reason": choice["stop_reason"],
                "logprobs": choice["logprobs"],
            }
        )
    return {"model": output.model, "choices": choices, "usage": counted}
