"""Every block of Python in the documents runs, every `make` target and every linked file they name exists.

The blocks of one page run in order, in one namespace, in an empty folder. What cannot run is not marked ```python.
"""

import re
import textwrap
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).resolve().parent.parent
PAGES = [ROOT / name for name in ("README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "SECURITY.md")]
PAGES += sorted(path for path in (ROOT / "docs").rglob("*.md"))

FENCE = re.compile(
    r"^(?P<indent>[ \t]*)(?P<ticks>`{3,}|~{3,})(?P<info>[^\n`]*)\n(?P<code>.*?)^(?P=indent)(?P=ticks)[ \t]*$",
    re.MULTILINE | re.DOTALL,
)
LINK = re.compile(r"\]\((?P<target>[^)\s#]+)(?:#[^)]*)?\)")
MAKE = re.compile(r"(?:^|`)make (?P<target>[a-z-]+)", re.MULTILINE)
# Other names for Python would keep a block from being run.
ALIASES = {"py", "python3", "pycon", "py3", "ipython"}


class Block(NamedTuple):
    line: int
    info: str
    code: str


def name_of(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


def blocks_of(page: Path) -> list[Block]:
    text = page.read_text(encoding="utf-8")
    return [
        Block(text.count("\n", 0, match.start("code")) + 1, match["info"].strip(), match["code"])
        for match in FENCE.finditer(text)
    ]


def language_of(block: Block) -> str:
    return re.split(r"[\s{]", block.info, maxsplit=1)[0] if block.info else ""


def with_python() -> list[Path]:
    return [page for page in PAGES if any(language_of(block) == "python" for block in blocks_of(page))]


@pytest.mark.parametrize("page", with_python(), ids=name_of)
def test_python_blocks_run_in_order(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    namespace: dict[str, object] = {"__name__": "__page__"}
    for block in blocks_of(page):
        if language_of(block) == "python":
            # The blank lines in front make a traceback name the line of the page.
            code = "\n" * (block.line - 1) + textwrap.dedent(block.code)
            exec(compile(code, str(page), "exec"), namespace)


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_no_python_block_escapes_being_run(page):
    escaped = [
        f"{name_of(page)}:{block.line - 1}: ```{block.info}"
        for block in blocks_of(page)
        if language_of(block).lower() in ALIASES or (language_of(block) == "python" and "no-run" in block.info)
    ]
    assert escaped == [], "mark what cannot run as ```text"


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_linked_files_exist(page):
    prose = FENCE.sub("", page.read_text(encoding="utf-8"))
    targets = [match["target"] for match in LINK.finditer(prose)]
    files = [target for target in targets if not re.match(r"[a-z]+:", target)]
    assert [target for target in files if not (page.parent / target).exists()] == []


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_make_targets_exist(page):
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
    named = {match["target"] for match in MAKE.finditer(page.read_text(encoding="utf-8"))}
    assert named - targets == set()
