"""The version of the code that a stored result depends on, found by following definitions.

A version by hand goes stale, and a version by files throws results away for a comment. This one starts at a function or
a class, follows every name of this package that its definition mentions, and digests what it reaches, without comments,
docstrings and layout.
"""

from __future__ import annotations

import ast
import functools
import hashlib
import importlib.util
import inspect
from collections.abc import Callable, Iterable, Iterator
from itertools import chain
from pathlib import Path
from types import FunctionType
from typing import Any

PACKAGE = __name__.partition(".")[0]

Definition = tuple[str, str]
"""A module and one of its top-level names; the name is "" for what the module does when it is imported."""


def code_version(*roots: type | FunctionType | str) -> str:
    """Digest the definitions of this package that some functions or classes reach.

    The digest covers the definitions of the roots and, recursively, of every top-level name of this package that a
    reached definition mentions, imports inside functions included. Of a module that is reached at all, the statements
    with an effect at import time (registrations, decorated functions) count too. Imports by a string that is computed
    are not followed.

    Args:
        roots: Functions and classes of this package, or their names as "module:name".

    Returns:
        16 hexadecimal digits: the same after a change of comments, docstrings or layout, another one after a change
        of any reached definition.

    Raises:
        ValueError: If a root is not a top-level definition of this package.

    Example:
        >>> from rightreasons.foundations.numeric import softmax
        >>> code_version(softmax) == code_version(softmax), len(code_version(softmax))
        (True, 16)
    """
    definitions = reached_definitions(_definition(root) for root in roots)
    digest = hashlib.blake2b(digest_size=8)
    for module, name in sorted(definitions):
        for code in _module(module).code(name):
            digest.update(f"{module}.{name}={code}\n".encode())
    return digest.hexdigest()


def code_of(owner: Callable[..., Any]) -> str:
    """Return the version of the code of a function or a class, whoever wrote it.

    Args:
        owner: A function, also one within another, or a class. Of this package, the version is that of the top-level
            definition it is in, as `code_version`; of another one, that of the file it is in.

    Returns:
        16 hexadecimal digits, or the name of a function that was typed into a prompt, which has no source.
    """
    while isinstance(owner, functools.partial):
        owner = owner.func
    name = getattr(owner, "__qualname__", type(owner).__qualname__)
    module = str(getattr(owner, "__module__", "") or "")
    if _is_ours(module):
        return _version_of(f"{module}:{name.partition('.')[0]}")
    try:
        source = inspect.getsource(inspect.getmodule(owner) or owner)
    except (OSError, TypeError):
        return name
    return hashlib.blake2b(source.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()


@functools.cache
def package_code() -> str:
    """Digest every file of code of this package: a version that is quick to find, and new with every change.

    Returns:
        16 hexadecimal digits.
    """
    digest = hashlib.blake2b(digest_size=8)
    root = Path(__file__).parents[1]
    for path in sorted(root.rglob("*.py")):
        digest.update(path.relative_to(root).as_posix().encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()


def reached_definitions(roots: Iterable[Definition]) -> set[Definition]:
    """Return every (module, name) of this package that the roots reach, the roots included.

    Args:
        roots: (module, name) of top-level definitions of this package.

    Raises:
        ValueError: If a root is not a top-level definition of this package.
    """
    pending = list(roots)
    for module, name in pending:
        if not _is_ours(module) or name not in _module(module).definitions:
            raise ValueError(f"Expected a top-level definition of {PACKAGE}, but got {module}.{name}.")
    reached: set[Definition] = set()
    while pending:
        definition = pending.pop()
        if definition in reached:
            continue
        reached.add(definition)
        module, name = definition
        pending.append((module, ""))
        pending += _module(module).mentioned(name)
    return reached


@functools.cache
def _version_of(root: str) -> str:
    return code_version(root)


def _definition(root: type | FunctionType | str) -> Definition:
    if isinstance(root, str):
        module, _, name = root.partition(":")
        return module, name
    return root.__module__, root.__qualname__


def _is_ours(module: str) -> bool:
    return module == PACKAGE or module.startswith(f"{PACKAGE}.")


@functools.cache
def _module(name: str) -> _Module:
    return _Module(name)


@functools.cache
def _source_of(name: str) -> Path | None:
    try:
        spec = importlib.util.find_spec(name)
    except ModuleNotFoundError:
        return None
    return None if spec is None or spec.origin is None else Path(spec.origin)


class _Module:
    """The top-level definitions of one module, parsed once.

    Attributes:
        definitions: Name -> the statements that define it; "" -> those with an effect at import time.
        imports: Name -> where an import at the top takes it from.
    """

    def __init__(self, name: str) -> None:
        path = _source_of(name)
        if path is None:
            raise ValueError(f"Expected a module of {PACKAGE}, but found none named {name!r}.")
        self.name = name
        self.definitions: dict[str, list[ast.stmt]] = {"": []}
        self.imports: dict[str, Definition] = {}
        self._code: dict[str, list[str]] = {}
        self._mentioned: dict[str, frozenset[Definition]] = {}
        for statement in _without_docstrings(ast.parse(path.read_text(encoding="utf-8"))).body:
            self._add(statement)

    def _add(self, statement: ast.stmt) -> None:
        if isinstance(statement, (ast.Import, ast.ImportFrom)):
            self.imports.update(_imported(statement))
        elif isinstance(statement, ast.If) and ast.unparse(statement.test).endswith("TYPE_CHECKING"):
            pass
        else:
            names = list(_defined(statement))
            for name in names:
                self.definitions.setdefault(name, []).append(statement)
            if not names or getattr(statement, "decorator_list", None):
                self.definitions[""].append(statement)

    def code(self, name: str) -> list[str]:
        """Return the statements that define a name, without comments, docstrings and layout."""
        if name not in self._code:
            self._code[name] = [ast.unparse(statement) for statement in self.definitions[name]]
        return self._code[name]

    def mentioned(self, name: str) -> frozenset[Definition]:
        """Return what a definition mentions of this package: names of this module, and imported ones."""
        if name not in self._mentioned:
            statements = self.definitions[name]
            self._mentioned[name] = frozenset(chain.from_iterable(map(self._mentions, statements)))
        return self._mentioned[name]

    def _mentions(self, statement: ast.stmt) -> Iterator[Definition]:
        nodes = list(_walk(statement))
        inner = [_imported(node) for node in nodes if isinstance(node, (ast.Import, ast.ImportFrom))]
        imports = {name: origin for names in (self.imports, *inner) for name, origin in names.items()}
        for node in nodes:
            if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id in imports:
                module, name = imports[node.value.id]
                yield from _resolve(module, name, node.attr)
            elif isinstance(node, ast.Name):
                if node.id in self.definitions:
                    yield self.name, node.id
                elif node.id in imports:
                    yield from _resolve(*imports[node.id])


def _walk(root: ast.AST) -> Iterator[ast.AST]:
    """Yield a node and all below it, several times as fast as `ast.walk`."""
    pending = [root]
    while pending:
        node = pending.pop()
        yield node
        for value in vars(node).values():
            if isinstance(value, ast.AST):
                pending.append(value)
            elif isinstance(value, list):
                pending += [each for each in value if isinstance(each, ast.AST)]


def _imported(statement: ast.Import | ast.ImportFrom) -> dict[str, Definition]:
    if isinstance(statement, ast.Import):
        return {
            alias.asname or alias.name.partition(".")[0]: (alias.name if alias.asname else PACKAGE, "")
            for alias in statement.names
            if _is_ours(alias.name)
        }
    module = statement.module or ""
    return {alias.asname or alias.name: (module, alias.name) for alias in statement.names if _is_ours(module)}


def _resolve(module: str, name: str, attribute: str | None = None) -> Iterator[Definition]:
    """Yield the definition that `module.name`, or `module.name.attribute`, stands for."""
    submodule = f"{module}.{name}" if name else module
    if name and name in _module(module).definitions:
        yield module, name
    elif name and name in _module(module).imports:  # handed on by another module
        yield from _resolve(*_module(module).imports[name])
    elif _source_of(submodule) is not None:
        known = _module(submodule).definitions
        # A module that is passed on whole may be asked for anything.
        yield from ((submodule, attribute),) if attribute in known else ((submodule, each) for each in known)


def _defined(statement: ast.stmt) -> Iterator[str]:
    if isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        yield statement.name
    elif isinstance(statement, (ast.Assign, ast.AnnAssign)):
        targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
        for target in targets:
            yield from (
                node.id for node in ast.walk(target) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
            )


def _without_docstrings(tree: ast.Module) -> ast.Module:
    """Drop every statement that is a text alone: docstrings, and notes below constants."""
    for node in _walk(tree):
        body = getattr(node, "body", None)
        if isinstance(body, list):
            kept = [each for each in body if not (isinstance(each, ast.Expr) and _is_text(each.value))]
            node.body = kept  # type: ignore[attr-defined]
    return tree


def _is_text(value: ast.expr) -> bool:
    return isinstance(value, ast.Constant) and isinstance(value.value, str)
