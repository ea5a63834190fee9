"""Every test that a page names exists, and every case has one."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PAGES = [ROOT / "docs" / "cases.md", ROOT / "docs" / "operations.md", ROOT / "SECURITY.md"]
NAMED = re.compile(r"`(?P<file>\w+\.(?:py|rs))::(?P<test>\w+)`")
ALL_SPANS = re.compile(r"`[^`]*::[^`]*`")


def functions_of(name):
    folder = ROOT / "rust" / "core" if name.endswith(".rs") else ROOT / "tests"
    files = list(folder.rglob(name))
    assert files, name
    text = "\n".join(file.read_text(encoding="utf-8") for file in files)
    return set(re.findall(r"^\s*(?:async )?(?:def|fn) (\w+)\(", text, re.MULTILINE))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_test_that_is_named_exists(page):
    text = page.read_text(encoding="utf-8")
    named = [match.groups() for match in NAMED.finditer(text)]
    assert len(named) == len(ALL_SPANS.findall(text)) > 5
    assert [f"{file}::{test}" for file, test in named if test not in functions_of(file)] == []


def test_every_case_has_a_test():
    rows = re.findall(r"^\| (\d+) \|(.*)$", PAGES[0].read_text(encoding="utf-8"), re.MULTILINE)
    assert [int(number) for number, _ in rows] == list(range(1, 37))
    assert [number for number, row in rows if not NAMED.search(row)] == []
