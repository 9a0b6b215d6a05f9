"""The data-only form: what is written opens with datasets alone, and every script of datasets_scripts/ works."""

import importlib.util
import subprocess
import sys

import datasets
import pytest
from huggingface_hub import DatasetCard

from rightreasons.datasets.builder import available_datasets, load_dataset
from rightreasons.datasets.publishing import _list_config_files, get_card_body, publish

datasets.disable_progress_bars()

SIZES = {"train_size": 20, "validation_size": 10, "test_size": 10}


@pytest.fixture
def script(root):
    spec = importlib.util.spec_from_file_location(
        "build_data_sets", root / "datasets_scripts" / "build.py"
    )
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(autouse=True)
def alone(monkeypatch, tmp_path):
    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", tmp_path / "cache")
    monkeypatch.delenv("RIGHTREASONS_DATA_DIR", raising=False)


def test_the_written_folder_opens_without_code(tmp_path):
    folder = publish("planted_shortcuts", tmp_path / "out", **SIZES)
    assert not list(folder.rglob("*.py"))
    assert datasets.get_dataset_config_names(str(folder)) == [
        "lexical",
        "function",
        "punctuation",
        "mixed",
    ]
    for config in ("lexical", "punctuation"):
        ours = load_dataset("planted_shortcuts", config, **SIZES)
        theirs = datasets.load_dataset(str(folder), config)
        assert list(theirs) == list(ours)
        for split, rows in ours.items():
            assert theirs[split].to_list() == rows.to_list()
            assert theirs[split].features == rows.features
    first = datasets.load_dataset(str(folder), split="test")  # the default is the first
    assert first.to_list() == load_dataset("planted_shortcuts", split="test", **SIZES).to_list()
    stream = datasets.load_dataset(str(folder), "mixed", split="test_absent", streaming=True)
    assert len(list(stream)) == 10


def test_a_folder_that_holds_something_is_left_alone(tmp_path):
    (tmp_path / "kept.txt").write_text("mine", "utf-8")
    with pytest.raises(ValueError, match="Expected an empty folder"):
        publish("planted_shortcuts", tmp_path)
    assert (tmp_path / "kept.txt").read_text("utf-8") == "mine"


@pytest.mark.real_data
def test_a_source_that_is_missing_leaves_no_half_behind(tmp_path, real_data):
    archive = "balanced_copa.tar.bz2"
    (tmp_path / archive).write_bytes((real_data / "balanced_copa" / archive).read_bytes())
    with pytest.raises(FileNotFoundError, match="does not hold"):
        publish("balanced_copa", tmp_path / "out", data_dir=tmp_path)
    assert not (tmp_path / "out").exists()


def test_a_card_that_is_missing_leaves_nothing_behind(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"card at .*README\.md"):
        publish("planted_shortcuts", tmp_path / "out", card=tmp_path / "README.md", **SIZES)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.real_data
def test_other_versions_on_demand(script, tmp_path, real_data, capsys):
    (tmp_path / "copies").mkdir()
    for name in ("dev.tsv", "test.tsv", "train.tsv"):
        lines = (real_data / "sst2" / name).read_text("utf-8").splitlines(keepends=True)
        (tmp_path / "copies" / name).write_text("".join(lines[:5]), "utf-8")
    arguments = ["--data-dir", str(tmp_path / "copies"), "--out", str(tmp_path / "out")]
    with pytest.raises(SystemExit):
        script.main(["sst2", *arguments])
    assert "to be the published file" in capsys.readouterr().err
    script.main(["sst2", *arguments, "--other-versions"])
    assert len(datasets.load_dataset(str(tmp_path / "out"), split="train")) == 5


def test_the_front_matter_is_written_anew_and_the_text_kept(tmp_path):
    (tmp_path / "card.md").write_text("---\nlicense: old\n---\n\n# Mine\n\n---\nmore\n", "utf-8")
    folder = publish(
        "planted_shortcuts", tmp_path / "out", configs=["mixed"], card=tmp_path / "card.md", **SIZES
    )
    card = DatasetCard.load(folder / "README.md")
    assert card.data.license == "apache-2.0"
    assert card.data.to_dict()["configs"][0]["config_name"] == "mixed"
    assert card.text.strip() == "# Mine\n\n---\nmore"
    assert get_card_body("# No front matter") == "# No front matter"


def test_every_card_stands_for_a_name_of_the_catalog(root):
    cards = sorted((root / "datasets_scripts").glob("*/README.md"))
    assert {path.parent.name for path in cards} <= set(available_datasets())
    for path in cards:
        assert [file.name for file in path.parent.iterdir()] == [
            "README.md"
        ]  # datasets 5 refuses a folder with a script
        assert DatasetCard.load(path).data.to_dict()["configs"], path


@pytest.mark.real_data
@pytest.mark.parametrize("name", ["sst2", "tweeteval_irony"])
def test_a_published_set_by_its_script(name, tmp_path, real_data, root):
    done = subprocess.run(
        [
            sys.executable,
            root / "datasets_scripts" / "build.py",
            name,
            "--out",
            tmp_path / name,
            "--data-dir",
            real_data,
        ],
        capture_output=True,
        text=True,
        check=False,
        env={"HF_HUB_OFFLINE": "1", "HF_HOME": str(tmp_path / "hf"), "PATH": "/usr/bin:/bin"},
    )
    assert done.returncode == 0, done.stderr
    theirs = datasets.load_dataset(str(tmp_path / name), split="test")
    assert theirs.to_list() == load_dataset(name, split="test", data_dir=real_data).to_list()
    # The card in the repository is the card that the script writes.
    written = (tmp_path / name / "README.md").read_text("utf-8")
    assert written == (root / "datasets_scripts" / name / "README.md").read_text("utf-8")


def test_a_script_says_what_is_missing_in_one_sentence(script, tmp_path, capsys):
    with pytest.raises(SystemExit) as caught:
        script.main(["sst2", "--out", str(tmp_path / "out"), "--data-dir", str(tmp_path)])
    assert caught.value.code == 2
    assert "Expected the file 'train.tsv' of 'sst2'" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("names", "is_own", "marked"),
    [
        (["mixed", "default"], True, ["mixed"]),
        (["default", "mixed"], True, []),
        (["default", "mixed"], False, ["default"]),
    ],
)
def test_the_first_configuration_is_marked_unless_its_name_says_so(names, is_own, marked):
    tables = {name: {"test": None} for name in names}

    configs = _list_config_files(tables, is_own=is_own)

    assert [config["config_name"] for config in configs if config.get("default")] == marked
    assert configs[0]["data_files"] == [{"split": "test", "path": f"{names[0]}/test.parquet"}]
