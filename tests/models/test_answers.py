"""A bench of answers with known truth: by form, language and true answer. None is read incorrectly, and whether one is
read does not depend on which answer it gives. What is not in a requested form is unread, in every language."""

from __future__ import annotations

import collections
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
OTHER = {"A": "B", "B": "C", "C": "D", "D": "A"}
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


def letters():
    """Yield (form, language, text, truth) of answers in letters."""
    for truth, letter in enumerate(LETTERS):
        wide = unicodedata.lookup(f"FULLWIDTH LATIN CAPITAL LETTER {letter}")
        for language, forms in STATEMENTS.items():
            for form in forms:
                for mark in MARKS:
                    shown = wide if mark == "full-width" else mark.format(letter)
                    yield f"{form} {mark}", language, form.format(shown), truth
        for form in WHOLE:
            yield form, "English", form.format(letter), truth
            yield f"{form} wide", "English", form.format(wide), truth
        for form in (
            "{}. {}",
            "({}) {}",
            "{}: {}",
            "Answer: {}. {}",
            "The answer is {}) {}.",
            "Option {}: {}",
            "{}\n{}",
        ):
            yield form, "English", form.format(letter, TEXTS[truth]), truth
        for form in ("{}", "{}.", "The answer is {}.", "Answer: {}", "**{}**"):
            yield f"text {form}", "English", form.format(TEXTS[truth]), truth
        for other in set(LETTERS) - {letter}:
            for form in WITH_OTHERS:
                yield form, "English", form.format(letter, other), truth


def words():
    """Yield (form, answers, text, truth) of answers in words."""
    labels = (
        ["negative", "positive"],
        ["entailment", "neutral", "contradiction"],
        ["no", "yes"],
        ["Description", "Entity", "Human", "Location"],
        ["not entailment", "entailment"],
    )
    forms = (
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
    )
    for names in labels:
        for truth, name in enumerate(names):
            for form in forms:
                for shown in {name, name.upper(), name.capitalize()}:
                    yield form, names, form.format(shown), truth


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
    assert [read_answer(filled(form, truth), LETTERS, texts=TEXTS) for truth in range(4)] == [
        0,
        1,
        2,
        3,
    ]


def test_no_answer_is_read_incorrectly_and_all_are_read_alike():
    bench = list(letters())
    assert len(bench) > 1500
    unread = collections.defaultdict(list)
    for form, language, text, truth in bench:
        answer = read_answer(text, LETTERS, texts=TEXTS)
        assert answer in (truth, NO_ANSWER), (text, answer)
        unread[form, language].append((truth, answer == NO_ANSWER))
    for form, rows in unread.items():
        # Whether a form is read is the same for every true answer.
        shares = {truth: [lost for own, lost in rows if own == truth] for truth in range(4)}
        assert len({sum(own) / len(own) for own in shares.values()}) == 1, form


def filled(form, truth):
    """Return a form of answer_forms.yaml with an answer."""
    letters = LETTERS[truth:] + LETTERS[:truth]
    options = "".join(f"{letter}. {text}\n" for letter, text in zip(LETTERS, TEXTS, strict=True))
    return form.format(x=letters[0], y=letters[1], z=letters[2], t=TEXTS[truth], Q=options)


def test_answers_of_2026_are_never_read_wrongly_and_alike_whatever_they_are():
    assert len(FORMS["gives"]) > 600
    n_read = 0
    for form in FORMS["gives"]:
        answers = [read_answer(filled(form, truth), LETTERS, texts=TEXTS) for truth in range(4)]
        assert answers in ([0, 1, 2, 3], [NO_ANSWER] * 4), (form, answers)
        n_read += answers == [0, 1, 2, 3]
    # The others are free sentences, which only a second request can read.
    assert n_read > 150


def test_texts_of_2026_without_an_answer_are_unread():
    assert len(FORMS["none"] + FORMS["several"]) > 1000
    for form in FORMS["none"] + FORMS["several"]:
        read = [read_answer(filled(form, truth), LETTERS, texts=TEXTS) for truth in range(4)]
        assert read == [NO_ANSWER] * 4, (form, read)


def test_words_of_2026_are_never_read_wrongly():
    counts = collections.Counter()
    for group in FORMS["words"]:
        for truth, texts in group["texts"].items():
            for text in texts:
                read = read_answer(text, group["answers"])
                assert read in ({NO_ANSWER} if truth == "none" else {truth, NO_ANSWER}), (
                    text,
                    read,
                )
                counts[truth != "none", read == NO_ANSWER] += 1
    assert counts[True, False] > 40, counts


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
        assert (
            read_answer(form.format(truth + 1, t=TEXTS[truth]), ["1", "2", "3", "4"], texts=TEXTS)
            == truth
        )


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
def test_numbers_of_other_things_are_none(form):
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
    answers = {read_answer(filled(form, truth), LETTERS, texts=TEXTS) for truth in range(4)}

    assert answers == {NO_ANSWER}


def test_a_list_with_ticks_is_unread_whatever_it_ticks():
    for truth in range(4):
        ticks = ["✅" if place == truth else "❌" for place in range(4)]
        rows = zip(LETTERS, TEXTS, ticks, strict=True)
        text = "\n".join(f"{letter}. {choice} {tick}" for letter, choice, tick in rows)

        assert read_answer(text, LETTERS, texts=TEXTS) == NO_ANSWER


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
    assert (read_answer(yes, ["no", "yes"]) == 1) == (read_answer(no, ["no", "yes"]) == 0)
    assert {read_answer(yes, ["no", "yes"]), read_answer(no, ["no", "yes"])} in ({0, 1}, {-1})


def test_the_form_of_an_answer_is_named():
    assert find_answer("ANSWER: B", LETTERS) == Reading(1, "line")
    assert find_answer("The answer is B", LETTERS) == Reading(1, "requested")
    assert find_answer("x=B", LETTERS, pattern=r"x=(\w)") == Reading(1, "pattern")
    assert find_answer("B", LETTERS) == Reading(1, "plain")
    assert find_answer("Well, B", LETTERS) == Reading()


def test_a_base_model_answers_with_the_first_line_after_the_words_before_an_answer():
    text = " B. A cat\nQuestion: Which?\nAnswer: C"

    assert read_answer(text, LETTERS, texts=TEXTS, continues=True) == 1
    assert read_answer(text, LETTERS, texts=TEXTS) == NO_ANSWER


def test_a_truncated_text_counts_only_as_a_whole():
    assert read_answer("B", LETTERS, is_truncated=True) == 1
    assert read_answer("ANSWER: B\n\nThe others are", LETTERS, is_truncated=True) == 1
    assert read_answer("ANSWER: B\nANSWER: C\nThus", LETTERS, is_truncated=True) == NO_ANSWER
    assert (
        read_answer("A. a loud dog\nThis one is", LETTERS, texts=TEXTS, is_truncated=True)
        == NO_ANSWER
    )


def test_a_name_of_several_answers_is_unread():
    # "B" is the letter of the second choice, and the text of the first.
    assert read_answer("B", ["A", "B"], texts=["B", "C"]) == NO_ANSWER


@pytest.mark.parametrize(
    "form",
    ["The answer is {}. No, wait.", "Answer: {}. Hmm, that is wrong.", "My first guess was {}."],
)
def test_what_is_taken_back_at_the_end_is_unread(form):
    assert {read_answer(form.format(letter), LETTERS, texts=TEXTS) for letter in LETTERS} == {
        NO_ANSWER
    }


def test_words_are_read_whatever_they_are():
    bench = list(words())
    assert len(bench) > 500
    unread = collections.defaultdict(set)
    for form, names, text, truth in bench:
        answer = read_answer(text, names)
        assert answer in (truth, NO_ANSWER), (text, answer)
        unread[form, tuple(names)].add(answer == NO_ANSWER)
    # Every label is read in a form, or none is.
    assert all(len(outcomes) == 1 for outcomes in unread.values())


@pytest.mark.parametrize("form", NONE)
def test_what_is_denied_asked_or_open_is_unread(form):
    for letter, other in OTHER.items():
        assert read_answer(form.format(letter, other), LETTERS, texts=TEXTS) == NO_ANSWER, (
            form.format(letter, other)
        )


@pytest.mark.parametrize(
    ("text", "answers"),
    [
        (text, answers)
        for answers in (["negative", "positive"], ["positive", "negative"])
        for text in (
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
        )
    ]
    + [
        (text, ["entailment", "neutral", "contradiction"])
        for text in (
            "no entailment",
            "not a contradiction",
            "The answer is not entailment.",
            "It is not neutral.",
        )
    ]
    + [
        (text, ["1", "2", "3"])
        for text in ("In 2 steps.", "12", "1 2", "The answer is 1.5", "2%", "Answer: 10", "3 of 4")
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
def test_words_and_numbers_by_hand(text, answers, index):
    assert read_answer(text, answers) == index


def test_a_letter_with_the_text_of_another_answer_is_unread():
    assert read_answer("B. the old man", LETTERS, texts=TEXTS) == NO_ANSWER
    assert read_answer("In Paris (D)", LETTERS, texts=TEXTS) == 3
    assert (
        read_answer("It wants to run, or to eat", LETTERS[:2], texts=["to run", "to eat"])
        == NO_ANSWER
    )


def test_a_pattern_decides_before_the_rules_by_what_it_finds_last():
    assert read_answer("B. final=a final=c", LETTERS, pattern=r"final=(\w)") == 2
    assert read_answer("final: a cat", LETTERS, texts=TEXTS, pattern="a loud dog|a cat") == 1
    assert read_answer("B", LETTERS, pattern=r"final=(\w)") == 1  # it finds nothing: the rules do
    assert read_answer("The answer is B. final=x", LETTERS, pattern=r"final=(\w+)") == NO_ANSWER


def test_a_hundred_thousand_answers_are_read_in_seconds():
    texts = [text for _, _, text, _ in letters()]
    began = time.process_time()
    for text in texts[::4]:
        read_answer(text, LETTERS, texts=TEXTS)
    # 5 s for 100,000 is 50 µs each; the bench is harder than logs are, and machines of tests are slow.
    assert (time.process_time() - began) / len(texts[::4]) < 5e-4


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


LINED = [
    ("It could be A. If so, why?\nANSWER: B", 1),
    ("**ANSWER: b**", 1),
    ("The answer is A.\n\nAnswer: (B) Lyon", NO_ANSWER),
    ("ANSWER: A\nWait, no.\nANSWER: B.", NO_ANSWER),
    ("ANSWER: A\nNo, wait, it is B.", NO_ANSWER),
    ("ANSWER: A or B", NO_ANSWER),
    ("ANSWER: X", NO_ANSWER),
    ("ANSWER:", NO_ANSWER),
    ("Final: A\nANSWER: B", 1),  # before a pattern
    ("Final: A.", 0),
    ("The answer is B.", 1),  # a pattern that finds nothing leaves the other forms
]


@pytest.mark.parametrize(("text", "answer"), LINED)
def test_the_requested_line_is_read_first_then_a_pattern_then_other_forms(text, answer):
    assert read_answer(text, ["A", "B"], texts=["Paris", "Lyon"], pattern=r"Final: (\w)") == answer


def test_a_call_of_a_tool_is_not_an_answer():
    call = '<tool_call>{"arguments": {"answer": "A"}}</tool_call>'

    assert read_answer(call, ["A", "B"]) == NO_ANSWER
