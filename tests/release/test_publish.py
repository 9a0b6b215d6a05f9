"""What `scripts/publish.py` pushes arrives: in a stand-in of the Hub's HTTP API on this machine."""

import base64
import http.server
import importlib.util
import json
import re
import sys
import threading
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def script():
    spec = importlib.util.spec_from_file_location("publish_script", ROOT / "scripts" / "publish.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # a dataclass looks its module up
    spec.loader.exec_module(module)
    return module


class Hub(http.server.BaseHTTPRequestHandler):
    """Keeps the repositories that are created and the files of their commits."""

    repositories: dict = {}
    refused: set = set()

    def log_message(self, *arguments):
        """Say nothing."""

    def answer(self, body, code=200):
        data = json.dumps(body).encode()
        self.send_response(code)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def do_GET(self):
        match = re.match(
            r"/api/(space|dataset)s/([^/]+/[^/]+)(?:/(tree|revision)/main)?", self.path
        )
        if match is None:
            return self.answer({"name": "my-name"})
        files = self.repositories.get(match.group(2), {}).get("files", {})
        if match.group(3) == "tree":
            entries = [
                {"type": "file", "path": name, "size": len(data), "oid": "0"}
                for name, data in files.items()
            ]
            return self.answer(entries)
        return self.answer(
            {
                "id": match.group(2),
                "sha": "0" * 40,
                "siblings": [{"rfilename": name} for name in files],
            }
        )

    def do_POST(self):
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        if self.path == "/api/repos/create":
            asked = json.loads(body)
            name = f"{asked.get('organization') or 'my-name'}/{asked['name']}"
            if asked["name"] in self.refused:
                return self.answer({"error": "You have no right to create it."}, 403)
            self.repositories.setdefault(
                name, {"type": asked["type"], "sdk": asked.get("sdk"), "files": {}}
            )
            kind = "datasets" if asked["type"] == "dataset" else "spaces"
            return self.answer({"url": f"http://{self.headers['Host']}/{kind}/{name}"})
        if self.path.startswith("/api/validate-yaml"):
            return self.answer({"errors": [], "warnings": []})
        name = re.match(r"/api/(?:space|dataset)s/([^/]+/[^/]+)/", self.path).group(1)
        if "/preupload/" in self.path:
            files = json.loads(body)["files"]
            return self.answer(
                {
                    "files": [
                        {"path": file["path"], "uploadMode": "regular", "shouldIgnore": False}
                        for file in files
                    ]
                }
            )
        for line in body.decode().splitlines():
            entry = json.loads(line)
            if entry["key"] == "file":
                content = base64.b64decode(entry["value"]["content"])
                self.repositories[name]["files"][entry["value"]["path"]] = content
            elif entry["key"] == "deletedFile":
                self.repositories[name]["files"].pop(entry["value"]["path"], None)
        return self.answer(
            {"commitUrl": f"http://{self.headers['Host']}/{name}/commit/0", "commitOid": "0" * 40}
        )


@pytest.fixture
def hub(monkeypatch):
    monkeypatch.setenv("HF_TOKEN", "hf_secret")
    monkeypatch.delenv("HF_HUB_OFFLINE", raising=False)
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", False)
    Hub.repositories, Hub.refused = {}, set()
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Hub)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_address[1]}"
    server.shutdown()
    server.server_close()


def test_every_folder_is_found(script):
    found = {(item.kind, item.name) for item in script.items()}
    for place in ("metrics", "measurements"):
        assert {name for kind, name in found if kind == "modules"} >= {
            path.parent.name for path in ROOT.glob(f"{place}/*/app.py")
        }
    assert [name for kind, name in found if kind == "spaces"] == ["rightreasons"]
    assert {name for kind, name in found if kind == "data"} == {
        path.parent.name for path in ROOT.glob("datasets_scripts/*/README.md")
    }


def test_a_module_and_a_space_arrive_whole(script, hub, capsys):
    code = script.main(["my-name", "--only", "ece,rightreasons", "--endpoint", hub])
    assert code == 0, capsys.readouterr().err
    module, space = Hub.repositories["my-name/ece"], Hub.repositories["my-name/rightreasons"]
    assert (module["type"], module["sdk"]) == ("space", "gradio")
    for name in ("ece.py", "README.md", "app.py", "requirements.txt"):
        assert module["files"][name] == ROOT.joinpath("metrics", "ece", name).read_bytes()
    assert {"app.py", "audit/app.py", "audit/bundled/predictions.csv"} <= set(space["files"])
    assert not [name for name in space["files"] if "make_" in name or "__pycache__" in name]
    assert f"{hub}/spaces/my-name/ece" in capsys.readouterr().out


def test_what_is_gone_here_is_gone_there(script, hub):
    script.main(["my-name", "--only", "ece", "--endpoint", hub])
    Hub.repositories["my-name/ece"]["files"]["old.py"] = b"print()"
    script.main(["my-name", "--only", "ece", "--endpoint", hub])
    assert "old.py" not in Hub.repositories["my-name/ece"]["files"]


def test_one_that_is_refused_does_not_end_the_others(script, hub, capsys):
    Hub.refused = {"dist_ce"}
    assert script.main(["my-name", "--only", "dist_ce,ece", "--endpoint", hub]) == 1
    assert "my-name/ece" in Hub.repositories
    error = capsys.readouterr().err
    assert "my-name/dist_ce (space) was not pushed" in error
    assert "hf_secret" not in error


def test_a_built_data_set_arrives_as_parquet_with_its_card(
    script, hub, capsys, monkeypatch, tmp_path
):
    monkeypatch.setenv("HF_DATASETS_CACHE", str(tmp_path))
    item = next(item for item in script.items() if item.name == "planted_shortcuts")
    import rightreasons.datasets.publishing

    small = {
        "train_size": 8,
        "validation_size": 4,
        "test_size": 4,
        "configs": ["function"],
        "cache_dir": str(tmp_path),
    }
    publishing = rightreasons.datasets.publishing
    build = publishing.publish
    monkeypatch.setattr(
        publishing, "publish", lambda *given, **named: build(*given, **named, **small)
    )
    assert script.main(["my-name", "--only", item.name, "--endpoint", hub]) == 0, (
        capsys.readouterr().err
    )
    repository = Hub.repositories["my-name/planted_shortcuts"]
    assert repository["type"] == "dataset"
    assert "function/train.parquet" in repository["files"]
    assert b"configs:" in repository["files"]["README.md"]


def test_a_dry_run_pushes_nothing(script, hub, capsys):
    assert script.main(["my-name", "--kinds", "modules", "--dry-run", "--endpoint", hub]) == 0
    assert Hub.repositories == {}
    assert "metrics/ece -> my-name/ece (space)" in capsys.readouterr().out.splitlines()


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--kinds", "models"], "Expected --kinds of modules, spaces, data, but got models."),
        (["--only", "eec"], "Expected --only of what can be pushed, but there is no eec."),
    ],
)
def test_a_mistake_is_one_sentence(script, capsys, words, sentence):
    assert script.main(["my-name", *words, "--dry-run"]) == 2
    assert capsys.readouterr().err == f"Error: {sentence}\n"


def test_requirements_name_this_version(script):
    """Each names the repository, or the release of this version: what `--requirements` writes."""
    import rightreasons

    assert script.VERSION.group(1) == rightreasons.__version__
    for item in script.items():
        path = item.folder / "requirements.txt"
        if path.is_file():
            lines = path.read_text("utf-8").splitlines()
            assert lines in [
                [script.requirement(line, released=flag) for line in lines]
                for flag in (True, False)
            ]


def test_no_page_installs_from_a_place_that_may_not_be_ours():
    for place in (
        "*.md",
        "docs/**/*.md",
        "experiments/*/README.md",
        "m*/*/README.md",
        "spaces/README.md",
    ):
        for page in ROOT.glob(place):
            text = page.read_text("utf-8")
            assert "git+" not in text, page
            assert 'evaluate.load("rightreasons/' not in text, page


def test_requirement_of_the_source_and_of_a_release(script):
    version = script.VERSION.group(1)
    source = f"rightreasons[spaces] @ git+{script.REPOSITORY}"
    assert script.requirement("rightreasons[spaces]", released=False) == source
    assert (
        script.requirement(source, released=True)
        == f"rightreasons[spaces]=={version.rsplit('.', 1)[0]}.*"
    )
    assert script.requirement("evaluate>=0.4.6", released=True) == "evaluate>=0.4.6"


def test_one_version(script):
    version = script.VERSION.group(1)
    assert f"\nversion: {version}\n" in ROOT.joinpath("CITATION.cff").read_text("utf-8")
    assert f"\n## [{version}]" in ROOT.joinpath("CHANGELOG.md").read_text("utf-8")
