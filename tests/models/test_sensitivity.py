"""The shares of words in the gradient of a choice equal those of one pair at a time."""

import numpy as np
import pytest
import torch

from rightreasons.core.errors import SetAsideWarning
from rightreasons.core.tokens import WORD_PATTERN
from rightreasons.models.gradients.sensitivity import cue_sensitivity, token_sensitivity
from tiny_encoders import CHOICE_ARCHITECTURES, tiny_encoder

PROMPTS = ["the rain fell because", "the man broke the glass so", "what"]
CHOICES = [
    ["the film was good", "sun"],
    ["a dull plot and a very bad actor, and the woman fell", "the glass broke!"],
    ["It was wet", "dry", "the story was fine but poor"],
]


@pytest.fixture(params=CHOICE_ARCHITECTURES)
def classifier(request):
    return tiny_encoder(request.param, n_labels=None, double=True)


def one_pair(classifier, prompt, choice):
    """The contributions of the tokens of one pair, by the model's own `inputs_embeds`."""
    inputs = classifier.tokenizer(prompt, choice, return_tensors="pt", return_offsets_mapping=True)
    offsets = inputs.pop("offset_mapping")[0].tolist()
    second = [sequence == 1 for sequence in inputs.sequence_ids(0)]
    vectors = (
        classifier.model.get_input_embeddings()(inputs.pop("input_ids"))
        .detach()
        .requires_grad_(True)
    )
    shared = {name: tensor.unsqueeze(1) for name, tensor in inputs.items()}
    score = classifier.model(inputs_embeds=vectors.unsqueeze(1), **shared).logits[0, 0]
    (gradient,) = torch.autograd.grad(score, vectors)
    norms = gradient[0].norm(dim=-1)
    return (norms / norms.sum()).numpy(), offsets, second, float(score.detach())


class TestSensitivity:
    def test_equals_one_pair_at_a_time(self, classifier):
        result = token_sensitivity(classifier, PROMPTS, CHOICES, batch_size=7, progress=False)
        pairs = [(p, c) for p, row in zip(PROMPTS, CHOICES, strict=True) for c in row]
        for k, (prompt, choice) in enumerate(pairs):
            shares, offsets, second, score = one_pair(classifier, prompt, choice)
            assert result.scores[k] == pytest.approx(score, abs=1e-9)
            part = slice(result.offsets[k], result.offsets[k + 1])
            words = [(m.group().lower(), *m.span()) for m in WORD_PATTERN.finditer(choice)]
            assert list(result.words[part]) == [word for word, _, _ in words]
            expected = np.zeros(len(words))
            for share, (start, end), of_choice in zip(shares, offsets, second, strict=True):
                # A piece of these texts is inside a word, or it is the space before one.
                if of_choice and end > start:
                    expected[[last > start for _, _, last in words].index(True)] += share
            np.testing.assert_allclose(result.shares[part], expected, atol=1e-9)
        assert result.item.tolist() == [0, 0, 1, 1, 2, 2, 2]

    def test_the_model_is_left_as_it_was(self, classifier):
        classifier.model.train()
        token_sensitivity(classifier, PROMPTS, CHOICES, progress=False)
        assert classifier.model.training
        assert all(p.requires_grad and p.grad is None for p in classifier.model.parameters())
        classifier.model.eval()


class TestCues:
    @pytest.fixture(scope="class")
    def bert(self):
        return tiny_encoder("bert", n_labels=None)

    def test_mean_over_occurrences_in_choices(self, bert):
        result = token_sensitivity(bert, PROMPTS, CHOICES, progress=False)
        words = np.array(result.words)
        (the,) = cue_sensitivity(result, ["the"])
        assert the.count == 4
        assert the.sensitivity == pytest.approx(result.shares[words == "the"].mean())
        # Words of the prompts alone are no cues of the choices.
        assert cue_sensitivity(result, ["rain", "unknown"]) == ()
        every = cue_sensitivity(result)
        assert sum(cue.count for cue in every) == len(words)
        assert [cue.count for cue in every] == sorted((cue.count for cue in every), reverse=True)

    def test_shares_are_parts_of_one(self, bert):
        result = token_sensitivity(bert, PROMPTS, CHOICES, progress=False)
        sums = np.add.reduceat(result.shares, result.offsets[:-1])
        assert ((sums > 0) & (sums < 1)).all()

    def test_long_choices_are_cut(self, bert):
        result = token_sensitivity(
            bert, ["the man"], [["the film was good " * 9, "sun"]], max_length=12, progress=False
        )
        assert result.words[-1] == "sun"
        assert len(result.words) == result.offsets[-1] < 12

    def test_resumes(self, bert, tmp_path):
        first = token_sensitivity(bert, PROMPTS, CHOICES, progress=False, out=tmp_path)
        again = token_sensitivity(bert, PROMPTS, CHOICES, progress=False, out=tmp_path)
        assert (first.shares == again.shares).all()
        with pytest.warns(SetAsideWarning, match="differs in ids and texts"):
            token_sensitivity(bert, PROMPTS[:1], CHOICES[:1], progress=False, out=tmp_path)

    @pytest.mark.parametrize(
        ("prompts", "choices", "message"),
        [
            (["a"], [["x"]], "of `choices`"),
            (["a", "b"], [["x", "y"]], "`prompts` and `choices` of one length"),
        ],
    )
    def test_bad_input(self, bert, prompts, choices, message):
        with pytest.raises(ValueError, match=message):
            token_sensitivity(bert, prompts, choices, progress=False)
        with pytest.raises(ValueError, match="bert is a classifier"):
            token_sensitivity(tiny_encoder("bert"), ["a"], [["x", "y"]], progress=False)
