"""The questions of an audit inside tasks of lm-evaluation-harness.

Around any task with `output_type: multiple_choice`, a YAML of four lines

    include: piqa.yaml
    task: piqa_questioned
    class: !function utils.Questioned
    metadata: {question: goal, questions: "probes,reasons,ways"}

asks each document what an audit asks, by the prompts of an audit: `rightreasons audit
samples_*.jsonl` and `rightreasons ways samples_*.jsonl` read the log. The harness sends all requests
at once. So each is sent that an answer could lead to, such as a hint to every option, and what
depends on the words of an answer is left out. `rightreasons data export DATA --to lm-eval
--questions probes,reasons,ways` writes such a task for any data.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from lm_eval.api.instance import Instance

from rightreasons.audited.recorded import RecordedEngine, RecordSettings
from rightreasons.core.replies import Reply
from rightreasons.integrations.item_asker import ItemAsker, check_questions
from rightreasons.integrations.lm_eval_arms import Probed, digest_document
from rightreasons.integrations.possible_requests import PossibleRequest
from rightreasons.io.logs import REQUESTS_KEY
from rightreasons.models.protocol import Generation
from rightreasons.models.wording import Prompt

DEFAULT_PROMPT = {"style": "letters", "scoring": "next_words"}
"""Options of the prompt: the harness tells no number of tokens, which words as answers would need."""


class Questioned(Probed):
    """A task of which each document is also asked what the questions of an audit ask.

    Besides what `Probed` reads, its `metadata` has `questions`, of probes, reasons and ways;
    `options`, question -> its options; and `prompt`, options of the prompt of an audit.
    """

    def __init__(self, config: dict[str, Any] | None = None, **options: Any) -> None:
        super().__init__(config=config, **options)
        metadata = self.config.metadata or {}
        # The probes are asked by the prompts of an audit, not by those of the task.
        self._kinds = ()
        rows = [self._make_item(doc) for doc in self._documents]
        prompt = Prompt.read({**DEFAULT_PROMPT, **metadata.get("prompt", {})}, "the prompt")
        self._asker = ItemAsker.make(
            rows,
            check_questions(metadata.get("questions", "probes,reasons,ways")),
            metadata.get("options", {}),
            prompt,
            self._seed,
        )
        self._has_template = False
        self._possible_requests: dict[str, dict[str, PossibleRequest]] = {}

    def construct_requests(self, doc: dict[str, Any], ctx: Any, **options: Any) -> Any:
        """Return the requests of a document, followed by those of the questions."""
        metadata = options.get("metadata")
        template = options.get("chat_template")
        # Whether conversations are asked is an argument of the run.
        self._has_template = bool(options.get("apply_chat_template"))
        requests = super().construct_requests(doc, ctx, **options)
        for possible in self._explore(doc).values():
            kind = "loglikelihood" if possible.options is None else "generate_until"
            request = Instance(
                request_type=kind,
                doc=doc,
                arguments=_make_arguments(possible, template),
                idx=len(requests),
                metadata=metadata,
            )
            requests.append(request)
        return requests

    def _explore(self, doc: dict[str, Any]) -> dict[str, PossibleRequest]:
        """Return the requests of a document, in one order whenever they are listed."""
        key = digest_document(doc)
        if key not in self._possible_requests:
            item = self._make_item(doc)
            self._possible_requests[key] = self._asker.explore(
                item, has_template=self._has_template
            )
        return self._possible_requests[key]

    def process_results(self, doc: dict[str, Any], results: Any) -> dict[str, Any]:
        """Return the metrics of a document; the answers to the questions are put into the document."""
        plain_doc = {name: value for name, value in doc.items() if name != REQUESTS_KEY}
        possible = self._explore(plain_doc)
        # Requests of the document itself come first.
        n_plain = len(results) - len(possible)
        answers = {}
        for (key, request), result in zip(possible.items(), results[n_plain:], strict=True):
            answers[key] = _read_result(request, result)
        settings = RecordSettings(
            questions={},
            prompt={},
            abilities=("next_words", "text"),
            has_template=self._has_template,
            is_single_pass=True,
            seed=self._seed,
        )
        engine = RecordedEngine("the model", settings, answers)
        # Of all possible requests, the record has those that the answers led to.
        _, record = self._asker.ask(engine, self._make_item(plain_doc))
        metrics = super().process_results(doc, results[:n_plain])
        doc[REQUESTS_KEY] = record
        return metrics


def _make_arguments(request: PossibleRequest, chat_template: Any) -> tuple[Any, ...]:
    """Return the arguments of a request of the harness."""
    prompt = request.prompt
    # Without a template, no conversation is asked.
    if not isinstance(prompt, str):
        prompt = chat_template([dict(turn) for turn in prompt])
    if request.options is None:
        return prompt, request.continuation
    return prompt, _make_generation(request.options)


def _make_generation(options: Generation) -> dict[str, Any]:
    """Return how an answer is generated, in the words of the harness."""
    arguments: dict[str, Any] = {
        "until": list(options.stop),
        "max_gen_toks": options.max_new_tokens,
        "do_sample": options.temperature > 0,
    }
    # A temperature is refused without draws.
    if options.temperature > 0:
        arguments |= {"temperature": options.temperature, "top_p": options.top_p}
    return arguments


def _read_result(request: PossibleRequest, result: Any) -> Sequence[Any]:
    """Return the answer to a request as a record has it."""
    if request.options is None:
        return [float(result[0]), 1.0]
    reply = Reply.parse(str(result), tags=request.options.tags)
    return [_list_fields(reply)]


def _list_fields(reply: Reply) -> Mapping[str, str]:
    return {"text": reply.text, "thinking": reply.thinking, "finish": reply.finish}
