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
"""Key of the metadata of a state under which `letters` leaves the scores of the choices."""

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
    """Answer a sample with choices, and its changed versions.

    Args:
        arms: Kinds of arms, see `rightreasons.datasets.perturbing.arms`.
        answer: Solvers that answer a sample. If None, those that `ask` names.
        ask: "text" for `multiple_choice`, "letters" for `letters`.
        cot: Whether `multiple_choice` asks for a chain of thought.
        pool: Items from which another question or choices are borrowed. If None, kinds of arms that
            borrow are left out; `audited` passes the samples of its task.
        seed: Seed of what is drawn.
    """
    kinds = check_kinds(arms)
    # A solver knows its sample alone, and can borrow nothing from others.
    if pool is None:
        kinds = tuple(kind for kind in kinds if not needs_pool(kind))
    answer_solver = _make_answer_solver(answer, ask, cot)

    async def solve(state: TaskState, generate: Generate) -> TaskState:
        """Answer the sample, then its changed versions, and put all answers into its metadata."""
        item = _read_item(state)
        answered_state = await fork(state, answer_solver)
        original_answer = _read_answer(answered_state, make_original(item))
        # Hints name another option than this answer, so that it comes first.
        changed_arms = list(
            list_arms(
                item,
                kinds,
                pool=pool or Pool([item]),
                seed=seed,
                answer=original_answer.position,
            )
        )
        # Each version starts from the sample as it came, not from the answer to it.
        arm_solvers = [chain(show_arm(arm), answer_solver) for arm in changed_arms]
        arm_states = await fork(state, arm_solvers)
        answers = [original_answer]
        for arm, arm_state in zip(changed_arms, arm_states, strict=True):
            answers.append(_read_answer(arm_state, arm))
        answered_state.metadata[ARMS_KEY] = write_arms(answers, seed=seed)
        # The scores are among the answers now.
        answered_state.metadata.pop(LOGITS, None)
        return answered_state

    return solve


def needs_pool(kind: str) -> bool:
    """Return whether a kind of arm borrows texts of other items.

    Example:
        >>> needs_pool("wrong_question"), needs_pool("orders")
        (True, False)
    """
    return kind in ("wrong_question", "no_right_answer") or kind.startswith("extra_choices")


def _make_answer_solver(answer: Solver | list[Solver] | None, ask: str, cot: bool) -> Solver:
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
    """Put an arm in the place of the sample."""

    async def solve(state: TaskState, generate: Generate) -> TaskState:
        state.user_prompt.text = arm.text
        state.choices = Choices(list(arm.choices))
        return state

    return solve


@solver  # type: ignore[untyped-decorator, unused-ignore]
def letters(template: str | None = None, system: str | None = None) -> Solver:
    """Ask for the letter of a choice alone, and take the likeliest, as an audit does.

    It needs a model that returns log-probabilities, and suits models that never write "ANSWER: A".

    Args:
        template: Template of the question, as for `rightreasons audit --template`. If None, that of
            an audit.
        system: System prompt. If None, there is none.
    """
    prompt = Prompt(style="letters", template=template, system=system)
    rendering = Rendering.settle(prompt, chat=True, scorings=["next_words"])

    async def solve(state: TaskState, generate: Generate) -> TaskState:
        texts = [choice.value for choice in state.choices]
        fields = {"prompt": state.user_prompt.text, "choices": texts}
        request = rendering.request(Item(str(state.sample_id), fields))
        # The request is that of an audit, in place of the messages of the task.
        state.messages = make_messages(request.prompt)
        state = await generate(state, max_tokens=1, logprobs=True, top_logprobs=N_LIKELIEST)
        logits = _read_letters(state, len(texts))
        if logits is not None:
            state.metadata[LOGITS] = logits
            position = logits.index(max(logits))
            # The scorer `choice` reads the marks.
            for index in range(len(texts)):
                state.choices.mark_choice(index, index == position)
            state.output.completion = f"ANSWER: {LETTERS[position]}"
        return state

    return solve


@solver  # type: ignore[untyped-decorator, unused-ignore]
def questioned(asker: ItemAsker, *, is_scored: bool = False) -> Solver:
    """Answer a sample, and all that the questions of an audit ask about it.

    Args:
        asker: The questions, and the items of the task.
        is_scored: Whether the model is asked for the log-probabilities of letters.
    """

    async def solve(state: TaskState, generate: Generate) -> TaskState:
        engine = InspectEngine(get_model(), is_scored=is_scored)
        # Questions wait for their answers, which must not stop the other samples.
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
        state: The state after an answer.
        n_choices: Number of choices.

    Returns:
        `n_choices` log-probabilities. A letter that is not among the likeliest tokens has that of the
        least likely of these. None if no letter is among them, or the model returns none.
    """
    logprobs = state.output.choices[0].logprobs
    if logprobs is None or not logprobs.content or not logprobs.content[0].top_logprobs:
        return None
    likeliest = logprobs.content[0].top_logprobs
    best: dict[str, float] = {}
    for token in likeliest:
        letter = token.token.strip()
        # " A" and "A" are one answer, of which the likelier form counts.
        best[letter] = max(best.get(letter, -math.inf), token.logprob)
    marks = LETTERS[:n_choices]
    if not any(mark in best for mark in marks):
        return None
    # A letter that is not among the likeliest tokens is at most as likely as the last of them.
    bound = min(token.logprob for token in likeliest)
    return [best.get(mark, bound) for mark in marks]


def _read_item(state: TaskState) -> dict[str, Any]:
    """Return a sample as an item.

    Raises:
        ValueError: If it has no choices.
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
    """Return the answer of a state to an arm, from the choices that its solver marked or its text.

    Args:
        state: The state after an answer.
        arm: The arm that was asked.
    """
    # A solver may have shuffled the choices, which keep their positions in the arm.
    marked_positions = [choice.original_position for choice in state.choices if choice.correct]
    # Several marks are no answer.
    position = -1
    if len(marked_positions) == 1:
        position = marked_positions[0]
    elif not marked_positions:
        # The solver found no line "ANSWER: A", but the text may be an answer in another form.
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
        items = []
        # Samples that another solver answered have no arms.
        for sample in scores:
            metadata = sample.score.metadata or {}
            if ARMS_KEY in metadata:
                items.append(read_arms(str(sample.sample_id), metadata[ARMS_KEY]))
        return compute_arm_figures(items, level)

    return compute


@scorer(metrics=[right_reasons()], name="arms")  # type: ignore[untyped-decorator, unused-ignore]
def arms_scorer() -> Any:
    """Keep the arms that `probed` asked, and compute their figures."""

    async def score(state: TaskState, target: Target) -> Score:
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
    """Return a task of which each sample is also asked in its arms.

    Args:
        task: A task whose samples have choices. Its solver answers the arms, too; its scorers and
            metrics stay as they are.
        arms: Kinds of arms, see `rightreasons.datasets.perturbing.arms`.
        ask: "" for the solver of the task, "letters" for `letters`, "text" for `multiple_choice`.
        seed: Seed of what is drawn.

    Returns:
        The task with the solver `rightreasons/probed` and, besides its own, the scorer
        `rightreasons/arms`.
    """
    # A task has one scorer, several, or none.
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
    """Return the samples of a task as items to borrow from."""
    rows = []
    # inspect_ai numbers samples without an id from 1.
    for number, sample in enumerate(task.dataset, start=1):
        prompt = sample.input
        if not isinstance(prompt, str):
            prompt = prompt[-1].text
        name = number if sample.id is None else sample.id
        rows.append({"id": str(name), "prompt": prompt, "choices": sample.choices or []})
    return Pool(rows)
