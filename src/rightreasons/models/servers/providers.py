"""Providers of inspect_ai (Anthropic, Google, Bedrock, Mistral and others) as servers: `Provider`.

Requests in OpenAI's format are converted to that of inspect_ai, and its replies back to OpenAI's.
Trials, journals, costs and bounds are then those of any server.
"""

from __future__ import annotations

import asyncio
import re
import threading
from collections.abc import Mapping
from typing import Any

from rightreasons.io.harnesses.inspect_logs import inspect_words
from rightreasons.models.servers.client import CHAT, Client
from rightreasons.models.servers.completions import BadReplyError
from rightreasons.models.servers.options import INSPECT
from rightreasons.models.servers.refusals import RequestError

_MARKUP = re.compile(r"\[/?[a-z]+\]")


class Provider(Client):
    """A client of a provider that inspect_ai knows, such as Anthropic.

    A field in `extra_body` with a name of inspect_ai's `GenerateConfig` is passed to inspect_ai,
    and any other field to the provider.

    Args:
        url: "inspect:PROVIDER/MODEL".
        options: Key, limits and other options.

    Raises:
        ValueError: If there is no such provider, or it lacks a package or a key.
    """

    failing = (Exception,)

    def _connect(self, url: str, headers: Mapping[str, str]) -> str:
        """Open a model of a provider, and start an event loop for its requests.

        Args:
            url: "inspect:PROVIDER/MODEL".
            headers: Headers of every request.

        Returns:
            "inspect:PROVIDER", the account whose costs are counted.

        Raises:
            ValueError: If inspect_ai has no such provider, or it lacks a package or a key.
        """
        from inspect_ai.model import GenerateConfig, get_model

        provider, _, self._name = url.removeprefix(INSPECT).partition("/")
        provider_fields = {}
        for name, value in self.extra.items():
            if name not in GenerateConfig.model_fields:
                provider_fields[name] = value
        # This client itself repeats requests, because it counts their costs.
        config = GenerateConfig(
            max_retries=0,
            attempt_timeout=self.options.timeout,
            max_connections=self.options.in_flight,
            extra_headers=dict(headers) or None,
            extra_body=provider_fields or None,
        )
        # Unless the user names a variable, inspect_ai reads the key from the provider's usual one.
        key = None
        if self.options.key_variable != type(self.options)().key_variable:
            key = self._key or None
        name = url.removeprefix(INSPECT)
        try:
            self._model = get_model(name, config=config, api_key=key, memoize=False)
        # inspect_ai raises errors of several types.
        except Exception as error:
            reason = self._escape(_MARKUP.sub("", str(error)).removeprefix("ERROR: "))
            raise ValueError(
                f"Expected a model that inspect_ai can ask, but of {url}: {reason}."
            ) from error
        if self._model.api.api_key:
            self._secrets.append(self._model.api.api_key)
        self._loop = asyncio.new_event_loop()
        threading.Thread(target=self._loop.run_forever, daemon=True).start()
        return f"{INSPECT}{provider}"

    def list_models(self) -> list[str]:
        """Return the name of the model."""
        return [self._name]

    def _send(self, path: str, body: Mapping[str, Any] | None) -> Any:
        """Send a request once, and return the output in the form of a reply of OpenAI's chat.

        Args:
            path: `CHAT`, because providers accept only conversations.
            body: The fields of the request, in the form of OpenAI.

        Raises:
            RequestError: If the path is another one, or inspect_ai does not have a parameter.
        """
        from inspect_ai.model import GenerateConfig, messages_from_openai

        if path != CHAT or body is None:
            raise RequestError("inspect_ai asks providers by conversations alone", status=404)
        config = GenerateConfig(**self._make_settings(body))

        async def generate() -> Any:
            turns = await messages_from_openai(body["messages"], model=self._name)
            return await self._model.generate(turns, config=config)

        output = asyncio.run_coroutine_threadsafe(generate(), self._loop).result()
        return _make_reply(output)

    def _make_settings(self, body: Mapping[str, Any]) -> dict[str, Any]:
        """Convert the parameters of a request to fields of inspect_ai's `GenerateConfig`.

        Args:
            body: The fields of the request, in the form of OpenAI.

        Raises:
            RequestError: If inspect_ai does not have a parameter.
        """
        from inspect_ai.model import GenerateConfig, ResponseSchema

        settings = {}
        for name, value in body.items():
            if name not in ("model", "messages"):
                settings[name] = value
        if "stop" in settings:
            settings["stop_seqs"] = settings.pop("stop")
        response_format = settings.pop("response_format", None)
        unknown = sorted(set(settings) - set(GenerateConfig.model_fields) - set(self.extra))
        if unknown or "prompt_logprobs" in settings:
            name = unknown[0] if unknown else "prompt_logprobs"
            reason = f"inspect_ai has no parameter {name} for providers"
            raise RequestError(reason, status=400)
        # The remaining fields are those for the provider, which `_connect` has set.
        config = {}
        for name, value in settings.items():
            if name in GenerateConfig.model_fields:
                config[name] = value
        if response_format is not None:
            schema = response_format["json_schema"]
            config["response_schema"] = ResponseSchema(
                name=schema["name"], json_schema=schema["schema"], strict=schema["strict"]
            )
        return config

    def _explain_failure(self, error: Exception, *, is_last: bool) -> RequestError:
        """Convert an error of inspect_ai or of a provider to a `RequestError`.

        Args:
            error: The error.
            is_last: Whether the request will not be repeated.
        """
        if isinstance(error, BadReplyError):
            return super()._explain_failure(error, is_last=is_last)
        error = _unwrap_error(error)
        # HTTP errors of the clients of OpenAI, Anthropic and others have these attributes.
        if hasattr(error, "status_code") and hasattr(error, "response"):
            body = getattr(error, "body", None) or str(error)
            return self._explain_refusal(error.status_code, body, error.response.headers)
        # For some providers, inspect_ai itself counts tokens, and downloads a file to do so.
        if isinstance(error, OSError) and "tiktoken" in str(error):
            return RequestError(
                "inspect_ai counts tokens with a file of tiktoken, which could not be downloaded: set "
                "TIKTOKEN_CACHE_DIR to a folder that contains this file",
                status=400,
                ends=True,
            )
        # A decision is a boolean, or an object with `retry` and `retry_after`.
        decision = self._model.api.should_retry(error)
        is_passing = getattr(decision, "retry", decision) or "Timeout" in type(error).__name__
        return RequestError(
            f"the provider fails: {type(error).__name__}: {self._escape(error)}",
            status=None if is_passing else 400,
            ends=self._model.api.is_auth_failure(error),
            wait=getattr(decision, "retry_after", None),
        )


def _unwrap_error(error: Exception) -> Exception:
    """Return the error of a provider that caused an error of inspect_ai or of tenacity."""
    # tenacity, with which inspect_ai repeats requests, stores the last error in its own.
    if hasattr(error, "last_attempt"):
        error = error.last_attempt.exception() or error
    # An error of inspect_ai quotes the whole request, and is caused by that of the provider.
    if isinstance(error, RuntimeError) and isinstance(error.__cause__, Exception):
        return error.__cause__
    return error


def _make_reply(output: Any) -> dict[str, Any]:
    """Convert an output of inspect_ai to a reply of OpenAI's chat, as `read_completion` reads it.

    Args:
        output: A `ModelOutput` of inspect_ai, with an error or with at least one choice.

    Returns:
        `{"model": ..., "choices": [{"message": ..., "finish_reason": ..., "logprobs": ...}],
        "usage": ...}`, where the message has "content", "reasoning_content" and "refusal".

    Raises:
        RequestError: If the provider refused the request.
    """
    if output.error and not output.choices:
        raise RequestError(f"the provider refuses the request ({output.error})", status=400)
    choices = []
    for output_choice in output.choices:
        choice = output_choice.model_dump()
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
    return {"model": output.model, "choices": choices, "usage": _make_usage(output.usage)}


def _make_usage(usage: Any) -> dict[str, Any]:
    """Convert the token counts of a provider to OpenAI's `usage`; empty if there are none."""
    if usage is None:
        return {}
    # inspect_ai does not include cached tokens in `input_tokens`, unlike OpenAI in `prompt_tokens`.
    n_cached = (usage.input_tokens_cache_read or 0) + (usage.input_tokens_cache_write or 0)
    return {
        "prompt_tokens": usage.input_tokens + n_cached,
        "completion_tokens": usage.output_tokens,
        "completion_tokens_details": {"reasoning_tokens": usage.reasoning_tokens},
    }
