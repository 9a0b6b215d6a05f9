"""The questions of an audit inside tasks of inspect_ai: each sample is also asked in its arms.

    inspect eval theirs.py --solver rightreasons/probed -S arms=orders,no_question
    inspect eval theirs.py --solver rightreasons/letters
    inspect score logs/LOG.eval --scorer rightreasons/arms

`audited(task)` does the same in Python. The arms run inside the sample, by `fork`: limits, epochs,
ids, resumption, the scorer and the accuracy of the task stay as they are. `rightreasons audit LOG`
makes a report of the log.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import anyio.to_thread
from inspect_ai import Task, task_with
from inspect_ai.model import ModelOutput, get_model
from inspect_ai.scorer import (
    CORRECT,
    INCORRECT,
    NOANSWER,
    SampleScore,
    Score,
    Target,
    metric,
    scorer,
)
from inspect_ai.solver import (
    Choices,
    Generate,
    Solver,
    TaskState,
    chain,
    fork,
    multiple_choice,
    solver,
)

from rightreasons.audited.logged_arms import ArmAnswer, read_arms, write_arms
from rightreasons.core.choices import LETTERS
from rightreasons.datasets.perturbing.arms import (
    DEFAULT_KINDS,
    Arm,
    check_kinds,
    list_arms,
    make_original,
)
from rightreasons.datasets.perturbing.probes import Pool
from rightreasons.integrations.arm_figures import compute_arm_figures
from rightreasons.integrations.inspect_engine import N_LIKELIEST, InspectEngine, make_messages
from rightreasons.integrations.item_asker import ItemAsker
from rightreasons.io.harnesses.inspect_logs import inspect_reply
from rightreasons.io.logs import ARMS_KEY, REQUESTS_KEY
from rightreasons.models.prompts import Item, Rendering
from rightreasons.models.replies.answers import read_answer
from rightreasons.models.wording import Prompt

LOGITS = "rightreasons_letters"
"""Key of the metadata of a state under which `letters` stores the scores of the choices."""

Kinds = str | Sequence[str]


# ---------------------------------------------------------------------------------- solvers


@solver  # type: ignore[untyped-decorator, unused-ignore]
def probed(
    arms: Kinds = DEFAULT_KINDS,
    *,
    answer: Solver | list[Solver] | None = None,
    ask: str = "text",
    cot: bool = False,
    pool: Pool | None = None,
    seed: int = 0,
) -> Solver:
    """Return a solver that answers a sample with choices, and its changed versions (arms).

    Args:
        arms: Kinds of arms, such as "orders" or "no_question"; see
            `rightreasons.datasets.perturbing.arms`.
        answer: Solvers that answer a sample. If None, those that `ask` names.
        ask: "text" for the solver `multiple_choice`, "letters" for `letters`.
        cot: Whether `multiple_choice` asks for a chain of thought.
        pool: Items whose questions and choices are used in arms such as "wrong_question". If None,
            these arms are omitted; `audited` passes the samples of its task.
        seed: Seed by which the arms are made.
    """
    kinds = check_kinds(arms)
    # Without a pool, only this sample is known, and arms with texts of other samples are impossible.
    if pool is None:
        kinds = tuple(kind for kind in kinds if not needs_pool(kind))
    answer_solver = _make_answer_solver(answer, ask, cot)

    async def solve(state: TaskState, generate: Generate) -> TaskState:
        """Answer the sample, then its changed versions, and store all answers in its metadata."""
        item = _read_item(state)
        answered_state = await fork(state, answer_solver)
        original_answer = _read_answer(answered_state, make_original(item))
        # The sample is answered first, because hints name another option than its answer.
        changed_arms = list(
            list_arms(
                item,
                kinds,
                pool=pool or Pool([item]),
                seed=seed,
                answer=original_answer.position,
            )
        )
        # Each version is asked in a copy of the original state, without the answer to the sample.
        arm_solvers = [chain(show_arm(arm), answer_solver) for arm in changed_arms]
        arm_states = await fork(state, arm_solvers)
        answers = [original_answer]
        for arm, arm_state in zip(changed_arms, arm_states, strict=True):
            answers.append(_read_answer(arm_state, arm))
        answered_state.metadata[ARMS_KEY] = write_arms(answers, seed=seed)
        # The scores, which `letters` stored here, are part of the answers now.
        answered_state.metadata.pop(LOGITS, None)
        return answered_state

    return solve


def needs_pool(kind: str) -> bool:
    """Return whether a kind of arm contains texts of other items.

    Example:
        >>> needs_pool("wrong_question"), needs_pool("orders")
        (True, False)
    """
    return kind in ("wrong_question", "no_right_answer") or kind.startswith("extra_choices")


def _make_answer_solver(answer: Solver | list[Solver] | None, ask: str, cot: bool) -> Solver:
    """Return the solver that answers a sample.

    Args:
        answer: Solvers that the user passed; None to make the solver that `ask` names.
        ask: "text" for the solver `multiple_choice`, "letters" for `letters`.
        cot: Whether `multiple_choice` asks for a chain of thought.
    """
    if isinstance(answer, list):
        return chain(answer)
    if answer is not None:
        return answer
    if ask == "letters":
        return letters()
    if ask != "text":
        raise ValueError(f"Expected `ask` to be 'text' or 'letters', but got {ask!r}.")
    return multiple_choice(cot=cot)


@solver  # type: ignore[untyped-decorator, unused-ignore]
def show_arm(arm: Arm) -> Solver:
    """Return a solver that replaces the question and the choices of a sample by those of an arm."""

    async def solve(state: TaskState, generate: Generate) -> TaskState:
        state.user_prompt.text = arm.text
        state.choices = Choices(list(arm.choices))
        return state

    return solve


@solver  # type: ignore[untyped-decorator, unused-ignore]
def letters(template: str | None = None, system: str | None = None) -> Solver:
    """Return a solver that asks for the letter of a choice, and takes the most likely one.

    It is for models that do not write a line such as "ANSWER: A". The model must return
    log-probabilities.

    Args:
        template: Template of the question, as for `rightreasons audit --template`. If None, that of
            an audit.
        system: System prompt. If None, there is none.
    """
    prompt = Prompt(style="letters", template=template, system=system)
    rendering = Rendering.from_prompt(prompt, chat=True, scorings=["next_words"])

    async def solve(state: TaskState, generate: Generate) -> TaskState:
        """Ask for one token, and mark the choice whose letter is the most likely one.

        If no letter is among the likeliest tokens, no choice is marked.
        """
        texts = [choice.value for choice in state.choices]
        fields = {"prompt": state.user_prompt.text, "choices": texts}
        request = rendering.request(Item(str(state.sample_id), fields))
        # The prompt of an audit replaces the messages of the task.
        state.messages = make_messages(request.prompt)
        state = await generate(state, max_tokens=1, logprobs=True, top_logprobs=N_LIKELIEST)
        logits = _read_letters(state, len(texts))
        if logits is not None:
            state.metadata[LOGITS] = logits
            position = logits.index(max(logits))
            # The scorer `choice` of inspect_ai reads which choice is marked.
            for index in range(len(texts)):
                state.choices.mark_choice(index, index == position)
            state.output.completion = f"ANSWER: {LETTERS[position]}"
        return state

    return solve


@solver  # type: ignore[untyped-decorator, unused-ignore]
def questioned(asker: ItemAsker, *, is_scored: bool = False) -> Solver:
    """Return a solver that answers a sample and all requests of an audit's questions about it.

    Args:
        asker: The questions, and the items of the task.
        is_scored: Whether the model is asked for the log-probabilities of letters.
    """

    async def solve(state: TaskState, generate: Generate) -> TaskState:
        """Send the requests of the questions, and mark the choice that the model picks.

        The answers are stored in the metadata of the sample, and thus in the log.
        """
        engine = InspectEngine(get_model(), is_scored=is_scored)
        # Questions wait for answers, and run in a thread so that other samples are not blocked.
        position, record = await anyio.to_thread.run_sync(asker.ask, engine, _read_item(state))
        state.metadata[REQUESTS_KEY] = record
        for index in range(len(state.choices)):
            state.choices.mark_choice(index, index == position)
        completion = f"ANSWER: {LETTERS[position]}" if position >= 0 else ""
        state.output = ModelOutput.from_content(str(state.model), completion)
        return state

    return solve


def _read_letters(state: TaskState, n_choices: int) -> list[float] | None:
    """Return the log-probability of the letter of each choice as the first token of an output.

    Args:
        state: The state after an answer, with the log-probabilities of the likeliest tokens.
        n_choices: Number of choices.

    Returns:
        `n_choices` log-probabilities. A letter that is not among the likeliest tokens gets the
        log-probability of the least likely of these. None if no letter is among them, or the model
        returns no log-probabilities.
    """
    logprobs = state.output.choices[0].logprobs
    if logprobs is None or not logprobs.content or not logprobs.content[0].top_logprobs:
        return None
    likeliest = logprobs.content[0].top_logprobs
    best: dict[str, float] = {}
    for token in likeliest:
        letter = token.token.strip()
        # The tokens " A" and "A" are the same answer, for which the likelier token counts.
        best[letter] = max(best.get(letter, -math.inf), token.logprob)
    marks = LETTERS[:n_choices]
    if not any(mark in best for mark in marks):
        return None
    # This is an upper bound for a letter that is not among the likeliest tokens.
    bound = min(token.logprob for token in likeliest)
    return [best.get(mark, bound) for mark in marks]


def _read_item(state: TaskState) -> dict[str, Any]:
    """Return a sample as an item with "id", "prompt", "choices" and "label".

    Raises:
        ValueError: If the sample has fewer than two choices.
    """
    texts = [choice.value for choice in state.choices]
    if len(texts) < 2:
        raise ValueError(
            f"Expected a sample with at least two choices, but {state.sample_id!r} has {len(texts)}."
        )
    return {
        "id": str(state.sample_id),
        "prompt": state.user_prompt.text,
        "choices": texts,
        "label": _find_label(state.target.text, len(texts)),
    }


def _find_label(target: str, n_choices: int) -> int:
    """Return the index of the choice that a target names; -1 for several, or another text."""
    letter = target.strip()
    if len(letter) != 1 or letter not in LETTERS[:n_choices]:
        return -1
    return LETTERS.index(letter)


def _read_answer(state: TaskState, arm: Arm) -> ArmAnswer:
    """Return the answer to an arm: the choice that the solver marked, or else that in the text.

    Args:
        state: The state after an answer.
        arm: The arm that was asked, which is a version of the sample.
    """
    # A solver may have shuffled the choices. Their original positions are those in the arm.
    marked_positions = [choice.original_position for choice in state.choices if choice.correct]
    # The position is -1 if there is no answer, or if several choices are marked.
    position = -1
    if len(marked_positions) == 1:
        position = marked_positions[0]
    elif not marked_positions:
        # The solver found no line "ANSWER: A", but the text may contain the answer in another form.
        reply = inspect_reply(state.output.model_dump(mode="json"))
        if not reply.no_answer_reason:
            letters_of_arm = LETTERS[: len(arm.choices)]
            position = read_answer(reply.text, letters_of_arm, texts=arm.choices)
    logits = state.metadata.get(LOGITS)
    if logits is not None:
        logits = tuple(logits)
    return ArmAnswer(arm, position, logits)


# ---------------------------------------------------------------------------------- scorer


@metric  # type: ignore[untyped-decorator, unused-ignore]
def right_reasons(level: float = 0.95) -> Any:
    """Figures of the arms, each with `_low` and `_high`, as in the report; NaN if undefined."""

    def compute(scores: list[SampleScore]) -> dict[str, float]:
        """Return name -> figure over all samples whose scores have the answers to their arms."""
        items = []
        # Samples that another solver answered have no arms, and are excluded.
        for sample in scores:
            metadata = sample.score.metadata or {}
            if ARMS_KEY in metadata:
                items.append(read_arms(str(sample.sample_id), metadata[ARMS_KEY]))
        return compute_arm_figures(items, level)

    return compute


@scorer(metrics=[right_reasons()], name="arms")  # type: ignore[untyped-decorator, unused-ignore]
def arms_scorer() -> Any:
    """Return a scorer for samples that `probed` has answered.

    The value of a score is whether the answer to the unchanged sample is correct. Its metadata has
    the answers to all arms, from which the metric `right_reasons` computes the figures.
    """

    async def score(state: TaskState, target: Target) -> Score:
        """Return whether the answer to the unchanged sample is correct, with all answers as metadata."""
        # The solver `probed` stores the answers to the sample and its changed versions here.
        record = state.metadata.get(ARMS_KEY)
        if record is None:
            return Score(value=NOANSWER, explanation="Its solver is not `rightreasons/probed`.")
        original = record["arms"]["original"]
        position = original["position"]
        if position < 0:
            return Score(value=NOANSWER, metadata={ARMS_KEY: record})
        value = CORRECT if position == original["label"] else INCORRECT
        return Score(value=value, answer=LETTERS[position], metadata={ARMS_KEY: record})

    return score


# ---------------------------------------------------------------------------------- task


def audited(task: Task, arms: Kinds = DEFAULT_KINDS, *, ask: str = "", seed: int = 0) -> Task:
    """Return a task that also asks changed versions (arms) of each sample.

    Args:
        task: A task whose samples have choices. Its solver answers the arms, too. Its scorers and
            metrics are kept.
        arms: Kinds of arms, such as "orders" or "no_question"; see
            `rightreasons.datasets.perturbing.arms`.
        ask: "" for the solver of the task, "letters" for `letters`, "text" for `multiple_choice`.
        seed: Seed by which the arms are made.

    Returns:
        The task with the solver `rightreasons/probed`, and with the scorer `rightreasons/arms` in
        addition to its own scorers.
    """
    # `task.scorer` may be a single scorer, a list, or None.
    own_scorers = task.scorer or []
    if not isinstance(own_scorers, list):
        own_scorers = [own_scorers]
    answer = None if ask else task.solver
    return task_with(
        task,
        solver=probed(
            check_kinds(arms), answer=answer, ask=ask or "text", pool=_make_pool(task), seed=seed
        ),
        scorer=[*own_scorers, arms_scorer()],
    )


def _make_pool(task: Task) -> Pool:
    """Return the samples of a task as items whose questions and choices can be used in arms."""
    rows = []
    # inspect_ai gives samples without an id the numbers 1, 2 and so on.
    for number, sample in enumerate(task.dataset, start=1):
        prompt = sample.input
        # The last message of a conversation is the question.
        if not isinstance(prompt, str):
            prompt = prompt[-1].text
        item_id = number if sample.id is None else sample.id
        rows.append({"id": str(item_id), "prompt": prompt, "choices": sample.choices or []})
    return Pool(rows)
