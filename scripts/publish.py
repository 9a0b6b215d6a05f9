"""Pushes the evaluate modules, the Space and built data sets to a namespace of the Hub.

    python scripts/publish.py my-name --dry-run               # says what would go where
    python scripts/publish.py my-name --only ece,rightreasons
    python scripts/publish.py my-name --kinds data --data-dir ~/benchmarks

A module is a Space whose files `evaluate.load("my-name/ece")` reads; a data set is built first, as parquet and card.
The token is that of `hf auth login` or of HF_TOKEN. A push replaces what an earlier one wrote, as one commit each.
"""

from __future__ import annotations

import argparse
import dataclasses
import re
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Literal

from huggingface_hub import HfApi
from huggingface_hub.errors import HfHubHTTPError, LocalTokenNotFoundError

ROOT = Path(__file__).resolve().parents[1]
KINDS = ("modules", "spaces", "data")
REPOSITORY = "https://github.com/rightreasons/rightreasons"
LEFT_OUT = ("__pycache__", "*.pyc", "make_*.py")
VERSION = re.search(
    r'^__version__ = "(.+)"', (ROOT / "src/rightreasons/__init__.py").read_text("utf-8"), re.M
)


@dataclasses.dataclass(frozen=True)
class Item:
    """A repository to push.

    Attributes:
        name: Its name in the namespace.
        kind: "modules", "spaces" or "data".
        folder: What it is made from.
    """

    name: str
    kind: Literal["modules", "spaces", "data"]
    folder: Path

    @property
    def repo_type(self) -> str:
        """What the Hub calls it."""
        return "dataset" if self.kind == "data" else "space"


def items() -> list[Item]:
    """Return everything that can be pushed, as found in the folders."""
    places: list[tuple[Literal["modules", "spaces", "data"], str]] = [
        ("modules", "metrics"),
        ("modules", "measurements"),
        ("data", "datasets_scripts"),
    ]
    return [
        Item("rightreasons", "spaces", ROOT / "spaces"),
        *(
            Item(folder.name, kind, folder)
            for kind, place in places
            for folder in sorted(ROOT.joinpath(place).iterdir())
            if folder.joinpath("README.md").is_file()
        ),
    ]


def requirement(line: str, *, released: bool) -> str:
    """Return a line of requirements.txt with our package as its repository has it, or its release on PyPI.

    Example:
        >>> requirement("gguf", released=True)
        'gguf'
    """
    match = re.match(r"rightreasons(\[[\w,]+\])?", line)
    if match is None or VERSION is None:
        return line
    extras = match.group(1) or ""
    if released:
        return f"rightreasons{extras}=={'.'.join(VERSION.group(1).split('.')[:2])}.*"
    return f"rightreasons{extras} @ git+{REPOSITORY}"


def write_requirements(*, released: bool) -> list[Path]:
    """Write the line of our package into every requirements.txt; return the files that changed."""
    changed = []
    for item in items():
        path = item.folder / "requirements.txt"
        if not path.is_file():
            continue
        text = path.read_text("utf-8")
        new = "".join(f"{requirement(line, released=released)}\n" for line in text.splitlines())
        if new != text:
            path.write_text(new, "utf-8")
            changed.append(path)
    return changed


def content(item: Item, scratch: Path, data_dir: str | None) -> Path:
    """Return the folder to push: a copy of the item's own, or its data as parquet."""
    target = scratch / item.kind / item.name
    if item.kind == "data":
        from rightreasons.datasets.publishing import publish

        return publish(item.name, target, card=item.folder / "README.md", data_dir=data_dir)
    shutil.copytree(item.folder, target, ignore=shutil.ignore_patterns(*LEFT_OUT))
    return target


def push(api: HfApi, item: Item, namespace: str, folder: Path) -> str:
    """Create the repository if it is not there, push the folder as one commit, and return its address."""
    name = f"{namespace}/{item.name}"
    sdk = "gradio" if item.repo_type == "space" else None
    api.create_repo(name, repo_type=item.repo_type, space_sdk=sdk, exist_ok=True)
    version = VERSION.group(1) if VERSION else ""
    api.upload_folder(
        repo_id=name,
        repo_type=item.repo_type,
        folder_path=folder,
        commit_message=f"rightreasons {version}",
        delete_patterns="*",
    )
    prefix = "datasets" if item.repo_type == "dataset" else "spaces"
    return f"{api.endpoint}/{prefix}/{name}"


def chosen(kinds: str, only: str | None) -> list[Item]:
    """Return the items of some kinds and names.

    Raises:
        ValueError: If there is no such kind or name.
    """
    wanted = kinds.split(",")
    if unknown := sorted(set(wanted) - set(KINDS)):
        raise ValueError(f"Expected --kinds of {', '.join(KINDS)}, but got {', '.join(unknown)}.")
    found = [item for item in items() if item.kind in wanted]
    if only is None:
        return found
    names = only.split(",")
    if missing := sorted(set(names) - {item.name for item in found}):
        raise ValueError(
            f"Expected --only of what can be pushed, but there is no {', '.join(missing)}."
        )
    return [item for item in found if item.name in names]


def main(arguments: list[str] | None = None) -> int:
    """Run the command; return its exit code."""
    parser = argparse.ArgumentParser(
        description="Push modules, the Space and data sets to a namespace of the Hub."
    )
    parser.add_argument("namespace", nargs="?", help="user or organization")
    parser.add_argument(
        "--kinds",
        default=",".join(KINDS),
        help="comma-separated: modules, spaces, data; default all",
    )
    parser.add_argument("--only", help="comma-separated names; by default all of these kinds")
    parser.add_argument("--data-dir", help="folder of local copies of the data sets' sources")
    parser.add_argument("--endpoint", help="another address of the Hub's API")
    parser.add_argument(
        "--dry-run", action="store_true", help="say what would be pushed, and push nothing"
    )
    parser.add_argument(
        "--requirements",
        choices=("source", "release"),
        help="write our package's line into every requirements.txt: from its repository, or the release",
    )
    options = parser.parse_args(arguments)
    if options.requirements:
        for path in write_requirements(released=options.requirements == "release"):
            print(path.relative_to(ROOT))
        return 0
    if options.namespace is None:
        parser.error("the namespace is missing")
    try:
        todo = chosen(options.kinds, options.only)
    except ValueError as error:
        print(f"Error: {error}", file=sys.stderr)
        return 2
    api = HfApi(endpoint=options.endpoint)
    failed = 0
    for item in todo:
        address = f"{options.namespace}/{item.name} ({item.repo_type})"
        if options.dry_run:
            print(f"{item.folder.relative_to(ROOT)} -> {address}")
            continue
        with tempfile.TemporaryDirectory() as scratch:
            try:
                print(
                    push(
                        api, item, options.namespace, content(item, Path(scratch), options.data_dir)
                    ),
                    flush=True,
                )
            except (HfHubHTTPError, LocalTokenNotFoundError, OSError, ValueError) as error:
                failed += 1
                print(
                    f"Error: {address} was not pushed: {' '.join(str(error).split())}",
                    file=sys.stderr,
                )
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
