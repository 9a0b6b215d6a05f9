"""Balanced COPA, Easy/Hard and BCOPA-CE: every form gives the same rows, and each bad file its own sentence."""

import io
import tarfile
from xml.sax.saxutils import escape

import datasets
import pytest

from rightreasons.datasets.builder import DATA_DIR_VARIABLE, load_dataset
from rightreasons.datasets.copa import draw_half, read_items
from rightreasons.datasets.perturbing.mirroring import check_mirrored, mirror_dataset
from rightreasons.datasets.publishing import publish
from rightreasons.datasets.sources import Hub

HEAD = '<?xml version="1.0" encoding="UTF-8"?>\n<!DOCTYPE copa-corpus SYSTEM "copa.dtd">\n'


@pytest.fixture(autouse=True)
def quiet(tmp_path, monkeypatch):
    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", tmp_path / "cache")
    monkeypatch.delenv(DATA_DIR_VARIABLE, raising=False)


def item(key, premise, question, choices, right):
    return (
        f'<item id="{key}" asks-for="{question}" most-plausible-alternative="{right + 1}">'
        f"<p>{escape(premise)}</p><a1>{escape(choices[0])}</a1><a2>{escape(choices[1])}</a2></item>"
    )


def balanced_items(**changes):
    """Make 1,000 items like Balanced COPA's; a change maps an id to keywords of `item` that differ."""
    made = {}
    for key in range(1, 501):
        choices = (
            ("The sun was rising.", "The grass was cut.")
            if key == 1
            else (f"Cause {key}.", f"Other {key}.")
        )
        question = "cause" if key % 2 else "effect"
        made[key] = {
            "premise": f"Premise {key}.",
            "question": question,
            "choices": choices,
            "right": 0,
        }
        # Every third mirror lists the alternatives in the other order.
        turned = choices[::-1] if key % 3 == 0 else choices
        right = turned.index(choices[1])
        made[key + 1000] = {
            "premise": f"Mirror {key}.",
            "question": question,
            "choices": turned,
            "right": right,
        }
    for key, change in changes.items():
        key = int(key.removeprefix("i"))
        if change is None:
            del made[key]
        else:
            made[key] = {**made[key], **change}
    return made


def xml(items, head=HEAD):
    return (
        head
        + "<copa-corpus>"
        + "\n".join(item(key, **entry) for key, entry in items.items())
        + "</copa-corpus>"
    )


def load(folder, text, name="balacopa-dev-all.xml", config="balanced", **options):
    folder.mkdir(exist_ok=True)
    folder.joinpath(name).write_bytes(text if isinstance(text, bytes) else text.encode())
    return load_dataset("balanced_copa", config, data_dir=folder, other_versions=True, **options)


class TestForms:
    def test_configurations(self, tmp_path):
        text = xml(balanced_items())
        balanced = load(tmp_path / "d", text)["train"]
        assert balanced.num_rows == 1000
        assert list((tmp_path / "cache").rglob("*.arrow"))
        assert balanced.column_names == [
            "id", "premise", "question", "choice1", "choice2", "label", "mirrored", "source_id",
        ]  # fmt: skip
        original = load(tmp_path / "d", text, config="original")["train"]
        assert original["id"][:] == list(range(1, 501))
        assert not any(original["mirrored"])
        half = load(tmp_path / "d", text, config="balanced_50")["train"]
        assert (half.num_rows, len(set(half["source_id"]))) == (500, 250)
        assert sum(half["mirrored"]) == 250
        other = load(tmp_path / "d", text, config="balanced_50", seed=1)["train"]
        assert set(other["source_id"]) == set(draw_half(range(1, 501), 1)) != set(half["source_id"])

    def test_archive_csv_and_xml_give_the_same_rows(self, tmp_path, monkeypatch):
        text = xml(balanced_items())
        expected = load(tmp_path / "xml", text)["train"].to_list()
        shadow = b"\x00Mac OS X"
        archive = tar(
            {
                "b/._balacopa-dev-all.xml": shadow,
                "b/balacopa-dev-all.xml": text.encode(),
                "b/README.md": b"x",
            }
        )
        assert (
            load(tmp_path / "tar", archive, name="balanced_copa.tar.bz2")["train"].to_list()
            == expected
        )
        table = (
            datasets.Dataset.from_list(expected)
            .remove_columns("source_id")
            .to_pandas()
            .to_csv(index=False)
        )
        assert load(tmp_path / "csv", table, name="train.csv")["train"].to_list() == expected
        # The same CSV where the hub's would be.
        monkeypatch.setattr(Hub, "address", lambda self, file: str(tmp_path / "csv" / file))
        mirror = load_dataset("balanced_copa", "balanced", split="train", revision="0" * 40)
        assert mirror.to_list() == expected

    def test_text_is_decoded_and_stripped(self, tmp_path):
        items = balanced_items(i7={"premise": " Ben & Jerry's <café> "})
        row = load(tmp_path / "d", xml(items), split="train").filter(lambda row: row["id"] == 7)[0]
        assert row["premise"] == "Ben & Jerry's <café>"


def tar(files, kind="w:bz2"):
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode=kind) as bundle:
        for name, content in files.items():
            entry = tarfile.TarInfo(name)
            if isinstance(content, str):
                entry.type, entry.linkname = tarfile.SYMTYPE, content
                bundle.addfile(entry)
            else:
                entry.size = len(content)
                bundle.addfile(entry, io.BytesIO(content))
    return stream.getvalue()


BOMB = '<!DOCTYPE copa-corpus [<!ENTITY a "lol"><!ENTITY b "&a;&a;&a;">]>'
OUTSIDE = '<!DOCTYPE copa-corpus [<!ENTITY x SYSTEM "file:///etc/passwd">]>'


class TestBadFiles:
    @pytest.mark.parametrize(
        ("text", "message"),
        [
            (xml(balanced_items(), BOMB), "as published, .*EntitiesForbidden"),
            (xml(balanced_items(), OUTSIDE), "as published, .*EntitiesForbidden"),
            (xml(balanced_items(), HEAD).replace("Premise 5.", "&undeclared;"), "as published, .* undefined entity"),
            (xml(balanced_items())[:-20], "split 'train'"),
            (xml(balanced_items(i7=None)), "item 7 is missing"),
            (xml(balanced_items(i1007=None)), "item 1007 is missing"),
            (xml(balanced_items()).replace('id="8"', 'id="9"'), "item 8 is missing, comes again or"),
            (xml(balanced_items()).replace('id="8"', 'id="x8"'), "digits, .* but got {'id': 'x8'"),
            (xml(balanced_items()).replace('id="8"', f'id="{"8" * 5000}"'), "digits, .* but got {'id': '8{20}"),
            *(
                (f'<?xml version="1.0" encoding="{name}"?>' + xml(balanced_items()), "as published, but split")
                for name in ("foo", "hex", "utf-7", "shift_jis", "idna")
            ),
            (xml({**balanced_items(), 501: balanced_items()[3]}), "501 is missing"),
            (xml(balanced_items()).replace("</copa-", f"{item(1500, **balanced_items()[1500])}</copa-"), "item 1500 "),
            (xml(balanced_items(i1004={"choices": ("Cause 4.", "Third.")})), "item 1004 and its original 4 to have"),
            (xml(balanced_items(i1004={"question": "cause"})), "item 1004 and its original 4 to have"),
            (xml(balanced_items(i1004={"right": 0})), "item 1004 and its original 4 to have"),
            (xml(balanced_items(i4={"right": -1})), "correct alternative in .* but got {'id': '4'"),
            (xml(balanced_items(i4={"right": 2})), "correct alternative in .* but got {'id': '4'"),
            (xml(balanced_items(i1={"right": 1}, i1001={"right": 0})), "item 1 .* may count from another number"),
            (xml(balanced_items(i4={"question": "reason"})), "cause or effect.*, .* but got {'id': '4'"),
            (xml(balanced_items(i4={"premise": "  "})), "premise, .* but got {'id': '4'"),
            (xml(balanced_items(i4={"choices": ("Same.", "Same. ")})), "different alternatives.* got {'id': '4'"),
            (xml(balanced_items()).replace("<p>Premise 4.</p>", ""), "premise, .* but got {'id': '4'"),
            ("", "at least one example|item 1 is missing"),
            ("id,premise\n1,x\n", "as published, .* cannot be read: 'question'"),
            (b"\xff\xfe\x00", "as published, .* can't decode byte"),
        ],
    )  # fmt: skip
    def test_one_sentence_and_nothing_written(self, tmp_path, text, message):
        with pytest.raises(ValueError, match=message):
            load(tmp_path / "d", text)
        assert not list((tmp_path / "cache").rglob("*.arrow"))

    @pytest.mark.parametrize("label", ["2", "-1", "0.0", "", "True"])
    def test_labels_of_a_table(self, tmp_path, label):
        rows = ["id,premise,question,choice1,choice2,label"]
        rows += [f"{key},P,cause,A{key},B{key},{label if key == 3 else 0}" for key in range(1, 6)]
        with pytest.raises(ValueError, match="got {'id': '3'"):
            load(tmp_path / "d", "\n".join(rows), name="train.csv")

    @pytest.mark.parametrize(
        ("files", "message"),
        [
            ({"../balacopa-dev-all.xml": b"<x/>"}, "item 1 is missing"),
            ({"b/balacopa-dev-all.xml": "/etc/passwd"}, "as published, .*got 0"),
            ({"b/README.md": b"x"}, "as published, .*got 0"),
            (
                {"a/balacopa-dev-all.xml": b"<x/>", "b/balacopa-dev-all.xml": b"<x/>"},
                "as published, .*expected 1",
            ),
        ],
    )
    def test_archives(self, tmp_path, files, message):
        with pytest.raises(ValueError, match=message):
            load(tmp_path / "d", tar(files), name="balanced_copa.tar.bz2")
        assert sorted(path.name for path in (tmp_path / "d").iterdir()) == ["balanced_copa.tar.bz2"]
        assert not (tmp_path / "balacopa-dev-all.xml").exists()

    def test_wrong_checksum(self, tmp_path):
        folder = tmp_path / "d"
        folder.mkdir()
        folder.joinpath("balacopa-dev-all.xml").write_text(xml(balanced_items()))
        with pytest.raises(ValueError, match="208323 bytes"):
            load_dataset("balanced_copa", "balanced", data_dir=folder)

    def test_no_files(self, tmp_path):
        with pytest.raises(FileNotFoundError, match="file '.*balanced_copa.tar.bz2'"):
            load_dataset("balanced_copa", "original", data_dir=tmp_path)
        with pytest.raises(ValueError, match="Did you mean 'balanced_50'"):
            load_dataset("balanced_copa", "balanced50", data_dir=tmp_path)

    def test_a_dtd_beside_the_file_is_not_read(self, tmp_path, monkeypatch):
        (tmp_path / "copa.dtd").write_text('<!ENTITY trap "sprung">')
        monkeypatch.chdir(tmp_path)
        (tmp_path / "a.xml").write_text('<!DOCTYPE a SYSTEM "copa.dtd"><a>&trap;</a>')
        with pytest.raises(SyntaxError, match="undefined entity"):
            read_items(str(tmp_path / "a.xml"), "")


class TestCauseEffect:
    @staticmethod
    def items(**changes):
        made = {}
        for key in range(1501, 2001):
            entry = {"premise": f"P {key}.", "choices": (f"Why {key}.", f"Then {key}.")}
            made[key] = {**entry, "question": "cause", "right": 0}
            made[key + 500] = {**entry, "question": "effect", "right": 1}
        for key, change in changes.items():
            made[int(key.removeprefix("i"))].update(change)
        return made

    def load(self, tmp_path, items):
        tmp_path.joinpath("BCOPA-CE.xml").write_text(xml(items))
        return load_dataset("bcopa_ce", split="test", data_dir=tmp_path)

    def test_pairs(self, tmp_path):
        data = self.load(tmp_path, self.items())
        assert data.num_rows == 1000
        rows = {row["id"]: row for row in data}
        assert (rows[1503]["mirrored"], rows[2003]["mirrored"]) == (False, True)
        assert rows[2003]["source_id"] == 1503
        check_mirrored([{**row, "question": None} for row in rows.values()])

    def test_from_the_root_of_its_repository(self, tmp_path):
        (tmp_path / "data").mkdir()
        (tmp_path / "data" / "BCOPA-CE.xml").write_text(xml(self.items()))
        assert load_dataset("bcopa_ce", split="test", data_dir=tmp_path).num_rows == 1000

    @pytest.mark.parametrize(
        ("changes", "message"),
        [
            ({"i2003": {"right": 0}}, "opposite answers"),
            ({"i2003": {"question": "cause"}}, "but got the items 1503, 2003"),
            ({"i2003": {"premise": "Else."}}, "but got the items 1503"),
        ],
    )
    def test_bad_pairs(self, tmp_path, changes, message):
        with pytest.raises(ValueError, match=message):
            self.load(tmp_path, self.items(**changes))


class TestMirror:
    ITEMS = (
        {"id": "a", "prompt": "It rained.", "choices": ["Wet.", "Dry."], "label": 0, "more": 1},
        {"id": "b", "prompt": "Fire!", "choices": ["Cold.", "Hot."], "label": 1, "more": 2},
    )

    def data(self, *rows):
        return datasets.Dataset.from_list(list(rows or self.ITEMS))

    def test_balances(self):
        balanced = mirror_dataset(self.data(), {"b": "Ice!", "a": "The sun shone."})
        assert balanced["id"][:] == ["a", "a-mirrored", "b", "b-mirrored"]
        assert balanced["prompt"][:] == ["It rained.", "The sun shone.", "Fire!", "Ice!"]
        assert balanced["label"][:] == [0, 1, 1, 0]
        assert balanced["mirrored"][:] == [False, True, False, True]
        assert balanced["more"][:] == [1, 1, 2, 2]
        check_mirrored(list(balanced))

    def test_items_without_a_prompt_are_left_out(self):
        assert mirror_dataset(self.data(), {"b": "Ice!"})["source_id"][:] == ["b", "b"]

    def test_copa_form_and_ids_like_the_papers(self):
        item = {
            "id": 500,
            "premise": "P",
            "question": "cause",
            "choice1": "A",
            "choice2": "B",
            "label": 1,
        }
        balanced = mirror_dataset(self.data(item), {500: "Q"})
        assert balanced["id"][:] == [500, 1500]
        assert balanced["label"][:] == [1, 0]

    @pytest.mark.parametrize(
        ("rows", "prompts", "error", "message"),
        [
            (ITEMS, {"a": "x", "b": ""}, ValueError, "item 1 is empty"),
            (ITEMS, {"a": "x", "b": 3}, TypeError, "item 1 is 3"),
            (ITEMS, {"a": "x", "b": "Fire! "}, ValueError, "new prompt for"),
            (ITEMS, {"c": "x"}, ValueError, "no item 'c'"),
            ((ITEMS[0], ITEMS[0]), {"a": "x"}, ValueError, "'a' is repeated"),
            (({**ITEMS[0], "label": 2},), {"a": "x"}, ValueError, "label of 0 or 1 and a new prompt for item 'a'"),
            (({**ITEMS[0], "choices": ["A", "B", "C"]},), {"a": "x"}, ValueError, "two different choices, .* 'C'"),
            (({**ITEMS[0], "choices": ["A", "A"]},), {"a": "x"}, ValueError, "two different choices"),
            (({"id": "a", "text": "x", "label": 0},), {"a": "x"}, ValueError, "it lacks premise"),
        ],
    )  # fmt: skip
    def test_one_sentence(self, rows, prompts, error, message):
        with pytest.raises(error, match=message):
            mirror_dataset(self.data(*rows), prompts)

    def test_a_lone_item_is_told(self):
        rows = list(mirror_dataset(self.data(), {"a": "x", "b": "y"}))
        with pytest.raises(ValueError, match="mirrored item"):
            check_mirrored([row for row in rows if row["id"] != "a-mirrored"])


@pytest.mark.real_data
class TestRealFiles:
    def test_published_counts(self, real_data):
        balanced = load_dataset(
            "balanced_copa", "balanced", split="train", data_dir=real_data, known_issues=False
        )
        originals, mirrors = (
            balanced.filter(lambda r: not r["mirrored"]),
            balanced.filter(lambda r: r["mirrored"]),
        )
        assert (sum(originals["label"]), sum(mirrors["label"])) == (257, 237)
        for part in (originals, mirrors):
            assert (part.num_rows, part["question"][:].count("cause")) == (500, 250)
        first = balanced[0]
        assert (first["id"], first["choice1"], first["label"]) == (1, "The sun was rising.", 0)

    @pytest.mark.parametrize("where", ["", "balanced_copa"])
    def test_data_dir_may_be_either_folder(self, real_data, where):
        data = load_dataset("balanced_copa", "original", split="train", data_dir=real_data / where)
        assert data["id"][:] == list(range(1, 501))
        assert (
            load_dataset(
                "copa_easy_hard", "easy", split="test", data_dir=real_data / where
            ).num_rows
            == 190
        )

    def test_environment_variable(self, real_data, monkeypatch):
        monkeypatch.setenv(DATA_DIR_VARIABLE, str(real_data))
        assert load_dataset("balanced_copa", "test", split="test").num_rows == 500
        assert load_dataset("copa_easy_hard", "hard", split="test").num_rows == 310

    def test_xml_and_archive_give_the_same_rows(self, real_data, tmp_path):
        rows = []
        for name in ("balacopa-dev-all.xml", "balanced_copa.tar.bz2"):
            folder = tmp_path / name
            folder.mkdir()
            folder.joinpath(name).write_bytes((real_data / "balanced_copa" / name).read_bytes())
            rows.append(
                load_dataset("balanced_copa", "balanced", split="train", data_dir=folder).to_list()
            )
        assert rows[0] == rows[1]

    def test_files_in_one_folder(self, real_data, tmp_path):
        for name in ("balanced_copa/easy_hard_subsets.json", "copa/copa-test.xml"):
            tmp_path.joinpath(name.split("/")[1]).write_bytes((real_data / name).read_bytes())
        data = load_dataset("copa_easy_hard", "all", split="test", data_dir=tmp_path)
        assert sum(data["easy"]) == 190

    def test_originals_are_copas_development_set(self, real_data):
        from rightreasons.datasets.copa import read_items

        theirs = {
            row["id"]: row for row in read_items(str(real_data / "copa" / "copa-dev.xml"), "")
        }
        ours = load_dataset("balanced_copa", "original", split="train", data_dir=real_data)
        turned = 0
        for row in ours:
            other = theirs[row["id"]]
            assert row["premise"] == other["premise"]
            choices, others = [row["choice1"], row["choice2"]], [other["choice1"], other["choice2"]]
            assert choices[row["label"]] == others[other["label"]]
            turned += choices != others
        # By position 241 items would have got the wrong answer.
        assert turned == 241

    def test_gold_key(self, real_data):
        data = load_dataset("balanced_copa", "test", split="test", data_dir=real_data)
        gold = dict(
            line.split(" ", 1)
            for line in (real_data / "copa/results/gold.test").read_text().splitlines()
        )
        assert all(gold[str(row["id"])] == ("0 1" if row["label"] else "1 0") for row in data)

    @pytest.mark.parametrize("name", ["balanced_copa", "copa_easy_hard"])
    def test_hub_form(self, real_data, root, tmp_path, name):
        card = root / "datasets_scripts" / name / "README.md"
        folder = publish(name, tmp_path / "out", data_dir=real_data, card=card)
        assert folder.joinpath("README.md").read_text("utf-8") == card.read_text("utf-8")
        for config in datasets.get_dataset_config_names(str(folder)):
            theirs = datasets.load_dataset(str(folder), config)
            ours = load_dataset(name, config, data_dir=real_data)
            assert {split: rows.to_list() for split, rows in theirs.items()} == {
                split: rows.to_list() for split, rows in ours.items()
            }
