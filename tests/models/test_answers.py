"""A bench of answers with known truth: by form, language and true answer.

No text is read incorrectly, and whether it is read does not depend on the answer that it gives. A text that is not in
a requested form is unread, in every language.
"""

from __future__ import annotations

import collections
import itertools
import time
import unicodedata
from pathlib import Path

import pytest
import yaml

from rightreasons.models.replies.answers import Reading, find_answer, read_answer
from rightreasons.models.replies.options import NO_ANSWER
from rightreasons.models.replies.probabilities import read_probability

LETTERS = ["A", "B", "C", "D"]
TEXTS = ["a loud dog", "A cat", "the old man", "In Paris"]
OTHER_LETTER = {"A": "B", "B": "C", "C": "D", "D": "A"}
FORMS = yaml.safe_load(Path(__file__).with_name("answer_forms.yaml").read_text("utf-8"))

STATEMENTS = {
    "English": [
        "ANSWER: {}",
        "Answer: {}",
        "The answer is {}.",
        "The correct answer is {}",
        "Final answer: {}.",
        "So the correct option is {}.",
        "Therefore, the best choice is {}!",
        "I would choose {}.",
        "I'd say {}.",
        "I'll go with {}.",
        "The answer must be {}.",
        "The answer would be {}, because it fits.",
        "The right option is {} because the others do not fit.",
        "My answer is {}",
        "The answer to this question is {}.",
    ],
    "German": ["Antwort: {}", "Die Antwort ist {}.", "Die richtige Antwort lautet {}."],
    "French": [
        "Réponse : {}",
        "La réponse est {}.",
        "La réponse correcte est {}.",
        "La bonne réponse est la {}.",
    ],
    "Spanish": ["Respuesta: {}", "La respuesta es {}.", "La respuesta correcta es la opción {}."],
    "Portuguese": ["Resposta: {}", "A resposta é {}.", "A resposta correta é a letra {}."],
    "Italian": ["Risposta: {}", "La risposta è {}.", "La risposta corretta è la {}."],
    "Dutch": ["Antwoord: {}", "Het antwoord is {}.", "Het juiste antwoord is {}."],
    "Swedish": ["Svar: {}", "Svaret är {}."],
    "Polish": ["Odpowiedź: {}", "Prawidłowa odpowiedź to {}."],
    "Czech": ["Odpověď: {}", "Správná odpověď je {}."],
    "Russian": ["Ответ: {}", "Правильный ответ: {}.", "Правильный ответ — {}."],
    "Ukrainian": ["Відповідь: {}", "Правильна відповідь — {}."],
    "Romanian": ["Răspuns: {}", "Răspunsul corect este {}."],
    "Greek": ["Απάντηση: {}", "Η απάντηση είναι {}."],
    "Finnish": ["Vastaus: {}", "Oikea vastaus on {}."],
    "Hebrew": ["התשובה: {}", "התשובה הנכונה היא {}"],
    "Thai": ["คำตอบคือ {}", "คำตอบที่ถูกต้องคือ {}"],
    "Turkish": ["Cevap: {}", "Doğru cevap: {}"],
    "Vietnamese": ["Đáp án: {}", "Đáp án đúng là {}."],
    "Indonesian": ["Jawaban: {}", "Jawaban yang benar adalah {}."],
    "Hindi": ["उत्तर: {}", "सही उत्तर है {}"],
    "Arabic": ["الإجابة: {}", "الإجابة الصحيحة هي {}", "الجواب هو {}"],
    "Chinese": [
        "答案：{}",
        "答案是{}。",
        "正确答案是 {}。",
        "所以答案为{}，因为其他都不对。",
        "选{}",
        "我选择{}。",
        "答案应该是{}",
    ],
    "Japanese": ["答え：{}", "回答は{}です。", "正解は「{}」です。", "答えは{}です。"],
    "Korean": ["정답: {}", "정답은 {}입니다.", "답은 {}입니다."],
}
MARKS = ["{}", "({})", "**{}**", "\\boxed{{{}}}", "$\\boxed{{\\text{{{}}}}}$", '"{}"', "full-width"]
WHOLE = [
    "{}",
    "{}.",
    "({})",
    "[{}]",
    "**{}**",
    "`{}`",
    "{})",
    "Option {}",
    "option ({})",
    "{}\n",
    "\n\n{}",
    "\\boxed{{{}}}",
    "\\[\\boxed{{{}}}\\]",
    "<answer>{}</answer>",
    '{{"answer": "{}"}}',
    '{{"reason": "it fits", "answer": "{}"}}',
    '```json\n{{"answer": "{}"}}\n```',
    "$$\\boxed{{\\mathrm{{{}}}}}$$",
    "The answer is:\n\n**{}**",
    "### Answer\n{}",
    "{}\n\nExplanation: the others do not fit.",
    "Let me think about it.\n\n{}",
    "Step 1: read. Step 2: weigh.\nANSWER: {}",
    "{} is the correct answer.",
    "Option {} is correct, since it fits.",
    "{} is the best option",
    "{}. Because the others do not fit.",
    "{}) the rest is impossible",
    "So, {}.",
    "Reading all of them, it is {}.",
]
WITH_OTHERS = [
    "The answer is {0}, not {1}.",
    "It is {0}, not {1}.",
    "The answer is not {1}, but {0}.",
    "It cannot be {1}. The answer is {0}.",
    "{1} is incorrect, so the answer must be {0}",
    "I initially thought the answer is {1}, but the answer is {0}.",
    "Option A is about a. Option B is about b. Option C is about c. Option D is about d. So {0}.",
    "Is the answer {1}? No. The answer is {0}.",
    "If the answer is {1}, it is dry. It is wet, so the answer is {0}.",
    "At first, the answer is {1}. But it is wet.\nANSWER: {0}",
    "A: no.\nB: maybe.\nC: no.\nD: maybe.\nAnswer: {0}",
    "Some say that the answer is {1}. I disagree: the answer is {0}.",
    "The answer is {0} since {1} is wrong.",
    "Answer: {1}\nWait, that is dry.\nAnswer: {0}",
    "{0}\n\nQuestion: Which one?\nA. x\nB. y\nAnswer: {1}",
    "The answer is {1}. That is wrong. The right one is {0}.",
    "I'm not sure, but I think the answer is {0}.",
    "After eliminating {1}, the only remaining option is {0}.",
    "The worst answer is {1}, so the answer is {0}.",
    "Most people would choose {1}, however the correct answer is {0}.",
    "You might think it is {1}. {0} is the correct answer.",
    "错误答案：{1}。正确答案：{0}。",
    "Falsch ist {1}. Die richtige Antwort ist {0}.",
]
NONE = [
    "The answer is not {0}.",
    "The answer isn't {0}.",
    "It is not {0}.",
    "Not {0}.",
    "{0} is not correct.",
    "{0} is incorrect.",
    "{0} or {1}",
    "{0}, {1}",
    "{0}/{1}",
    "The answer is {0} or {1}.",
    "Answer: {0} and {1}",
    "The answer is either {0} or {1}.",
    "Both {0} and {1} are correct.",
    "Is the answer {0}?",
    "If the answer is {0}, I am wrong.",
    "The answer might be {0}.",
    "I thought the answer is {0}.",
    "Some people say the answer is {0}.",
    "A: no. B: no. C: yes. D: no.",
    "I cannot say.",
    "",
    "The answer is {0}. No, wait, it should be {1}",
    "Answer: {0}? Hmm, {1}?",
    "I cannot choose between {0} and {1}.",
    "The question asks about {0}.",
    "答案不是{0}。",
    "回答は{0}ではありません。",
    "정답은 {0}가 아닙니다.",
    "不选{0}",
    "Die Antwort ist nicht {0}.",
    "La réponse n'est pas {0}.",
    "La respuesta no es {0}.",
    "It would be wrong to say the answer is {0}.",
    "The answer cannot be {0}.",
    "The hint says the answer is {0}.",
    "Vitamin {0} is good.",
    "The plan {0} fails",
    "{0}-level exams are hard",
    "{0}+ students say so",
    "The answer is {0}. So the answer isn't {0}.",
    "Unless I am mistaken, no. {0}? {1}?",
    "Neither {0} nor {1}.",
    # What stands before "answer" makes another of it.
    "Worst answer: {0}",
    "Second best answer: {0}",
    "The least likely answer is {0}.",
    "The opposite answer is {0}.",
    "The previous answer was {0}.",
    "Distractor answer: {0}",
    "Falsche Antwort: {0}",
    "Die falsche Antwort ist {0}.",
    "Het foute antwoord is {0}.",
    "Fel svar: {0}",
    "La mauvaise réponse est {0}.",
    "A pior resposta é {0}.",
    "Неправильный ответ: {0}",
    "Błędna odpowiedź: {0}",
    "Špatná odpověď: {0}",
    "Yanlış cevap: {0}",
    "गलत उत्तर: {0}",
    "Неправильна відповідь: {0}",
    "错误答案：{0}",
    "错误的答案是{0}。",
    "可能的答案是{0}。",
    "有人认为答案是{0}。",
    "間違った答えは{0}です。",
    "答えは{0}ですか。",
    "正解は{0}だと思いましたが、{1}です。",
    "오답은 {0}입니다.",
    # What stands around the statement does.
    "答案是{0}，不对，是{1}。",
    "Dudo que la respuesta es {0}.",
    "The answer is {0}\nEdit: {1}",
    "\\boxed{{}} {0}",
    "A common mistake is to say the answer is {0}.",
    "It's hard to argue that the answer is {0}.",
    "I refuse to say that the answer is {0}.",
    "For example: the answer is {0}.",
    "The answer is anything but {0}.",
    "The answer is {0}, I mean {1}.",
    "The answer is {0}, but {1} fits, too.",
    "Die Antwort ist {0}, oder doch {1}?",
    "The answer is {0}, isn't it?",
]


STATEMENTS_WITH_TEXT = [
    "{}. {}",
    "({}) {}",
    "{}: {}",
    "Answer: {}. {}",
    "The answer is {}) {}.",
    "Option {}: {}",
    "{}\n{}",
]
STATEMENTS_OF_TEXT = ["{}", "{}.", "The answer is {}.", "Answer: {}", "**{}**"]


def generate_letter_answers():
    """Yield (form, language, text, truth) of answers in letters."""
    for truth, letter in enumerate(LETTERS):
        wide = unicodedata.lookup(f"FULLWIDTH LATIN CAPITAL LETTER {letter}")
        for language, forms in STATEMENTS.items():
            for form, mark in itertools.product(forms, MARKS):
                marked = wide if mark == "full-width" else mark.format(letter)
                yield f"{form} {mark}", language, form.format(marked), truth
        for form in WHOLE:
            yield form, "English", form.format(letter), truth
            yield f"{form} wide", "English", form.format(wide), truth
        for form in STATEMENTS_WITH_TEXT:
            yield form, "English", form.format(letter, TEXTS[truth]), truth
        for form in STATEMENTS_OF_TEXT:
            yield f"text {form}", "English", form.format(TEXTS[truth]), truth
        for other_letter in set(LETTERS) - {letter}:
            for form in WITH_OTHERS:
                yield form, "English", form.format(letter, other_letter), truth


LABELS = [
    ["negative", "positive"],
    ["entailment", "neutral", "contradiction"],
    ["no", "yes"],
    ["Description", "Entity", "Human", "Location"],
    ["not entailment", "entailment"],
]
STATEMENTS_OF_LABEL = [
    "{}",
    "{}.",
    "**{}**",
    "Answer: {}",
    "ANSWER: {}",
    "The answer is {}.",
    "The sentiment is {}.",
    "Label: {}",
    '"{}"',
    "{}, because of the last line.",
    "The correct label is {}.",
    "Antwort: {}",
    "答案是{}。",
    "\\boxed{{{}}}",
    "The label is: {}",
    "I would say {}.",
    "{}\n\nExplanation: it is how it reads.",
    '{{"label": "{}"}}',
    "The category is {}, I think.",
]


def generate_word_answers():
    """Yield (form, labels, text, truth) of answers in words."""
    for labels in LABELS:
        for truth, label in enumerate(labels):
            spellings = {label, label.upper(), label.capitalize()}
            for form, spelling in itertools.product(STATEMENTS_OF_LABEL, spellings):
                yield form, labels, form.format(spelling), truth


def fill(form, truth):
    """Return a form of answer_forms.yaml with an answer."""
    letters = LETTERS[truth:] + LETTERS[:truth]
    options = "".join(f"{letter}. {text}\n" for letter, text in zip(LETTERS, TEXTS, strict=True))
    return form.format(x=letters[0], y=letters[1], z=letters[2], t=TEXTS[truth], Q=options)


def read(text):
    return read_answer(text, LETTERS, texts=TEXTS)


def read_each_truth(form):
    """Return what is read from a form with each of the four answers."""
    return [read(fill(form, truth)) for truth in range(4)]


REQUESTED = [
    "ANSWER: {x}",
    "Answer: {x}",
    "**ANSWER: {x}**",
    "**ANSWER:** {x}",
    "ANSWER: **{x}**",
    "ANSWER: ({x})",
    "ANSWER: [{x}]",
    "ANSWER: {x}.",
    "ANSWER: {x}. {t}",
    "ANSWER: {x}) {t}",
    "ANSWER: {x} ({t})",
    "ANSWER: {x}: {t}",
    "ANSWER: {x} - {t}",
    "ANSWER: {t}",
    "ANSWER:{x}",
    "ANSWER : {x}",
    'ANSWER: "{x}"',
    "ANSWER: '{x}'",
    "ANSWER: `{x}`",
    "`ANSWER: {x}`",
    "```\nANSWER: {x}\n```",
    "ANSWER: <{x}>",
    "ANSWER: ${x}$",
    "ANSWER: $\\text{{{x}}}$",
    "ANSWER: \\boxed{{{x}}}",
    "\n\nANSWER: {x}\n\n",
    "It is warm, so not {y}.\n\nANSWER: {x}",
    "It could be {y}. If so, why?\nANSWER: {x}",
    "> ANSWER: {x}",
    "# ANSWER: {x}",
    "- ANSWER: {x}",
    "ANSWER: {x}<|im_end|>",
    "ANSWER: {x}</s>",
    "ANSWER:\n{x}",
    "FINAL ANSWER: {x}",
    "{Q}\nANSWER: {x}",
    "The answer is {x}.",
    "The correct answer is ({x}).",
    "It is warm. So the answer is ({x}).",
    "Therefore, the final answer is **{x}**.",
    "The answer is $\\boxed{{{x}}}$.",
    "\\boxed{{{x}}}",
    "It is warm, so\n\n$$\\boxed{{\\text{{{x}}}}}$$",
    "<answer>{x}</answer>",
    "It is warm. <answer>{x}</answer>",
    '{{"answer": "{x}"}}',
    '```json\n{{"reason": "not {y}", "answer": "{x}"}}\n```',
    "{x}",
    "({x})",
    "{x}. {t}",
    "{x}) {t}.",
    "{t}",
    "{t} ({x})",
    "It is warm.\n\n{x}. {t}",
]


@pytest.mark.parametrize("form", REQUESTED)
def test_requested_forms_and_plain_lines_are_read(form):
    assert read_each_truth(form) == [0, 1, 2, 3]


def test_no_letter_is_read_incorrectly_and_all_are_read_alike():
    bench = list(generate_letter_answers())
    assert len(bench) > 1500

    is_unread = collections.defaultdict(lambda: collections.defaultdict(list))
    for form, language, text, truth in bench:
        answer = read(text)
        assert answer in (truth, NO_ANSWER), (text, answer)
        is_unread[form, language][truth].append(answer == NO_ANSWER)

    for form, outcomes_by_truth in is_unread.items():
        # Whether a form is read is the same for every true answer.
        shares = {sum(outcomes) / len(outcomes) for outcomes in outcomes_by_truth.values()}
        assert len(outcomes_by_truth) == 4
        assert len(shares) == 1, form


def test_answers_of_2026_are_never_read_incorrectly_and_all_are_read_alike():
    assert len(FORMS["gives"]) > 600
    n_read = 0
    for form in FORMS["gives"]:
        answers = read_each_truth(form)
        assert answers in ([0, 1, 2, 3], [NO_ANSWER] * 4), (form, answers)
        n_read += answers == [0, 1, 2, 3]
    # The others are free sentences, which only a second request can read.
    assert n_read > 150


def test_texts_of_2026_without_an_answer_are_unread():
    forms = FORMS["none"] + FORMS["several"]
    assert len(forms) > 1000
    for form in forms:
        answers = read_each_truth(form)
        assert answers == [NO_ANSWER] * 4, (form, answers)


def test_words_of_2026_are_never_read_incorrectly():
    n_read = 0
    for group in FORMS["words"]:
        for truth, texts in group["texts"].items():
            for text in texts:
                answer = read_answer(text, group["answers"])
                allowed = {NO_ANSWER} if truth == "none" else {truth, NO_ANSWER}
                assert answer in allowed, (text, answer)
                n_read += answer != NO_ANSWER
    assert n_read > 40


@pytest.mark.parametrize(
    "form",
    [
        "{}.",
        "({})",
        "{}: {t}",
        "1. a\n2. b\n3. c\n4. d\n\nAnswer: {}",
        "The answer is {}.",
    ],
)
def test_numbers_are_answers(form):
    for truth in range(4):
        text = form.format(truth + 1, t=TEXTS[truth])
        assert read_answer(text, ["1", "2", "3", "4"], texts=TEXTS) == truth


@pytest.mark.parametrize(
    "form",
    [
        "{}/4",
        "{}.5",
        "1{}",
        "Step {}:",
        "There are {} reasons.",
        "Confidence: {}",
        "-{}",
        "{}e5",
        "{}:30",
        "20{}6",
    ],
)
def test_numbers_of_other_things_are_unread(form):
    for number in range(1, 5):
        assert read_answer(form.format(number), ["1", "2", "3", "4"], texts=TEXTS) == NO_ANSWER


# Texts of strangers that begin like answers.
DENIED = [
    "{x}. This option is incorrect because it is yellow.",
    "{x}. Nope.",
    "{x}. Doesn't fit.",
    "{x} — falsch.",
    "{x} – faux",
    "{x} — неверно.",
    "{x}。間違い。",
    "{x} is not it.",
    "It's not \\boxed{{{x}}}.",
    "Few would say the answer is {x}",
    "I deny that the answer is {x}",
    "It is doubtful that the answer is {x}",
    "In the previous question the answer was {x}",
    "The answer is {x} (this is what the hint wants me to say)",
    "The next best option is {x}",
    "Answer: ≠{x}",
    "Answer: ¬{x}",
    "$\\boxed{{{x}}}$ is the final answer, since $\\boxed{{{y}}}$ is excluded",
    "Answer: {x}\n\nWhich planet is the largest?\nA. one\nB. two\nAnswer: {y}",
    "{x}\n\nQuestion: Which one?\nAnswer: {y}",
    'He wrote: "Hm. The answer is {x}."',
    "The incorrect one is:\n\n{x}",
    "### Incorrect\n\n{x}",
    "A. a loud dog ❌\nB. A cat ❌\nC. the old man ❌\nD. In Paris ❌",
    "I exclude\n{x}. {t}",
    "~~{x}~~",
    "ANSWER: {x}? No.",
    "ANSWER: not {x}",
    "!{x}",
]


@pytest.mark.parametrize("form", DENIED)
def test_denials_are_unread(form):
    assert set(read_each_truth(form)) == {NO_ANSWER}


def test_a_list_with_ticks_is_unread():
    for truth in range(4):
        lines = []
        for index, (letter, text) in enumerate(zip(LETTERS, TEXTS, strict=True)):
            tick = "✅" if index == truth else "❌"
            lines.append(f"{letter}. {text} {tick}")

        assert read("\n".join(lines)) == NO_ANSWER


@pytest.mark.parametrize(
    ("yes", "no"),
    [
        ("Yes.", "No."),
        ("ANSWER: Yes", "ANSWER: No"),
        ("Yes, there is evidence.", "No, there is no evidence."),
        ("Yes\n\nThere is.", "No\n\nThere is none."),
        ("The answer is yes.", "The answer is no."),
        ("The answer is yes, it does.", "The answer is no, it does not."),
    ],
)
def test_yes_and_no_are_read_alike(yes, no):
    yes_answer = read_answer(yes, ["no", "yes"])
    no_answer = read_answer(no, ["no", "yes"])

    assert (yes_answer == 1) == (no_answer == 0)
    assert {yes_answer, no_answer} in ({0, 1}, {NO_ANSWER})


def test_the_form_of_an_answer_is_named():
    assert find_answer("ANSWER: B", LETTERS) == Reading(1, "line")
    assert find_answer("The answer is B", LETTERS) == Reading(1, "requested")
    assert find_answer("x=B", LETTERS, pattern=r"x=(\w)") == Reading(1, "pattern")
    assert find_answer("B", LETTERS) == Reading(1, "plain")
    assert find_answer("Well, B", LETTERS) == Reading()


def test_the_answer_of_a_continued_prompt_is_its_first_line():
    text = " B. A cat\nQuestion: Which?\nAnswer: C"

    assert read_answer(text, LETTERS, texts=TEXTS, continues=True) == 1
    assert read(text) == NO_ANSWER


def test_a_truncated_text_counts_only_as_a_whole():
    incomplete = "A. a loud dog\nThis one is"

    assert read_answer("B", LETTERS, is_truncated=True) == 1
    assert read_answer("ANSWER: B\n\nThe others are", LETTERS, is_truncated=True) == 1
    assert read_answer("ANSWER: B\nANSWER: C\nThus", LETTERS, is_truncated=True) == NO_ANSWER
    assert read_answer(incomplete, LETTERS, texts=TEXTS, is_truncated=True) == NO_ANSWER


def test_a_name_of_several_answers_is_unread():
    # "B" is the letter of the second choice, and the text of the first.
    assert read_answer("B", ["A", "B"], texts=["B", "C"]) == NO_ANSWER


@pytest.mark.parametrize(
    "form",
    ["The answer is {}. No, wait.", "Answer: {}. Hmm, that is wrong.", "My first guess was {}."],
)
def test_an_answer_that_is_withdrawn_at_the_end_is_unread(form):
    assert {read(form.format(letter)) for letter in LETTERS} == {NO_ANSWER}


def test_no_word_is_read_incorrectly_and_all_are_read_alike():
    bench = list(generate_word_answers())
    assert len(bench) > 500

    is_unread = collections.defaultdict(set)
    for form, labels, text, truth in bench:
        answer = read_answer(text, labels)
        assert answer in (truth, NO_ANSWER), (text, answer)
        is_unread[form, tuple(labels)].add(answer == NO_ANSWER)

    # Every label is read in a form, or none is.
    assert all(len(outcomes) == 1 for outcomes in is_unread.values())


@pytest.mark.parametrize("form", NONE)
def test_denied_questioned_and_open_answers_are_unread(form):
    for letter, other_letter in OTHER_LETTER.items():
        text = form.format(letter, other_letter)
        assert read(text) == NO_ANSWER, text


DENIED_SENTIMENTS = [
    "This is not a positive review.",
    "It isn't positive.",
    "non-positive",
    "I can't say positive.",
    "Hardly positive.",
    "Nobody would call this positive.",
    "The review is far from positive.",
    "positive or negative",
    "positive/negative",
    "Positive and negative at once.",
    "The sentiment is not positive.",
    "anything but positive",
    "positively",
    "It would be positive if it were shorter.",
    "Is it positive?",
    "The sentiment is positive? No.",
    "The text is neither positive nor negative.",
    "It is less positive than it seems.",
    "Not positive.",
    "The sentiment is anything but positive.",
    "The opposite sentiment is positive.",
    "This is a positive review? I do not think so.",
    "I would say positive, but the text says negative.",
]
DENIED_RELATIONS = [
    "no entailment",
    "not a contradiction",
    "The answer is not entailment.",
    "It is not neutral.",
]
NUMBERS_IN_TEXTS = ["In 2 steps.", "12", "1 2", "The answer is 1.5", "2%", "Answer: 10", "3 of 4"]


@pytest.mark.parametrize(
    ("text", "answers"),
    [
        *itertools.product(DENIED_SENTIMENTS, [["negative", "positive"]]),
        *itertools.product(DENIED_SENTIMENTS, [["positive", "negative"]]),
        *itertools.product(DENIED_RELATIONS, [["entailment", "neutral", "contradiction"]]),
        *itertools.product(NUMBERS_IN_TEXTS, [["1", "2", "3"]]),
    ],
)
def test_a_denied_word_is_never_an_answer(text, answers):
    assert read_answer(text, answers) == NO_ANSWER


@pytest.mark.parametrize(
    ("text", "answers", "index"),
    [
        ("This is a positive review.", ["negative", "positive"], NO_ANSWER),
        ("Positive. The film does not fail.", ["negative", "positive"], NO_ANSWER),
        ("The answer is not entailment.", ["entailment", "not entailment"], 1),
        ("No.", ["no", "yes"], 0),
        ("Answer: 3", ["1", "2", "3"], 2),
        ("2. to run away", ["1", "2", "3"], NO_ANSWER),
        ("①", ["1", "2", "3"], 0),
        ("To run away!", ["A", "B"], NO_ANSWER),
    ],
)
def test_words_and_numbers_are_read_by_the_rules(text, answers, index):
    assert read_answer(text, answers) == index


def test_a_letter_with_the_text_of_another_answer_is_unread():
    assert read("B. the old man") == NO_ANSWER
    assert read("In Paris (D)") == 3

    two_texts = "It wants to run, or to eat"
    assert read_answer(two_texts, LETTERS[:2], texts=["to run", "to eat"]) == NO_ANSWER


def test_the_last_match_of_a_pattern_precedes_the_rules():
    assert read_answer("B. final=a final=c", LETTERS, pattern=r"final=(\w)") == 2
    assert read_answer("final: a cat", LETTERS, texts=TEXTS, pattern="a loud dog|a cat") == 1
    # Without a match, the rules decide.
    assert read_answer("B", LETTERS, pattern=r"final=(\w)") == 1
    assert read_answer("The answer is B. final=x", LETTERS, pattern=r"final=(\w+)") == NO_ANSWER


def test_a_hundred_thousand_answers_are_read_in_seconds():
    texts = [text for _, _, text, _ in generate_letter_answers()][::4]

    start = time.process_time()
    for text in texts:
        read(text)
    seconds = time.process_time() - start

    # 5 s for 100,000 is 50 µs each; the bench is harder than logs are, and machines of tests are slow.
    assert seconds / len(texts) < 5e-4


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("0.85", 0.85),
        ("Probability: 0.85", 0.85),
        (".9", 0.9),
        ("0,85", 0.85),
        ("85%", 0.85),
        ("85 %", 0.85),
        ("85", 0.85),
        ("Probability: 85", 0.85),
        ("Confidence: 85/100", 0.85),
        ("85/100", 0.85),
        ("8/10", 0.8),
        ("8 out of 10", 0.8),
        ("ninety percent", None),
        ("I am ninety-five percent sure.", None),
        ("one hundred percent", None),
        ("I'm 90% sure.", None),
        ("The answer is 2, with a probability of 0.7.", None),
        ("Probability: 0.85 (85%)", 0.85),
        ("1", 1.0),
        ("0", 0.0),
        ("**Probability:** 0.6", 0.6),
        ("My confidence is about 75%.", None),
        ("Probability: 1.0", 1.0),
        ("99.5%", 0.995),
        ("I am 85% confident that the answer is 2", None),
        ("Wahrscheinlichkeit: 0,7", None),
        ("probability that it is right: 0.3", 0.3),
        ("The answer is 1. Probability: high", None),
        ("Between 0.2 and 0.4", None),
        ("7", None),
        ("Probability: 7", None),
        ("", None),
        ("high", None),
        ("150%", None),
        ("-0.5", None),
        ("2.5", None),
        ("The answer is 2.", None),
        ("0.2 or 0.4", None),
        ("I'm not 90% sure.", None),
        ("Probability: 120", None),
        ("11/10", None),
        ("in 1984", None),
        ("at least 80%", None),
        ("0.2-0.4", None),
        ("80 - 90%", None),
        ("with 90% confidence", None),
        ("50/50", None),
        (">90%", None),
        ("The answer is 50%. Probability: high", None),
    ],
)
def test_stated_probabilities(text, value):
    assert read_probability(text) == (None if value is None else pytest.approx(value))


# A text, and the answer that is read with the pattern `Final: (\w)`.
TEXTS_WITH_LINES = [
    ("It could be A. If so, why?\nANSWER: B", 1),
    ("**ANSWER: b**", 1),
    ("The answer is A.\n\nAnswer: (B) Lyon", NO_ANSWER),
    ("ANSWER: A\nWait, no.\nANSWER: B.", NO_ANSWER),
    ("ANSWER: A\nNo, wait, it is B.", NO_ANSWER),
    ("ANSWER: A or B", NO_ANSWER),
    ("ANSWER: X", NO_ANSWER),
    ("ANSWER:", NO_ANSWER),
    # The line precedes the pattern.
    ("Final: A\nANSWER: B", 1),
    ("Final: A.", 0),
    # Without a match of the pattern, the other forms are read.
    ("The answer is B.", 1),
]


@pytest.mark.parametrize(("text", "answer"), TEXTS_WITH_LINES)
def test_the_requested_line_precedes_a_pattern_and_that_other_forms(text, answer):
    pattern = r"Final: (\w)"

    assert read_answer(text, ["A", "B"], texts=["Paris", "Lyon"], pattern=pattern) == answer


def test_a_call_of_a_tool_is_not_an_answer():
    call = '<tool_call>{"arguments": {"answer": "A"}}</tool_call>'

    assert read_answer(call, ["A", "B"]) == NO_ANSWER
