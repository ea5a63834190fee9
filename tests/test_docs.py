"""Every block of Python in the documents runs, every `make` target and every linked file they name exists.

The blocks of one page run in order, in one namespace. A reader has one folder for all pages, and may begin one again:
the pages run one after another in one folder, and twice where they leave something. What cannot run is not ```python.
"""

import os
import re
import tempfile
import textwrap
import tomllib
from importlib.metadata import metadata
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).resolve().parent.parent
PAGES = [ROOT / name for name in ("README.md", "DESCRIPTION.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "SECURITY.md")]
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


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Empty before the first page."""
    return tmp_path_factory.mktemp("reader")


def stores(page: Path) -> bool:
    """Whether a page leaves something in the folder that it would find again."""
    return any("path=" in block.code for block in blocks_of(page) if language_of(block) == "python")


def runs() -> list[tuple[Path, str]]:
    once = [(page, "once") for page in with_python()]
    return once + [(page, "again") for page in with_python() if stores(page)]


@pytest.mark.parametrize(("page", "time"), runs(), ids=lambda part: part if isinstance(part, str) else name_of(part))
def test_python_blocks_run_in_order(page, time, folder, monkeypatch):
    monkeypatch.chdir(folder)
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
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


@pytest.mark.parametrize("page", [page for page in PAGES if (ROOT / "docs") in page.parents], ids=name_of)
def test_links_of_the_site_stay_in_it(page):
    """The site is built of `docs` alone."""
    prose = FENCE.sub("", page.read_text(encoding="utf-8"))
    files = [match["target"] for match in LINK.finditer(prose) if not re.match(r"[a-z]+:", match["target"])]
    assert [file for file in files if not (page.parent / file).resolve().is_relative_to(ROOT / "docs")] == []


def described() -> dict[str, str]:
    """The long description that an index shows: its source, and what the wheel has of it where one is installed."""
    source = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["readme"]
    texts = {"source": (ROOT / source).read_text("utf-8")}
    if not os.environ.get("RETENTIVE_TEST_SOURCE"):  # an editable install has that of the day it was made
        texts["wheel"] = str(metadata("retentive").get_payload())
    return texts


@pytest.mark.parametrize("text", described().values(), ids=described())
def test_long_description_links_to_nothing_that_an_index_has_not(text):
    """No link and no image is relative: in Markdown, by reference, or in HTML."""
    assert "pip install retentive" in text
    targets = [match["target"] for match in LINK.finditer(text)]
    targets += re.findall(r"^ {0,3}\[[^]]+\]:\s*(\S+)", text, re.MULTILINE)
    targets += re.findall(r"(?:href|src)\s*=\s*[\"']?([^\"'\s>]+)", text)
    assert [target for target in targets if not re.match(r"(https|mailto):", target)] == []


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_make_targets_exist(page):
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
    named = {match["target"] for match in MAKE.finditer(page.read_text(encoding="utf-8"))}
    assert named - targets == set()
