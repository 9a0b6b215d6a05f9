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
"""Options of the prompt: answers are letters, because the harness returns no numbers of tokens."""


class Questioned(Probed):
    """A task that also sends the requests of the questions of an audit about each document.

    In addition to the fields of `Probed`, its `metadata` has `questions`, some of probes, reasons and
    ways; `options`, question -> its options; and `prompt`, options of the prompt of an audit.
    """

    def __init__(self, config: dict[str, Any] | None = None, **options: Any) -> None:
        """Make a task from its configuration.

        Args:
            config: Content of the YAML file of the task. Its `metadata` must have `question`, the
                field of the question, and may have `questions`, `options` and `prompt`.
            **options: Further arguments of a task of the harness.
        """
        super().__init__(config=config, **options)
        metadata = self.config.metadata or {}
        # The superclass must not ask arms with the prompts of the task: here, the questions ask for
        # them with the prompts of an audit.
        self._kinds = ()
        rows = [self._make_item(doc) for doc in self._documents]
        prompt_options = {**DEFAULT_PROMPT, **metadata.get("prompt", {})}
        questions = check_questions(metadata.get("questions", "probes,reasons,ways"))
        self._asker = ItemAsker.make(
            rows=rows,
            questions=questions,
            options=metadata.get("options", {}),
            prompt=Prompt.read(prompt_options, "the prompt"),
            seed=self._seed,
        )
        # `construct_requests` sets both.
        self._has_template = False
        self._requests_by_document: dict[str, DocumentRequests] = {}

    def construct_requests(self, doc: dict[str, Any], ctx: Any, **options: Any) -> Any:
        """Return the requests of a document, followed by all that the questions could send about it.

        Args:
            doc: The document.
            ctx: Its context: few-shot examples and the question.
            **options: Further options of the harness, such as `apply_chat_template`.
        """
        metadata = options.get("metadata")
        # Whether prompts are conversations is an option of the run, which is passed only here.
        self._has_template = bool(options.get("apply_chat_template"))
        requests = super().construct_requests(doc, ctx, **options)
        item = self._make_item(doc)
        document_requests = DocumentRequests(
            self._asker.explore(item, has_template=self._has_template),
            self._asker.explore_posix(item, has_template=self._has_template),
            options.get("chat_template"),
        )
        # They are stored for `process_results`, which gets only the document.
        self._requests_by_document[digest_document(doc)] = document_requests
        for request_type, arguments in document_requests.list_arguments():
            request = Instance(
                request_type=request_type,
                doc=doc,
                arguments=arguments,
                idx=len(requests),
                metadata=metadata,
            )
            requests.append(request)
        return requests

    def process_results(self, doc: dict[str, Any], results: Any) -> dict[str, Any]:
        """Return the metrics of a document, and add the answers to the questions to it for the log.

        Args:
            doc: The document, which is modified.
            results: Result of each request, in the order of `construct_requests`.

        Raises:
            ValueError: If `construct_requests` was not called, because the requests were cached.
        """
        plain_doc = {name: value for name, value in doc.items() if name != REQUESTS_KEY}
        document_requests = self._requests_by_document.get(digest_document(plain_doc))
        if document_requests is None:
            raise ValueError(
                f"Expected requests of {self.config.task} that are made in this run, but they come "
                "from a cache: run it without --cache_requests."
            )
        # The requests of the document come first.
        n_plain_requests = len(results) - len(document_requests)
        answers = document_requests.read_answers(results[n_plain_requests:])
        # The engine needs no settings of the questions and the prompt: the asker records these.
        settings = RecordSettings(
            questions={},
            prompt={},
            abilities=("next_words", "text"),
            has_template=self._has_template,
            is_single_pass=True,
            seed=self._seed,
        )
        engine = RecordedEngine("the model", settings, answers)
        # The asker runs the questions again with all answers, and records only those requests to
        # which the answers of the model lead.
        _, record = self._asker.ask(engine, self._make_item(plain_doc))
        metrics = super().process_results(doc, results[:n_plain_requests])
        doc[REQUESTS_KEY] = record
        return metrics


class DocumentRequests:
    """The requests of a document to the harness, and the answers in its results.

    The harness moves white space at the end of a prompt, such as that of a chat template, to the
    continuation, and returns the log-probability of both. Between the options of one prompt, this
    makes no difference. For POSIX, which compares prompts, the log-probability of the white space is
    requested as well, and subtracted.

    Args:
        possible: Key -> request, for each request that an answer could lead to.
        compared: Key -> request, for those whose log-probability is compared between prompts.
        chat_template: Function that returns the turns of a conversation as a string. None without a
            chat template.
    """

    def __init__(
        self,
        possible: Mapping[str, PossibleRequest],
        compared: Mapping[str, PossibleRequest],
        chat_template: Any,
    ) -> None:
        """Collect the requests, with one for the white space at the end of each compared prompt."""
        self._possible = possible
        self._chat_template = chat_template
        # All options of a prompt share the request for its white space.
        distinct_prompts = dict.fromkeys(self._render(request) for request in compared.values())
        self._spaced_prompts = []
        for prompt in distinct_prompts:
            if prompt != prompt.rstrip():
                self._spaced_prompts.append(prompt)

    def __len__(self) -> int:
        return len(self._possible) + len(self._spaced_prompts)

    def list_arguments(self) -> list[tuple[str, tuple[Any, ...]]]:
        """Return (type, arguments) of each request in the format of the harness.

        The requests that an answer could lead to come first: the log-likelihood of a continuation, or
        a generated answer. Those for white space at the end of a prompt follow.
        """
        requests: list[tuple[str, tuple[Any, ...]]] = []
        for request in self._possible.values():
            prompt = self._render(request)
            if request.options is None:
                context, space = split_white_space(prompt)
                arguments = (context, f"{space}{request.continuation}")
                requests.append(("loglikelihood", arguments))
            else:
                requests.append(("generate_until", (prompt, _make_generation(request.options))))
        for prompt in self._spaced_prompts:
            requests.append(("loglikelihood", split_white_space(prompt)))
        return requests

    def read_answers(self, results: Sequence[Any]) -> dict[str, Sequence[Any]]:
        """Return the answers of the model from the results of all requests, in the format of a record.

        Args:
            results: Result of each request, in the order of `list_arguments`: (log-likelihood, is
                greedy) of a continuation, or a generated text.

        Returns:
            Key of a request -> [log-probability, number of tokens] or [fields of the reply].
        """
        n_possible = len(self._possible)
        # Prompt -> log-probability of the white space at its end.
        space_by_prompt = {}
        for prompt, result in zip(self._spaced_prompts, results[n_possible:], strict=True):
            space_by_prompt[prompt] = float(result[0])
        answers: dict[str, Sequence[Any]] = {}
        for (key, request), result in zip(
            self._possible.items(), results[:n_possible], strict=True
        ):
            if request.options is None:
                # The result is the log-probability of the white space and the continuation.
                space = space_by_prompt.get(self._render(request), 0.0)
                # The harness does not return the number of tokens, which is 1 for a letter.
                answers[key] = [float(result[0]) - space, 1.0]
            else:
                reply = Reply.parse(str(result), tags=request.options.tags)
                answers[key] = [_list_fields(reply)]
        return answers

    def _render(self, request: PossibleRequest) -> str:
        """Return the text of a prompt."""
        if isinstance(request.prompt, str):
            return request.prompt
        # Without a template, no conversation is asked.
        return str(self._chat_template([dict(turn) for turn in request.prompt]))


def split_white_space(prompt: str) -> tuple[str, str]:
    r"""Return a prompt without the white space at its end, and that white space.

    Example:
        >>> split_white_space("Answer:\n")
        ('Answer:', '\n')
    """
    context = prompt.rstrip()
    return context, prompt[len(context) :]


def _make_generation(options: Generation) -> dict[str, Any]:
    """Return the options of a generated answer in the format of the harness.

    Args:
        options: Stop strings, maximum number of tokens, temperature and top_p.
    """
    arguments: dict[str, Any] = {
        "until": list(options.stop),
        "max_gen_toks": options.max_new_tokens,
        "do_sample": options.temperature > 0,
    }
    # Without sampling, some models refuse these arguments.
    if options.temperature > 0:
        arguments |= {"temperature": options.temperature, "top_p": options.top_p}
    return arguments


def _list_fields(reply: Reply) -> Mapping[str, str]:
    return {"text": reply.text, "thinking": reply.thinking, "finish": reply.finish}
