"""Tokens that a language model in this process generates, in batches of left-padded prompts.

`generate_tokens` is the entry point. Its answers depend on the seed and the name of each answer
alone: tokens are sampled by noise that every device computes alike (`gumbel_noise`), and a trial
finds whether padding changes what a model writes (`find_generation_way`).
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
    length_batches,
    send_array,
    text_config,
    vocabulary_size,
)
from rightreasons.models.language.continuations import LanguageModel
from rightreasons.models.protocol import Generation
from rightreasons.models.trial import ONE_BY_ONE, TRIALS, Way, find_fastest_way, ordinary_tokens

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
    model: Any, way: Way, lengths: NDArray[np.int64]
) -> list[NDArray[np.int64]]:
    """Cut answers into batches of similar length that fit in the memory of the device.

    A step reads all weights for a single token per answer, so that a GPU should hold as many
    answers as it can. A batch that does not fit after all is halved by `run_model`.

    Args:
        model: The language model.
        way: How prompts are batched, from `find_generation_way`.
        lengths: (N,) tokens of each prompt and its answer.

    Returns:
        Arrays of positions.
    """
    n_answers = _MAX_CPU_ANSWERS
    n_tokens = _MAX_CPU_TOKENS
    if model.device.type == "cuda":
        n_answers, n_tokens = _get_gpu_limits(model)
    if way.name == ONE_BY_ONE:
        n_answers = 1
    return length_batches(lengths, batch_size=n_answers, max_tokens=n_tokens)


def _get_gpu_limits(model: Any) -> tuple[int, int]:
    """Return the largest batch of generated answers that fits in the free memory of a GPU.

    Args:
        model: The language model.

    Returns:
        The maximum number of answers, and the maximum number of tokens of all prompts and answers.
    """
    config = text_config(model)
    width = getattr(config, "hidden_size", 1024)
    n_layers = getattr(config, "num_hidden_layers", 24)
    n_heads = getattr(config, "num_attention_heads", None) or 1
    n_key_heads = getattr(config, "num_key_value_heads", None) or n_heads
    head_width = getattr(config, "head_dim", None) or width // n_heads
    inner_width = getattr(config, "intermediate_size", None) or 4 * width
    # All layers keep keys and values of each token; a single one computes at a time.
    n_cached = 2 * n_layers * n_key_heads * head_width
    n_computed = 8 * width + 3 * inner_width
    token_bytes = (n_cached + n_computed) * model.dtype.itemsize
    logits_bytes = (vocabulary_size(model) or 1) * _BYTES_PER_LOGIT
    # Half of the memory for tokens, a quarter for logits, and the rest for what is not counted.
    free_bytes = get_free_memory(model.device)
    n_tokens = free_bytes // 2 // token_bytes
    n_answers = free_bytes // 4 // logits_bytes
    n_answers = min(n_answers, _MAX_GPU_ANSWERS)
    return max(1, n_answers), max(1, n_tokens)


def find_generation_way(scorer: LanguageModel, longest: int, bound: int) -> Way:
    """Return how prompts are batched: padded on the left if a trial finds that exact.

    The trial compares the log-probabilities of the first generated tokens after a few random
    prompts, which are padded to one length or read one by one.

    Args:
        scorer: The language model.
        longest: Tokens of the longest prompt.
        bound: Maximum tokens of a prompt that the model reads before an answer.
    """

    def try_ways(reach: int) -> Way:
        reach = max(1, min(reach, bound))
        prompts = _make_trial_prompts(scorer, reach)
        return find_fastest_way(
            scorer.model,
            scorer.name,
            lambda: [_get_first_scores(scorer, [prompt])[0] for prompt in prompts],
            {"left padding": lambda: _get_first_scores(scorer, prompts)},
            longest=reach,
            repeat=lambda: _get_first_scores(scorer, prompts[:1]),
        )

    # A trial with prompts of up to `reach` tokens is stored, and serves shorter prompts too.
    reach = min(longest, bound)
    return TRIALS.way(scorer.model, "generated answers", reach, try_ways, scorer.tokenizer)


def _make_trial_prompts(scorer: LanguageModel, reach: int) -> list[list[int]]:
    """Return prompts of random words of several lengths, the longest first.

    Padded to the longest, they have padding of many lengths, up to nearly the whole row.

    Args:
        scorer: The language model, of whose vocabulary the words are.
        reach: Tokens of the longest prompt, at least 1.
    """
    rng = np.random.default_rng(0)
    words = ordinary_tokens(scorer.model, scorer.tokenizer)
    sizes = {reach, reach // 2, reach // 3, min(3, reach), 1} - {0}
    prompts = []
    for size in sorted(sizes, reverse=True):
        prompts.append(rng.choice(words, size).tolist())
    return prompts


def _get_first_scores(
    scorer: LanguageModel, prompts: Sequence[list[int]]
) -> list[NDArray[np.float64]]:
    """Generate a few tokens after each prompt, and return the log-probabilities of each step.

    Args:
        scorer: The language model.
        prompts: Prompts as tokens, which are padded on the left.

    Returns:
        An array (_N_TRIED_TOKENS, V) for each prompt, with V the size of the vocabulary.
    """
    with _use_plain_settings(scorer, _N_TRIED_TOKENS) as settings:
        # Without an end token all prompts have as many steps.
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
        prompts: n prompts as tokens.
        options: How answers are generated.
        keys: n keys of the noise of each answer, from `get_noise_key`.

    Returns:
        n arrays of the new tokens, including the one that ends an answer, as floats.

    Raises:
        ValueError: If the model fails.
    """
    inputs = _pad_left(scorer, prompts)
    # The decoder of an encoder-decoder starts anew, with its own token.
    n_before = 1 if scorer.opening else inputs["input_ids"].shape[1]
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
    """Cut each generated answer after its first end token, which padding follows.

    Args:
        table: (n, T) tokens of the answers.
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
    """Samples tokens: the largest sum of log-probability and Gumbel noise is a sample.

    Args:
        keys: n keys, one per answer, which decide its noise.
        temperature: Divisor of the logits.
        top_p: Share of the probability that the likeliest tokens have which are sampled from.
    """

    def __init__(self, keys: Sequence[int], temperature: float, top_p: float) -> None:
        self._keys = torch.tensor(keys, dtype=torch.int64)
        self._temperature = temperature
        self._warp = None
        # The warper sorts the vocabulary, for nothing if all tokens are sampled from.
        if top_p < 1:
            self._warp = transformers.TopPLogitsWarper(top_p)
        self._step = 0

    def __call__(self, input_ids: torch.Tensor, scores: torch.Tensor) -> torch.Tensor:
        """Return (n, V) scores of the next tokens, of which the largest is the sample."""
        # The keys are copied to the device at the first step, and nothing is copied at later ones.
        self._keys = self._keys.to(scores.device)
        noise = gumbel_noise(self._keys, self._step, scores.shape[1])
        self._step += 1
        scaled = scores.double() / self._temperature
        if self._warp is not None:
            scaled = self._warp(input_ids, scaled)
        return scaled + noise


def get_noise_key(seed: int, name: str) -> int:
    """Return the key of the noise of an answer, which depends on the seed and its name alone."""
    return int(item_rng(seed, name).integers(1 << 63))


def gumbel_noise(keys: torch.Tensor, step: int, size: int) -> torch.Tensor:
    """Return Gumbel noise that depends on its key, the step and its column alone.

    Each number is the finalizer of SplitMix64 (Steele, Lea & Flood 2014, "Fast Splittable
    Pseudorandom Number Generators", OOPSLA) of its own counter. No state is kept, nothing is copied
    from the CPU, and every device gives the same integers.

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
    # 53 random bits are all that a double holds. The half keeps the number from being 0 or 1, whose
    # logarithms are infinite.
    integers = _shift(state, 11).double()
    uniform = (integers + 0.5) * 2.0**-53
    # The negative logarithm of an exponential variate is a Gumbel variate.
    exponential = -uniform.log()
    return -exponential.log()


def _mix(state: torch.Tensor) -> torch.Tensor:
    """Scramble 64-bit integers by the finalizer of SplitMix64.

    Each bit of an integer changes about half of the bits of its result.
    """
    state = state ^ _shift(state, 30)
    state = state * _FIRST_FACTOR
    state = state ^ _shift(state, 27)
    state = state * _SECOND_FACTOR
    return state ^ _shift(state, 31)


def _shift(state: torch.Tensor, n_bits: int) -> torch.Tensor:
    """Shift signed numbers to the right as unsigned ones, with zeros from the left."""
    # The sign fills the bits on the left, which a mask of the others clears.
    mask = (1 << (64 - n_bits)) - 1
    return (state >> n_bits) & mask


class StopTexts(transformers.StoppingCriteria):  # type: ignore[misc]
    """Ends an answer that contains one of some texts.

    Args:
        tokenizer: Tokenizer of the model.
        stop: The texts.
        n_before: Number of tokens before each answer.
    """

    def __init__(self, tokenizer: Any, stop: Sequence[str], n_before: int) -> None:
        self._tokenizer = tokenizer
        self._stop = stop
        self._n_before = n_before
        # Earlier steps have checked all tokens but the last, so that only the end of an answer is
        # decoded. A text has at most one token for each of its bytes. Eight more allow for special
        # tokens, which are left out, and for the first decoded token, whose space may be missing.
        n_bytes = max(len(text.encode("utf-8")) for text in stop)
        self._window = n_bytes + 8

    def __call__(self, input_ids: torch.Tensor, scores: Any, **options: Any) -> Any:
        """Return (n,) whether each answer has ended."""
        answers = input_ids[:, self._n_before :]
        ends = answers[:, -self._window :]
        texts = self._tokenizer.batch_decode(ends, skip_special_tokens=True)
        has_stopped = []
        for text in texts:
            has_stopped.append(any(stop in text for stop in self._stop))
        return torch.tensor(has_stopped, device=input_ids.device)


def _pad_left(scorer: LanguageModel, prompts: Sequence[list[int]]) -> dict[str, torch.Tensor]:
    """Pad prompts on the left, so that all end where their answers begin.

    Args:
        scorer: The language model.
        prompts: n prompts as tokens.

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
    """Return a token that pads prompts, whose mask hides it."""
    for token in (scorer.tokenizer.pad_token_id, *list_end_tokens(scorer)):
        if token is not None:
            return int(token)
    return 0


def list_end_tokens(scorer: LanguageModel) -> list[int]:
    """Return the tokens that end an answer: the model's and the tokenizer's."""
    settings = getattr(scorer.model, "generation_config", None)
    model_tokens = getattr(settings, "eos_token_id", None)
    if not isinstance(model_tokens, list):
        model_tokens = [model_tokens]
    tokens = {*model_tokens, scorer.tokenizer.eos_token_id} - {None}
    return sorted(map(int, tokens))


@contextmanager
def _use_plain_settings(scorer: LanguageModel, max_new_tokens: int) -> Iterator[Any]:
    """Yield settings of greedy generation, while the model's own settings are replaced by defaults.

    transformers fills the gaps of given settings by those of the model, such as penalties.

    Args:
        scorer: The language model.
        max_new_tokens: Maximum tokens per answer.
    """
    model = scorer.model
    settings = transformers.GenerationConfig(
        max_new_tokens=max_new_tokens,
        do_sample=False,
        eos_token_id=list_end_tokens(scorer) or None,
        pad_token_id=_get_padding_token(scorer),
        **scorer.opening,
    )
    model_settings = model.generation_config
    model.generation_config = transformers.GenerationConfig()
    try:
        yield settings
    finally:
        model.generation_config = model_settings
