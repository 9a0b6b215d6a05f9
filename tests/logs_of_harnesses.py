"""Logs of six harnesses with known answers, as their own code writes them."""

import json

LETTERS = "AB"


def list_picks(n_items, n_correct):
    """Return labels that alternate, and picks of which the first `n_correct` are correct."""
    labels = [number % 2 for number in range(n_items)]
    picks = [label if n < n_correct else 1 - label for n, label in enumerate(labels)]
    return labels, picks


def write_lines(path, rows):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    return path


def write_content(path, content):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(content), "utf-8")
    return path


def write_helm(folder, n_correct, *, model="openai/m", task="mmlu:subject=law", n_items=20):
    """HELM: requests and references in one file, metrics in another, joined by the instance."""
    labels, picks = list_picks(n_items, n_correct)
    states = []
    stats = []
    for number, (label, pick) in enumerate(zip(labels, picks, strict=True)):
        references = []
        for index, text in enumerate((f"yes {number}", f"no {number}")):
            tags = ["correct"] if index == label else []
            references.append({"output": {"text": text}, "tags": tags})
        instance = {
            "id": f"id{number}",
            "input": {"text": f"Is it {number}?"},
            "references": references,
            "split": "test",
        }
        # The choices were shown in the other order.
        mapping = {"A": references[1]["output"]["text"], "B": references[0]["output"]["text"]}
        states.append(
            {
                "instance": instance,
                "train_trial_index": 0,
                "output_mapping": mapping,
                "request": {"prompt": "long", "model": model},
                "result": {"success": True, "completions": [{"text": f" {LETTERS[1 - pick]}"}]},
            }
        )
        is_correct = float(pick == label)
        row = {"instance_id": f"id{number}", "train_trial_index": 0, "stats": []}
        for name, value in (("num_output_tokens", 1.0), ("exact_match", is_correct)):
            row["stats"].append({"name": {"name": name, "split": "test"}, "mean": value})
        stats.append(row)
    run = folder / f"{task},model={model.replace('/', '_')}"
    write_content(run / "per_instance_stats.json", stats)
    content = {"adapter_spec": {"model": model, "method": "joint"}, "request_states": states}
    return write_content(run / "scenario_state.json", content)


def write_openai_evals(path, n_correct, *, model="gpt-x", task="law.dev.v0", n_items=20):
    """OpenAI evals: a line with the specification, lines of events by sample, and a final report."""
    labels, picks = list_picks(n_items, n_correct)
    rows = [{"spec": {"completion_fns": [model], "eval_name": task, "run_id": "r"}}]
    for number, (label, pick) in enumerate(zip(labels, picks, strict=True)):
        common = {"run_id": "r", "event_id": number, "sample_id": f"law.dev.{number}"}
        prompt = [{"role": "user", "content": f"Is it {number}?"}]
        sampled = {"prompt": prompt, "sampled": [LETTERS[pick]]}
        rows.append({**common, "type": "sampling", "data": sampled})
        match = {"correct": pick == label, "expected": LETTERS[label], "picked": LETTERS[pick]}
        rows.append({**common, "type": "match", "data": match})
    rows.append({"final_report": {"accuracy": n_correct / n_items}})
    return write_lines(path, rows)


def write_promptfoo(path, n_correct, *, models=("openai:m",), task="law", n_items=20):
    """promptfoo: one file with the results of all providers."""
    labels, picks = list_picks(n_items, n_correct)
    results = []
    for model in models:
        for number, (label, pick) in enumerate(zip(labels, picks, strict=True)):
            results.append(
                {
                    "testIdx": number,
                    "prompt": {"raw": f"Is it {number}?"},
                    "provider": {"id": model},
                    "response": {"output": LETTERS[pick]},
                    "vars": {"answer": LETTERS[label]},
                    "success": pick == label,
                }
            )
    content = {"results": {"results": results, "stats": {}}, "config": {"description": task}}
    return write_content(path, content)


def write_lm_eval(folder, n_correct, *, model="org/m", task="law", n_items=20):
    """lm-evaluation-harness: the log-likelihoods of the choices of each document."""
    labels, picks = list_picks(n_items, n_correct)
    rows = []
    for number, (label, pick) in enumerate(zip(labels, picks, strict=True)):
        scores = [["-2.0", "False"], ["-2.0", "False"]]
        scores[pick] = ["-1.0", "False"]
        texts = (f" yes {number}", f" no {number}")
        arguments = {
            f"gen_args_{index}": {"arg_0": f"Is it {number}?", "arg_1": text}
            for index, text in enumerate(texts)
        }
        rows.append(
            {
                "doc_id": number,
                "doc": {"question": f"Is it {number}?"},
                "target": str(label),
                "arguments": arguments,
                "resps": scores,
                "filtered_resps": scores,
                "filter": "none",
                "metrics": ["acc"],
                "acc": float(pick == label),
            }
        )
    name = f"samples_{task}_2026-01-01T00-00-00.0.jsonl"
    return write_lines(folder / model.replace("/", "__") / name, rows)


def write_inspect(path, n_correct, *, model="mock/m", task="law", n_items=20):
    """inspect_ai in its JSON format: drawn answers to samples with choices."""
    labels, picks = list_picks(n_items, n_correct)
    samples = []
    for number, (label, pick) in enumerate(zip(labels, picks, strict=True)):
        completion = f"ANSWER: {LETTERS[pick]}"
        message = {"role": "assistant", "content": completion}
        samples.append(
            {
                "id": number,
                "epoch": 1,
                "input": f"Is it {number}?",
                "choices": [f"yes {number}", f"no {number}"],
                "target": LETTERS[label],
                "output": {"choices": [{"message": message, "stop_reason": "stop"}]},
                "scores": {
                    "choice": {"value": "C" if pick == label else "I", "answer": LETTERS[pick]}
                },
            }
        )
    content = {
        "version": 2,
        "status": "success",
        "eval": {"task": task, "model": model, "task_file": "law.py"},
        "samples": samples,
    }
    return write_content(path, content)


def write_every_eval_ever(path, n_correct, *, n_items=20):
    labels, picks = list_picks(n_items, n_correct)
    rows = []
    for number, (label, pick) in enumerate(zip(labels, picks, strict=True)):
        rows.append(
            {
                "sample_id": f"s{number}",
                "interaction_type": "single_turn",
                "input": {"raw": f"Is it {number}?", "reference": [LETTERS[label]]},
                "output": {"raw": [LETTERS[pick]]},
                "evaluation": {"score": float(pick == label), "is_correct": pick == label},
            }
        )
    return write_lines(path, rows)
