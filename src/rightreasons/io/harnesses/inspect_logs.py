"""Logs of inspect_ai as columns: `read_inspect_columns` is the entry point, `read_archive` opens .eval files.

For samples with choices, the columns are the scores of all choices if each answer is the likeliest one, and
otherwise the answers with the confidences that the log contains. For other samples, they are texts.
"""

from __future__ import annotations

import math
import shlex
import warnings
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from rightreasons.core.choices import LETTERS
from rightreasons.core.extras import make_install_command
from rightreasons.core.json_files import MAX_JSON_CHARACTERS
from rightreasons.core.replies import Reply
from rightreasons.core.sentences import format_value
from rightreasons.core.validation import check_all, check_at_most, check_ids
from rightreasons.io.logs import (
    ARMS_COMMAND,
    ARMS_KEY,
    OUTCOMES,
    PICKED,
    LogColumns,
    Row,
    are_audit_requests,
    choose_source,
    drop_unjudged,
    find_correct,
    find_letter,
    find_missing_answers,
    get_inner,
    list_objects,
    list_unread_replies,
    list_user_texts,
    make_answer_columns,
    make_arm_columns,
    make_field_columns,
    make_id_columns,
    make_request_columns,
    to_list,
    warn_of_excluded,
)

ARMS_SCORER = "arms"
"""Scorer of this package, which stores the answers to changed versions of a sample."""

CHOICE_SCORER = "choice"
"""Scorer of inspect_ai for samples with choices."""

PARTS: Mapping[str, Any] = {
    "choices": list,
    "scores": Mapping,
    "output": Mapping,
    "metadata": Mapping,
}
"""Parts of a sample, each of which may be missing, and their types."""

HIDDEN = "(hidden)"
"""Replaces reasoning that a provider does not return."""


# ---------------------------------------------------------------------------------- files


def is_inspect(content: object) -> bool:
    """Return whether the content of a JSON file is a log of inspect_ai."""
    return isinstance(content, Mapping) and content.keys() >= {"version", "status", "eval"}


def read_archive(path: Path) -> Mapping[str, Any]:
    """Read a log in the format .eval of inspect_ai, which has to be installed.

    Args:
        path: The file.

    Returns:
        The content, with the structure of a log in JSON.

    Raises:
        ImportError: If inspect_ai is not installed.
        ValueError: If the file is not such a log, or has more than `MAX_JSON_CHARACTERS` when unpacked.
    """
    try:
        from inspect_ai.log import read_eval_log
    except ImportError:
        raise ImportError(
            f"Expected inspect_ai to be installed for {path.name}. Run "
            f"{make_install_command('harness')}, or convert the log with `inspect log convert "
            "--to json`."
        ) from None
    try:
        with zipfile.ZipFile(path) as archive:
            size = sum(member.file_size for member in archive.infolist())
        check_at_most(size, MAX_JSON_CHARACTERS, "bytes", path.name)
        log = read_eval_log(str(path), resolve_attachments=False)
        content: Mapping[str, Any] = log.model_dump(mode="json")
    # A damaged archive may raise errors of inspect_ai, pydantic, json or zipfile.
    except Exception as error:
        message = format_value(str(error) or type(error).__name__).strip("'\"")
        raise ValueError(
            f"Expected a log of inspect_ai in {path.name}, but it cannot be read: {message}."
        ) from None
    return content


def read_inspect_columns(log: Row, log_name: str, *, scorer: str | None = None) -> LogColumns:
    """Read the samples of a log of inspect_ai as columns.

    Args:
        log: Content of the file.
        log_name: Name of the file, for error messages.
        scorer: Name of the scorer whose answers are read; None for `choice`, or else the only one.

    Returns:
        Columns by the names that `rightreasons.io.predictions.read_predictions` knows.

    Raises:
        ValueError: If no sample has an answer, if only some samples have choices, or if there are several
            scorers and none is named.
    """
    samples = _select_finished(log, log_name)
    metadata = [sample.get("metadata") or {} for sample in samples]
    if are_audit_requests(metadata):
        return _make_exported_columns(samples, log_name)
    scores = _get_scores(samples, scorer, log_name)
    columns = make_id_columns([sample["id"] for sample in samples])
    n_with_choices = sum(bool(sample.get("choices")) for sample in samples)
    # A choice is one of a list, and another answer is a text: one log has one or the other.
    if 0 < n_with_choices < len(samples):
        raise ValueError(f"Expected samples of one kind in {log_name}, but only some have choices.")
    if n_with_choices:
        columns |= _make_choice_columns(samples, scores, log_name)
    else:
        columns |= _make_text_columns(samples, scores)
    if "correct" not in columns and "logits" not in columns:
        _warn_of_other_values(scores, log_name)
    columns |= _make_constants(log, len(samples))
    columns |= make_arm_columns(metadata)
    columns |= make_field_columns(metadata, columns)
    return drop_unjudged(columns, log_name)


def _make_exported_columns(samples: Sequence[Row], log_name: str) -> LogColumns:
    """Return the columns of requests that `data export --reasons` wrote, in their original order.

    Args:
        samples: The samples, whose metadata are the requests, each with an `id` and a `number`.
        log_name: Name of the file, for error messages.

    Raises:
        ValueError: If a request was answered twice.
    """
    ids = [sample["metadata"]["id"] for sample in samples]
    check_ids(ids, f"request of {log_name}, in one epoch,")
    # inspect_ai sorts samples by their ids, but the numbers show the original order.
    ordered = sorted(samples, key=lambda sample: int(sample["metadata"]["number"]))
    metadata = [sample["metadata"] for sample in ordered]
    return make_request_columns(metadata, map(_get_reply, ordered))


def _make_constants(log: Row, n_samples: int) -> LogColumns:
    """Return the columns of the model, of the task, and of the command that evaluates changed versions.

    Args:
        log: Content of the file.
        n_samples: The number of rows, which all have the same values.
    """
    task = str(get_inner(log, "eval", "task") or "")
    values = {
        "model": get_inner(log, "eval", "model"),
        # A task of a package has a name such as "inspect_evals/piqa".
        "task": task.rpartition("/")[2],
        ARMS_COMMAND: _write_arms_command(log),
    }
    columns: LogColumns = {}
    for name, value in values.items():
        # A log that was converted from another format may lack a value.
        if value:
            columns[name] = [value] * n_samples
    return columns


def _write_arms_command(log: Row) -> str:
    """Return the `inspect eval` command that evaluates the samples of a log and changed versions of them.

    Args:
        log: Content of the file, with the task and the model under "eval".
    """
    task = str(get_inner(log, "eval", "task") or "")
    task_file = get_inner(log, "eval", "task_file")
    # inspect_ai expects the file of a task in front of its name.
    if task_file:
        task = f"{task_file}@{task.rpartition('/')[2]}"
    words = ["inspect", "eval", task]
    model = get_inner(log, "eval", "model")
    # A log that was converted from another format may lack the model.
    if model:
        words += ["--model", str(model)]
    return shlex.join([*words, "--solver", "rightreasons/probed"])


# ---------------------------------------------------------------------------------- samples


def _select_finished(log: Row, log_name: str) -> list[Row]:
    """Return the samples of a log that ended without an error, and warn of the others.

    Args:
        log: Content of the file.
        log_name: Name of the file, for error messages and the warning.

    Raises:
        ValueError: If there are no samples, if all ended in an error, or if one is malformed.
    """
    samples = log.get("samples")
    if not isinstance(samples, list) or not samples:
        raise ValueError(
            f"Expected samples in {log_name}, but got an empty list. The log may have been "
            "written without samples."
        )
    expected = (
        "samples with an id and a target, a list of choices, and objects of scores, output and "
        f"metadata in {log_name}"
    )
    check_all(samples, _is_sample, expected, unit="sample")
    finished = [sample for sample in samples if not sample.get("error")]
    n_failed = len(samples) - len(finished)
    if not finished:
        raise ValueError(
            f"Expected samples with answers in {log_name}, but all {n_failed:,} ended in an error."
        )
    warn_of_excluded(n_failed, len(samples), log_name, "ended in an error")
    return finished


def _is_sample(sample: object) -> bool:
    """Return whether an object is a sample of inspect_ai, whose optional parts have the right types.

    Args:
        sample: The object.
    """
    if not isinstance(sample, Mapping) or not sample.keys() >= {"id", "target"}:
        return False
    for name, part_type in PARTS.items():
        value = sample.get(name)
        # A missing part is null, or its key is missing.
        if value is not None and not isinstance(value, part_type):
            return False
    return True


def _get_scores(samples: Sequence[Row], scorer: str | None, log_name: str) -> list[Row]:
    """Return the score of each sample by one scorer, such as {"value": "C", "answer": "B"}.

    Args:
        samples: (N,) samples.
        scorer: The scorer that the user named; None for `choice`, or else the only one.
        log_name: Name of the file, for error messages.

    Returns:
        (N,) scores; an empty mapping for a sample without a score.

    Raises:
        ValueError: If there are no scores, or if there are several scorers and none is named.
    """
    names: set[str] = set()
    for sample in samples:
        names.update(sample.get("scores") or {})
    if not names:
        raise ValueError(f"Expected samples with scores in {log_name}, but no sample has a score.")
    # The scorer of this package only stores answers, and does not evaluate them.
    if scorer is None and len(names) > 1:
        names.discard(ARMS_SCORER)
    if scorer is None and CHOICE_SCORER in names:
        names = {CHOICE_SCORER}
    name = choose_source("scorer", names, scorer, log_name)
    scores = []
    for sample in samples:
        score = get_inner(sample, "scores", name)
        scores.append(score if isinstance(score, Mapping) else {})
    return scores


def _warn_of_other_values(scores: Sequence[Row], log_name: str) -> None:
    """Warn that a scorer does not tell which answers are correct, with one of its values.

    Args:
        scores: (N,) scores, such as {"value": 0.5}.
        log_name: Name of the file, for the warning.
    """
    values = [score.get("value") for score in scores]
    for value in values:
        is_missing = value is None or value != value
        if not is_missing and str(value) not in OUTCOMES:
            warnings.warn(
                f"The scores in {log_name} do not show which answers are correct, because they have "
                f"values such as {format_value(value)}.",
                stacklevel=4,
            )
            return


def _get_target(sample: Row) -> str:
    target = sample["target"]
    if isinstance(target, list) and len(target) == 1:
        target = target[0]
    return str(target)


def _get_input(sample: Row) -> str:
    """Return the prompt of a sample, or the messages of the user if the prompt is a conversation."""
    content = sample.get("input", "")
    if isinstance(content, list):
        return "\n".join(list_user_texts(content))
    return str(content)


def _make_text_columns(samples: Sequence[Row], scores: Sequence[Row]) -> LogColumns:
    """Return the columns of samples without choices: `text` (the prompt), `answer`, `target` and `correct`.

    Args:
        samples: (N,) samples.
        scores: (N,) scores: `value` is the verdict of the scorer, such as "C" for a correct answer, and
            `answer`, which may be missing, is the answer that it extracted from the reply.
    """
    replies = list(map(_get_reply, samples))
    answers = []
    verdicts = []
    for reply, score in zip(replies, scores, strict=True):
        verdicts.append({"value": score.get("value")})
        answer = score.get("answer")
        # A scorer that extracts no answer has evaluated the whole reply.
        answers.append(reply.text if answer is None else str(answer))
    is_unread = [not answer.strip() for answer in answers]
    columns = make_answer_columns(
        texts=list(map(_get_input, samples)),
        answers=answers,
        targets=list(map(_get_target, samples)),
        missing_answers=find_missing_answers(replies, is_unread, accepts_incomplete=True),
    )
    columns.update(find_correct(verdicts))
    return columns


# ---------------------------------------------------------------------------------- choices


def _make_choice_columns(
    samples: Sequence[Row], scores: Sequence[Row], log_name: str
) -> LogColumns:
    """Return the columns of samples with choices.

    Args:
        samples: (N,) samples.
        scores: (N,) scores: `value` is the verdict of the scorer, such as "C" for a correct answer, and
            `answer` is the letter of the answer.
        log_name: Name of the file, for error messages.

    Returns:
        The columns `prompt`, `choices` and `label`. If each answer is the likeliest choice, also `logits`;
        otherwise the answers, their correctness and, if the log has them, their confidences.

    Raises:
        ValueError: If the target of a sample is not the letter of one choice.
    """
    # Choices may be numbers, and become strings.
    choices = [list(map(str, sample["choices"])) for sample in samples]
    labels = _find_labels(samples, choices, log_name)
    values = [{"value": score.get("value")} for score in scores]
    outcomes = find_correct(values).get("correct", [None] * len(scores))
    picks: list[int | None] = []
    scores_by_choice: list[dict[int, float]] = []
    for index, sample in enumerate(samples):
        pick = _find_pick(sample, choices[index], scores[index])
        # The scorer may have accepted an answer that is not a letter.
        if pick is None and outcomes[index]:
            pick = labels[index]
        picks.append(pick)
        scores_by_choice.append(_get_choice_scores(sample, choices[index], pick))
    columns: LogColumns = {
        "prompt": list(map(_get_input, samples)),
        "choices": choices,
        "label": labels,
    }
    if _are_all_likeliest(picks, choices, scores_by_choice):
        columns["logits"] = list(map(_sort_by_position, scores_by_choice))
        return columns
    # Answers that were sampled have a confidence at most, instead of a score for each choice.
    columns.update(_make_pick_columns(picks, labels, outcomes))
    confidences = _get_confidences(picks, scores_by_choice)
    if any(confidence is not None for confidence in confidences):
        columns["confidence"] = confidences
    replies = list(map(_get_reply, samples))
    is_unread = [pick is None for pick in picks]
    missing_answers = find_missing_answers(replies, is_unread, accepts_incomplete=True)
    orders = list(map(_find_displayed_order, samples, choices))
    columns.update(missing_answers)
    columns.update(list_unread_replies(replies, missing_answers, orders))
    return columns


def _sort_by_position(scores: Mapping[int, float]) -> list[float]:
    """Return scores by position in the order of the positions."""
    return [scores[position] for position in sorted(scores)]


def _make_pick_columns(
    picks: Sequence[int | None], labels: Sequence[int], outcomes: Sequence[int | None]
) -> LogColumns:
    """Return the columns `correct`, `answer` (a letter) and `answer_choice` (its position).

    Args:
        picks: (N,) position of the choice of each answer; None for an unread answer.
        labels: (N,) position of the correct choice of each sample.
        outcomes: (N,) 1 or 0, whether the scorer counts each answer as correct; None if that is unknown.
    """
    columns: LogColumns = {"correct": [], "answer": [], PICKED: []}
    for pick, label, outcome in zip(picks, labels, outcomes, strict=True):
        # Without an outcome, the answer is compared with the target.
        if outcome is None:
            outcome = int(pick == label)
        columns["correct"].append(outcome)
        if pick is None:
            columns["answer"].append("")
            columns[PICKED].append(-1)
        else:
            columns["answer"].append(LETTERS[pick])
            columns[PICKED].append(pick)
    return columns


def _find_displayed_order(sample: Row, choices: Sequence[str]) -> list[int] | None:
    """Return the positions of the choices in the order in which the prompt displayed them as A, B, C, ….

    inspect_ai may shuffle choices. The messages of a sample have them in the order of the data, so that
    only the events of the log show the order of the prompt.

    Args:
        sample: The sample, perhaps with events.
        choices: The choices in the order of the data.

    Returns:
        The positions in the order of the letters; None if the log does not contain the prompt.
    """
    prompts = _get_displayed_prompts(sample)
    order = list(_find_positions(prompts, choices).values())
    if not order:
        return None
    return order


def _find_labels(
    samples: Sequence[Row], choices: Sequence[Sequence[str]], log_name: str
) -> list[int]:
    """Return the position of the correct choice of each sample, whose letter is the target.

    Args:
        samples: (N,) samples.
        choices: (N,) lists of choices.
        log_name: Name of the file, for error messages.

    Raises:
        ValueError: If a target is not the letter of one choice. Samples with several correct choices are
            not supported.
    """
    labels = []
    for sample, sample_choices in zip(samples, choices, strict=True):
        target = _get_target(sample).strip()
        if find_letter(target, sample_choices) is None:
            raise ValueError(
                "Expected the letter of the only correct choice as the target of each sample of "
                f"{log_name}, but the target of sample {sample['id']} is {format_value(target)}."
            )
        labels.append(LETTERS.index(target))
    return labels


def _find_pick(sample: Row, choices: Sequence[str], score: Row) -> int | None:
    """Return the position of the choice that is the answer to a sample; None for an unread answer.

    The letter that the scorer found is preferred. If it found none, the solver of this package may have
    read the answer.

    Args:
        sample: The sample, perhaps with the answer that the solver of this package stored.
        choices: The choices.
        score: The score, with the letter of the answer under "answer".
    """
    letter = str(score.get("answer") or "").strip()
    pick = find_letter(letter, choices)
    stored_position = _get_stored_answer(sample).get("position", -1)
    if pick is None and stored_position >= 0:
        return int(stored_position)
    return pick


def _get_stored_answer(sample: Row) -> Row:
    """Return the answer that the solver of this package stored in a sample; an empty mapping if it has none."""
    return get_inner(sample, "metadata", ARMS_KEY, "arms", "original") or {}


def _are_all_likeliest(
    picks: Sequence[int | None],
    choices: Sequence[Sequence[str]],
    scores_by_choice: Sequence[Mapping[int, float]],
) -> bool:
    """Return whether the answer to each sample is the choice with the highest score.

    Only then do the scores determine the answers: an answer that was sampled may be another choice.

    Args:
        picks: (N,) position of the choice of each answer; None for an unread answer.
        choices: (N,) lists of choices.
        scores_by_choice: (N,) mappings from the positions of choices to their scores. A choice without a
            score, for which the result is False, has no entry.
    """
    for pick, texts, by_choice in zip(picks, choices, scores_by_choice, strict=True):
        if pick is None or len(by_choice) < len(texts):
            return False
        if by_choice[pick] < max(by_choice.values()):
            return False
    return True


def _get_confidences(
    picks: Sequence[int | None], scores_by_choice: Sequence[Mapping[int, float]]
) -> list[float | None]:
    """Return the probability of the answer to each sample; None if the log does not contain it.

    Args:
        picks: (N,) position of the choice of each answer; None for an unread answer.
        scores_by_choice: (N,) mappings from the positions of choices to their log-probabilities, without
            choices whose log-probability the log does not contain.
    """
    confidences: list[float | None] = []
    for pick, by_choice in zip(picks, scores_by_choice, strict=True):
        confidence = None
        if pick is not None and pick in by_choice:
            confidence = math.exp(by_choice[pick])
        confidences.append(confidence)
    return confidences


# ---------------------------------------------------------------------------------- log-probabilities


def _get_choice_scores(sample: Row, choices: Sequence[str], pick: int | None) -> dict[int, float]:
    """Return the log-probability of each choice at the token where the answer was generated.

    The tokens of the output contain the log-probabilities of letters. If the harness shuffled the choices,
    these are the letters that the prompt displayed, but everything else in the log has the original order.
    The prompt in the events of the log shows which choice a letter means. Without events, only the score
    of the answer itself is certain.

    Args:
        sample: The sample, with its output, and perhaps events and messages.
        choices: The choices in the order of the data.
        pick: The position of the choice that is the answer; None for an unread answer.

    Returns:
        Position of a choice -> log-probability. Choices whose log-probability is unknown have no entry.
    """
    stored_scores = _get_stored_answer(sample).get("logits")
    if stored_scores:
        return dict(enumerate(stored_scores))
    output = sample.get("output") or {}
    answer_letter = _find_last_letter(output, choices)
    if pick is None or not answer_letter:
        return {}
    score_by_letter = letter_log_probabilities(output, len(choices), answer_letter)
    displayed_prompts = _get_displayed_prompts(sample)
    for texts in (displayed_prompts, list_user_texts(sample.get("messages"))):
        position_by_letter = _find_positions(texts, choices)
        # The prompt has the right order if it displays the answer with the letter that was generated.
        if position_by_letter.get(answer_letter) == pick:
            return {position_by_letter[mark]: score for mark, score in score_by_letter.items()}
    # No prompt explains the letters. If the choices were shuffled, only the letter of the answer is known.
    is_shuffled = LETTERS[pick] != answer_letter or bool(displayed_prompts)
    if answer_letter in score_by_letter and is_shuffled:
        return {pick: score_by_letter[answer_letter]}
    return {LETTERS.index(mark): score for mark, score in score_by_letter.items()}


def _find_last_letter(output: Row, choices: Sequence[str]) -> str:
    """Return the last token of an output that is the letter of a choice; "" if there is none.

    Args:
        output: The output of a sample, with its tokens.
        choices: The choices, which are lettered from A.
    """
    for token in reversed(_list_tokens(output)):
        mark = _strip_token(token.get("token"))
        if find_letter(mark, choices) is not None:
            return mark
    return ""


def _find_positions(texts: Sequence[str], choices: Sequence[str]) -> dict[str, int]:
    """Return which choice each letter names in prompts with lines such as "A) yes".

    Args:
        texts: The prompts.
        choices: The choices in the order of the data.

    Returns:
        Letter -> position of the choice. If the prompts do not display all choices, an empty mapping.
    """
    lines: set[str] = set()
    for text in texts:
        lines.update(map(str.strip, text.split("\n")))
    position_by_letter: dict[str, int] = {}
    for mark in LETTERS[: len(choices)]:
        for position, choice in enumerate(choices):
            if f"{mark}) {choice.strip()}" in lines:
                position_by_letter[mark] = position
                break
    displayed_positions = sorted(position_by_letter.values())
    if displayed_positions != list(range(len(choices))):
        return {}
    return position_by_letter


def _get_displayed_prompts(sample: Row) -> list[str]:
    """Return the messages of the user in the last request to the model, from the events of a sample.

    Args:
        sample: The sample, whose solver may have queried the model several times.

    Returns:
        The texts of the messages; an empty list if the sample has no events.
    """
    last_event = None
    for event in list_objects(sample.get("events")):
        if event.get("event") == "model":
            last_event = event
    if last_event is None:
        return []
    messages = last_event.get("input") or _get_pooled_messages(sample, last_event)
    texts = []
    for text in list_user_texts(messages):
        # A long text is stored once, as an attachment with an address.
        attachment = get_inner(sample, "attachments", text.removeprefix("attachment://"))
        texts.append(str(attachment or text))
    return texts


def _get_pooled_messages(sample: Row, event: Row) -> list[Any]:
    """Return the messages of an event from the list of messages that all events of a sample share.

    Args:
        sample: The sample, with the list under "events_data".
        event: The event, with pairs of start and end positions in the list under "input_refs".
    """
    pool = to_list(get_inner(sample, "events_data", "messages"))
    messages: list[Any] = []
    for start, end in event.get("input_refs") or ():
        messages += pool[start:end]
    return messages


def _list_tokens(output: Row) -> list[Row]:
    """Return the tokens of an output with their log-probabilities."""
    return list_objects(get_inner(output, "choices", 0, "logprobs", "content"))


def letter_log_probabilities(
    output: Mapping[str, Any], n_choices: int, answer: str
) -> dict[str, float]:
    """Return the log-probability of each letter at the token where the answer was generated.

    This is the last token with the letter of the answer, because letters may also occur in the reasoning.

    Args:
        output: Output of a sample, with the log-probabilities of its tokens.
        n_choices: Number of choices, which are lettered from A.
        answer: Letter of the answer; "" for an unread answer, which has no log-probabilities.

    Returns:
        Letter -> log-probability. Letters that are not among the likeliest tokens have no entry, because
        providers report only these.
    """
    answer_token = None
    for token in _list_tokens(output):
        # Tokens come with the space before them, as in " B". A later token replaces earlier ones.
        if _strip_token(token.get("token")) == answer:
            answer_token = token
    if not answer or answer_token is None:
        return {}
    score_by_token = _map_tokens(list_objects(answer_token.get("top_logprobs")))
    # The generated token itself may be missing from the likeliest ones.
    score_by_token.update(_map_tokens([{**answer_token, "token": answer}]))
    score_by_letter = {}
    for mark in LETTERS[:n_choices]:
        if mark in score_by_token:
            score_by_letter[mark] = score_by_token[mark]
    return score_by_letter


def _strip_token(token: Any) -> str:
    """Return a token without spaces, which tokenizers write as "Ġ" or "▁", and without brackets or stars."""
    return str(token).strip(" Ġ▁*()\n")


def _map_tokens(tokens: Sequence[Row]) -> dict[str, float]:
    """Return the log-probability of each token, without the spaces and brackets around it.

    Args:
        tokens: Objects such as {"token": " A", "logprob": -0.1}, the likeliest first.

    Returns:
        Stripped token -> log-probability. Of " A" and "A", the likelier one is used.
    """
    log_probabilities = {}
    # The order is reversed, so that a likelier token replaces a less likely one.
    for token in reversed(tokens):
        value = token.get("logprob")
        if isinstance(value, (int, float)):
            log_probabilities[_strip_token(token.get("token"))] = float(value)
    return log_probabilities


# ---------------------------------------------------------------------------------- replies


def inspect_words(content: Any) -> dict[str, str]:
    """Return the text, the reasoning and the refusal in a message of inspect_ai.

    Args:
        content: A string, or a list of parts with the types "text" and "reasoning".

    Returns:
        A mapping with the keys "text", "thinking" and "refusal", each "" if the message has none. Redacted
        reasoning is replaced by its summary, or else by `HIDDEN`.

    Example:
        >>> inspect_words([{"type": "reasoning", "reasoning": "x9", "redacted": True}, {"type": "text", "text": "B"}])
        {'text': 'B', 'thinking': '(hidden)', 'refusal': ''}
    """
    parts = content
    if not isinstance(content, list):
        parts = [{"type": "text", "text": content}]
    words = {"text": "", "thinking": "", "refusal": ""}
    for element in list_objects(parts):
        if element.get("type") == "reasoning":
            words["thinking"] += _get_reasoning(element)
        elif element.get("type") == "text":
            # A refusal is a part of text that is marked as such.
            name = "refusal" if element.get("refusal") else "text"
            words[name] += str(element.get("text") or "")
    return words


def _get_reasoning(part: Row) -> str:
    reasoning = None
    if not part.get("redacted"):
        reasoning = part.get("reasoning")
    return str(reasoning or part.get("summary") or HIDDEN)


def _get_reply(sample: Row) -> Reply:
    return inspect_reply(sample.get("output") or {})


def inspect_reply(output: Row) -> Reply:
    """Return the reply of the model in the output of a sample, with its numbers of tokens.

    Args:
        output: The output, with a message under "choices", or only its text under "completion".
    """
    message = get_inner(output, "choices", 0, "message")
    content = output.get("completion")
    if isinstance(message, Mapping):
        content = message.get("content")
    # Name of a count in a reply -> its name in the log.
    log_name_by_name = {
        "prompt_tokens": "input_tokens",
        "answer_tokens": "output_tokens",
        "thinking_tokens": "reasoning_tokens",
    }
    usage = {}
    for name, log_name in log_name_by_name.items():
        count = get_inner(output, "usage", log_name)
        # Some providers do not report all counts.
        if isinstance(count, int):
            usage[name] = count
    words: Any = inspect_words(content)
    finish = get_inner(output, "choices", 0, "stop_reason")
    return Reply.parse(**words, finish=finish, usage=usage)
