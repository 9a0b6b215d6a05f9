"""Tokens that a language model in this process generates, in batches of left-padded prompts.

`generate_tokens` is the entry point. Its answers depend only on the seed and the name of each
answer: tokens are sampled by noise that is the same on every device (`gumbel_noise`), and a trial
finds whether padding changes the answers of a model (`find_generation_strategy`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch
import transformers
from numpy.typing import NDArray

from rightreasons.core.errors import get_first_line
from rightreasons.core.resampling import item_rng
from rightreasons.models.batching import (
    get_free_memory,
    get_text_config,
    make_length_batches,
    send_array,
)
from rightreasons.models.input_limits import get_vocabulary_size, list_ordinary_tokens
from rightreasons.models.language.continuations import LanguageModel
from rightreasons.models.protocol import Generation
from rightreasons.models.trial import ONE_BY_ONE, TRIALS, BatchingStrategy, find_fastest_strategy

# Tokens that a trial generates.
_N_TRIED_TOKENS = 2
# On a CPU larger batches are hardly faster, and need more memory.
_MAX_CPU_ANSWERS = 64
_MAX_CPU_TOKENS = 8192
_MAX_GPU_ANSWERS = 256
# Logits of the last token: as the model gives them, and a few copies in 64 bits to sample from.
_BYTES_PER_LOGIT = 40

# Odd constants of SplitMix64 as signed numbers: their products wrap around as unsigned ones do.
_GOLDEN_GAMMA = 0x9E3779B97F4A7C15 - (1 << 64)
_FIRST_FACTOR = 0xBF58476D1CE4E5B9 - (1 << 64)
_SECOND_FACTOR = 0x94D049BB133111EB - (1 << 64)


def make_generation_batches(
    model: Any, strategy: BatchingStrategy, lengths: NDArray[np.int64]
) -> list[NDArray[np.int64]]:
    """Divide answers into batches of similar length that fit in the memory of the device.

    Each generated token takes a pass that reads all weights, whatever the number of answers in the
    batch. A batch is therefore as large as the memory of a GPU allows. One that does not fit after
    all is halved by `run_model`.

    Args:
        model: The language model.
        strategy: How prompts are batched, from `find_generation_strategy`.
        lengths: (N,) number of tokens of each prompt and its answer.

    Returns:
        Arrays of indices of answers, which cover 0..N-1.
    """
    n_answers = _MAX_CPU_ANSWERS
    n_tokens = _MAX_CPU_TOKENS
    if model.device.type == "cuda":
        n_answers, n_tokens = _estimate_gpu_limits(model)
    if strategy.name == ONE_BY_ONE:
        n_answers = 1
    return make_length_batches(lengths, batch_size=n_answers, max_tokens=n_tokens)


def _estimate_gpu_limits(model: Any) -> tuple[int, int]:
    """Estimate the largest batch of generated answers that fits in the free memory of a GPU.

    Args:
        model: The language model.

    Returns:
        The maximum number of answers, and the maximum number of tokens of all prompts and answers.
    """
    config = get_text_config(model)
    width = getattr(config, "hidden_size", 1024)
    n_layers = getattr(config, "num_hidden_layers", 24)
    n_heads = getattr(config, "num_attention_heads", None) or 1
    n_key_heads = getattr(config, "num_key_value_heads", None) or n_heads
    head_width = getattr(config, "head_dim", None) or width // n_heads
    inner_width = getattr(config, "intermediate_size", None) or 4 * width
    # All layers cache keys and values of each token, but only one layer computes at a time.
    n_cached = 2 * n_layers * n_key_heads * head_width
    n_computed = 8 * width + 3 * inner_width
    bytes_per_token = (n_cached + n_computed) * model.dtype.itemsize
    # Each answer has one row of logits, of its next token.
    bytes_per_answer = (get_vocabulary_size(model) or 1) * _BYTES_PER_LOGIT
    # Half of the memory is for tokens, a quarter for logits, and the rest is a reserve.
    free_bytes = get_free_memory(model.device)
    n_tokens = free_bytes // 2 // bytes_per_token
    n_answers = free_bytes // 4 // bytes_per_answer
    n_answers = min(n_answers, _MAX_GPU_ANSWERS)
    return max(1, n_answers), max(1, n_tokens)


def find_generation_strategy(
    scorer: LanguageModel, longest: int, max_prompt_length: int
) -> BatchingStrategy:
    """Find whether prompts can be padded on the left without changing what a model writes.

    A trial compares the log-probabilities of the first generated tokens after a few random prompts,
    which are padded to one length or read one by one.

    Args:
        scorer: The language model.
        longest: Number of tokens of the longest prompt of the data.
        max_prompt_length: Maximum number of tokens of a prompt before an answer.

    Returns:
        The strategy "left padding" if padding changes nothing, and "one by one" otherwise.
    """

    def run_trial(n_tokens: int) -> BatchingStrategy:
        n_tokens = max(1, min(n_tokens, max_prompt_length))
        prompts = _make_trial_prompts(scorer, n_tokens)
        return find_fastest_strategy(
            scorer.model,
            scorer.name,
            lambda: [_generate_log_probabilities(scorer, [prompt])[0] for prompt in prompts],
            {"left padding": lambda: _generate_log_probabilities(scorer, prompts)},
            longest=n_tokens,
            repeat=lambda: _generate_log_probabilities(scorer, prompts[:1]),
        )

    return TRIALS.get_strategy(
        scorer.model,
        "generated answers",
        min(longest, max_prompt_length),
        run_trial,
        scorer.tokenizer,
    )


def _make_trial_prompts(scorer: LanguageModel, longest: int) -> list[list[int]]:
    """Make prompts of random words, of several lengths down to a single token.

    In a batch, the short prompts get much padding, and the longest none.

    Args:
        scorer: The language model, whose vocabulary the words are from.
        longest: Number of tokens of the longest prompt, at least 1.

    Returns:
        The prompts as token ids, the longest first.
    """
    rng = np.random.default_rng(0)
    words = list_ordinary_tokens(scorer.model, scorer.tokenizer)
    # Fractions of a small length may be equal, or 0.
    lengths = {longest, longest // 2, longest // 3, min(3, longest), 1} - {0}
    prompts = []
    for length in sorted(lengths, reverse=True):
        prompts.append(rng.choice(words, length).tolist())
    return prompts


def _generate_log_probabilities(
    scorer: LanguageModel, prompts: Sequence[list[int]]
) -> list[NDArray[np.float64]]:
    """Generate a few tokens after each prompt, and return the log-probabilities at each step.

    Args:
        scorer: The language model.
        prompts: Prompts as token ids, which are padded on the left.

    Returns:
        An array (_N_TRIED_TOKENS, V) for each prompt, with V the size of the vocabulary.
    """
    with _use_plain_settings(scorer, _N_TRIED_TOKENS) as settings:
        # Without an end token, all prompts have the same number of steps.
        settings.eos_token_id = None
        settings.output_logits = True
        settings.return_dict_in_generate = True
        output = scorer.model.generate(**_pad_left(scorer, prompts), generation_config=settings)
    steps = []
    for logits in output.logits:
        steps.append(logits.double().log_softmax(-1))
    table = torch.stack(steps, dim=1)
    return list(table.cpu().numpy())


def generate_tokens(
    scorer: LanguageModel,
    prompts: Sequence[list[int]],
    options: Generation,
    keys: Sequence[int],
) -> list[NDArray[np.float64]]:
    """Generate an answer to each prompt.

    Args:
        scorer: The language model.
        prompts: n prompts as token ids.
        options: Temperature, `top_p`, maximum number of new tokens and stop texts.
        keys: n keys of the random noise of each answer, from `get_noise_key`.

    Returns:
        n arrays of the new tokens, including the one that ends an answer, as floats.

    Raises:
        ValueError: If the model fails.
    """
    inputs = _pad_left(scorer, prompts)
    # The output of a causal model repeats the prompt. The decoder of an encoder-decoder begins with
    # a single start token.
    n_before = 1 if scorer.start_settings else inputs["input_ids"].shape[1]
    processors = transformers.LogitsProcessorList()
    if options.temperature > 0:
        processors.append(Sampler(keys, options.temperature, options.top_p))
    criteria = transformers.StoppingCriteriaList()
    if options.stop:
        criteria.append(StopTexts(scorer.tokenizer, options.stop, n_before))
    try:
        with _use_plain_settings(scorer, options.max_new_tokens) as settings:
            output = scorer.model.generate(
                **inputs,
                generation_config=settings,
                logits_processor=processors,
                stopping_criteria=criteria,
            )
    except (RuntimeError, IndexError) as error:
        raise ValueError(
            f"Expected a model that can answer every item, but {scorer.name} fails: "
            f"{get_first_line(error)}"
        ) from error
    answers = output[:, n_before:].cpu().numpy()
    return _cut_after_end(answers, list_end_tokens(scorer))


def _cut_after_end(
    table: NDArray[np.int64], end_tokens: Sequence[int]
) -> list[NDArray[np.float64]]:
    """Cut each generated answer after its first end token, which removes the padding after it.

    Args:
        table: (n, T) token ids of the answers.
        end_tokens: Token ids that end an answer.

    Returns:
        n arrays of tokens, including the end token, as floats, because results are stored as such.
    """
    rows = []
    for row in table:
        ends = np.flatnonzero(np.isin(row, end_tokens))
        if len(ends):
            row = row[: ends[0] + 1]
        rows.append(row.astype(np.float64))
    return rows


class Sampler(transformers.LogitsProcessor):  # type: ignore[misc]
    """Samples tokens: adds Gumbel noise to log-probabilities, so that the largest sum is a sample.

    Args:
        keys: n integers, one per answer, that determine the noise of the answer.
        temperature: Number that the logits are divided by.
        top_p: Probability mass of the likeliest tokens that are sampled from.
    """

    def __init__(self, keys: Sequence[int], temperature: float, top_p: float) -> None:
        """Store the keys and the temperature, and make a filter if `top_p` is below 1."""
        self._keys = torch.tensor(keys, dtype=torch.int64)
        self._temperature = temperature
        self._top_p_filter = None
        # The filter sorts the vocabulary, which is useless if all tokens are sampled from.
        if top_p < 1:
            self._top_p_filter = transformers.TopPLogitsWarper(top_p)
        self._step = 0

    def __call__(self, input_ids: torch.Tensor, scores: torch.Tensor) -> torch.Tensor:
        """Return scores of the next tokens whose largest is a random sample.

        Args:
            input_ids: (n, T) tokens so far.
            scores: (n, V) logits of the next tokens.

        Returns:
            (n, V) float64.
        """
        # Only the first step copies the keys to the device.
        self._keys = self._keys.to(scores.device)
        noise = gumbel_noise(self._keys, self._step, scores.shape[1])
        self._step += 1
        scaled = scores.double() / self._temperature
        if self._top_p_filter is not None:
            scaled = self._top_p_filter(input_ids, scaled)
        return scaled + noise


def get_noise_key(seed: int, name: str) -> int:
    """Return the key of the noise of an answer, which depends only on the seed and its name."""
    return int(item_rng(seed, name).integers(1 << 63))


def gumbel_noise(keys: torch.Tensor, step: int, size: int) -> torch.Tensor:
    """Return Gumbel noise that is determined by a key, a step and a column.

    Each number is computed from a separate counter by the finalizer of SplitMix64 (Steele, Lea &
    Flood 2014, "Fast Splittable Pseudorandom Number Generators", OOPSLA). There is no state,
    nothing is copied from the CPU, and every device computes the same integers.

    Args:
        keys: (n,) int64 keys.
        step: Number of the step, from 0.
        size: Number of values per key.

    Returns:
        (n, size) float64.
    """
    # The counters of different steps do not overlap.
    start = step * size + 1
    counters = torch.arange(start, start + size, device=keys.device)
    seeds = _mix(keys)[:, None]
    state = _mix(seeds + counters * _GOLDEN_GAMMA)
    # A double holds 53 random bits. Adding one half avoids 0 and 1, whose logarithms are infinite
    # or zero.
    integers = _shift(state, 11).double()
    uniform = (integers + 0.5) * 2.0**-53
    # The negative logarithm of an exponential variate is a Gumbel variate.
    exponential = -uniform.log()
    return -exponential.log()


def _mix(state: torch.Tensor) -> torch.Tensor:
    """Scramble 64-bit integers by the finalizer of SplitMix64.

    If one bit of an integer changes, about half of the bits of its result change.
    """
    state = state ^ _shift(state, 30)
    state = state * _FIRST_FACTOR
    state = state ^ _shift(state, 27)
    state = state * _SECOND_FACTOR
    return state ^ _shift(state, 31)


def _shift(state: torch.Tensor, n_bits: int) -> torch.Tensor:
    """Shift signed integers to the right as if they were unsigned, with zeros from the left."""
    # A shift copies the sign to the left. The mask sets these bits to zero.
    mask = (1 << (64 - n_bits)) - 1
    return (state >> n_bits) & mask


class StopTexts(transformers.StoppingCriteria):  # type: ignore[misc]
    """Ends an answer as soon as it contains one of several stop texts.

    Args:
        tokenizer: Tokenizer of the model.
        stop: The stop texts, such as "Question:".
        n_before: Number of tokens before each answer.
    """

    def __init__(self, tokenizer: Any, stop: Sequence[str], n_before: int) -> None:
        """Compute how many of the last tokens have to be decoded at each step."""
        self._tokenizer = tokenizer
        self._stop = stop
        self._n_before = n_before
        # Earlier steps have checked all tokens but the last, so that only the end of an answer is
        # decoded. A text has at most one token per byte. Eight more allow for special tokens, which
        # are left out, and for the first decoded token, whose space may be missing.
        n_bytes = max(len(text.encode("utf-8")) for text in stop)
        self._n_decoded = n_bytes + 8

    def __call__(self, input_ids: torch.Tensor, scores: Any, **options: Any) -> Any:
        """Return whether each of n answers has ended, as a boolean tensor (n,).

        Args:
            input_ids: (n, T) tokens of the prompts and the answers so far.
            scores: Not used.
            **options: Not used.
        """
        answers = input_ids[:, self._n_before :]
        ends = answers[:, -self._n_decoded :]
        texts = self._tokenizer.batch_decode(ends, skip_special_tokens=True)
        has_stopped = []
        for text in texts:
            has_stopped.append(any(stop in text for stop in self._stop))
        return torch.tensor(has_stopped, device=input_ids.device)


def _pad_left(scorer: LanguageModel, prompts: Sequence[list[int]]) -> dict[str, torch.Tensor]:
    """Pad prompts on the left, so that all of them end in the last column.

    Args:
        scorer: The language model.
        prompts: n prompts as token ids.

    Returns:
        `input_ids` and `attention_mask`, (n, longest) int64 each, on the device of the model.
    """
    width = max(map(len, prompts))
    tokens = np.full((len(prompts), width), _get_padding_token(scorer), dtype=np.int64)
    is_token = np.zeros_like(tokens)
    for row, prompt in enumerate(prompts):
        start = width - len(prompt)
        tokens[row, start:] = prompt
        is_token[row, start:] = 1
    device = scorer.model.device
    return {
        "input_ids": send_array(tokens, device),
        "attention_mask": send_array(is_token, device),
    }


def _get_padding_token(scorer: LanguageModel) -> int:
    """Return a token for padding: that of the tokenizer, or else an end token, or else 0."""
    for token in (scorer.tokenizer.pad_token_id, *list_end_tokens(scorer)):
        if token is not None:
            return int(token)
    return 0


def list_end_tokens(scorer: LanguageModel) -> list[int]:
    """Return the ids of the tokens that end an answer, according to the model or its tokenizer."""
    settings = getattr(scorer.model, "generation_config", None)
    # A model has no end token, one, or a list of several.
    model_tokens = getattr(settings, "eos_token_id", None)
    if not isinstance(model_tokens, list):
        model_tokens = [model_tokens]
    tokens = {*model_tokens, scorer.tokenizer.eos_token_id} - {None}
    return sorted(map(int, tokens))


@contextmanager
def _use_plain_settings(scorer: LanguageModel, max_new_tokens: int) -> Iterator[Any]:
    """Yield settings of greedy generation, and hide the settings of the model during the block.

    transformers would add settings of the model, such as penalties, to the given ones.

    Args:
        scorer: The language model.
        max_new_tokens: Maximum number of tokens per answer.
    """
    model = scorer.model
    settings = transformers.GenerationConfig(
        max_new_tokens=max_new_tokens,
        do_sample=False,
        eos_token_id=list_end_tokens(scorer) or None,
        pad_token_id=_get_padding_token(scorer),
        **scorer.start_settings,
    )
    model_settings = model.generation_config
    model.generation_config = transformers.GenerationConfig()
    try:
        yield settings
    finally:
        model.generation_config = model_settings
