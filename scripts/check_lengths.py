"""No source file over 500 lines, no function over 60. Exceptions stand in length_allow.txt, a reason each.

A Python function's docstring does not count: examples and tables of arguments are for the reader, not for the reviewer.
"""

import ast
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from tracked import ROOT, tracked_files

FILE_LINES = 500
FUNCTION_LINES = 60
ALLOW_FILE = Path(__file__).with_name("length_allow.txt")


class Function(NamedTuple):
    """One function: its name, the line it starts on, how many lines it has."""

    name: str
    line: int
    length: int


def python_functions(source: str) -> Iterator[Function]:
    """Each function and method of a Python file, nested ones too, without its docstring."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            length = (node.end_lineno or node.lineno) - node.lineno + 1
            if ast.get_docstring(node, clean=False) is not None:
                docstring = node.body[0]
                length -= (docstring.end_lineno or docstring.lineno) - docstring.lineno + 1
            yield Function(node.name, node.lineno, length)


# What may hold a brace, or the letters `fn`, without meaning it. Block comments are taken apart below: they nest.
_RUST_OPAQUE = re.compile(
    r"""//[^\n]*
      | (?P<raw>\b(?:br|cr|r)(?P<hashes>\#*)".*?"(?P=hashes))
      | \b[bc]?"(?:\\.|[^"\\])*"
      | "(?:\\.|[^"\\])*"
      | b?'(?:\\(?:u\{[0-9a-fA-F_]+\}|x[0-9a-fA-F]{2}|.)|[^\\'\n])'
    """,
    re.VERBOSE | re.DOTALL,
)
_BLOCK_COMMENT_EDGE = re.compile(r"/\*|\*/")
_FN = re.compile(r"\bfn\s+(?P<name>(?:r\#)?\w+)")


def _blanked(text: str) -> str:
    """`text` with everything but its line breaks replaced by spaces."""
    return re.sub(r"[^\n]", " ", text)


def _block_comment_end(source: str, start: int) -> int:
    depth = 0
    for edge in _BLOCK_COMMENT_EDGE.finditer(source, start):
        depth += 1 if edge.group() == "/*" else -1
        if depth == 0:
            return edge.end()
    return len(source)


def rust_code(source: str) -> str:
    """A Rust file of the same shape, with comments, strings and character literals blanked out."""
    parts: list[str] = []
    position = 0
    while position < len(source):
        opaque = _RUST_OPAQUE.search(source, position)
        comment = source.find("/*", position)
        if comment != -1 and (opaque is None or comment < opaque.start()):
            start, end = comment, _block_comment_end(source, comment)
        elif opaque is not None:
            start, end = opaque.span()
        else:
            start = end = len(source)
        parts += [source[position:start], _blanked(source[start:end])]
        position = end
    return "".join(parts)


def _body_end(code: str, start: int) -> int | None:
    """The end of the body of the `fn` at `start`; None for a declaration without one."""
    depth = brackets = 0
    for edge in re.compile(r"[(){}\[\];]").finditer(code, start):
        symbol = edge.group()
        if symbol in "([":
            brackets += 1
        elif symbol in ")]":
            brackets -= 1
        elif symbol == ";" and depth == 0 and brackets == 0:
            return None
        elif symbol == "{":
            depth += 1
        elif symbol == "}":
            depth -= 1
            if depth == 0 and brackets == 0:
                return edge.end()
    return None


def rust_functions(source: str) -> Iterator[Function]:
    """Each function of a Rust file that has a body, nested ones too."""
    code = rust_code(source)
    for match in _FN.finditer(code):
        end = _body_end(code, match.end())
        if end is not None:
            length = code.count("\n", match.start(), end) + 1
            yield Function(match["name"], code.count("\n", 0, match.start()) + 1, length)


def allowed() -> dict[str, str]:
    """The exceptions: `path` or `path:function` to its reason."""
    entries: dict[str, str] = {}
    for number, line in enumerate(ALLOW_FILE.read_text(encoding="utf-8").splitlines(), 1):
        if not line.strip() or line.startswith("#"):
            continue
        entry, _, reason = line.partition("#")
        if not reason.strip():
            sys.exit(f"{ALLOW_FILE.name}:{number}: {entry.strip()} has no reason; write `path[:function] # reason`")
        entries[entry.strip()] = reason.strip()
    return entries


def too_long(path: Path, name: str) -> Iterator[tuple[str, str]]:
    """What of one file is too long: its entry for the allow-list, and the sentence to print."""
    source = path.read_text(encoding="utf-8")
    lines = len(source.splitlines())
    if lines > FILE_LINES:
        yield name, f"{name}: {lines} lines, {FILE_LINES} at most"
    for function in (rust_functions if path.suffix == ".rs" else python_functions)(source):
        if function.length > FUNCTION_LINES:
            found = f"{function.name} has {function.length} lines, {FUNCTION_LINES} at most"
            yield f"{name}:{function.name}", f"{name}:{function.line}: {found}"


def main() -> int:
    """Print what is too long and what the allow-list names in vain; 1 when there is any."""
    exceptions = allowed()
    unused = set(exceptions)
    problems: list[str] = []
    for path in tracked_files():
        if path.suffix in {".py", ".pyi", ".rs"}:
            for entry, sentence in too_long(path, path.relative_to(ROOT).as_posix()):
                unused.discard(entry)
                if entry not in exceptions:
                    problems.append(sentence)
    problems += [f"{ALLOW_FILE.name}: {entry} is not too long any more; take it out" for entry in sorted(unused)]
    print("\n".join(problems) or "lengths: every file and function is within bounds")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
