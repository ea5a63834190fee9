"""The checks in scripts/ find what they are for."""

import json
import sys
import tomllib
from pathlib import Path

import pytest

SCRIPTS = Path(__file__).resolve().parent.parent / "scripts"


@pytest.fixture(autouse=True)
def scripts_on_path(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(SCRIPTS))
    for name in ("check_lengths", "check_notice", "check_words", "count_instructions", "tracked"):
        monkeypatch.delitem(sys.modules, name, raising=False)


def test_rust_functions_are_measured_past_strings_comments_and_lifetimes():
    from check_lengths import rust_functions

    source = """\
impl<'a> Thing<'a> {
    // fn not_this() {
    /* nor /* fn that() { */ { */
    fn first(&'a self, keys: [u8; 4]) -> char {
        let open = '{'; let text = "}\\"{"; let raw = r#"fn no() { "} "#;
        let byte = b'}'; let quote = '\\''; let unicode = '\\u{7B}';
        if open == 'a' { '}' } else { '{' }
    }
    fn declared(&self);
}
fn second() { fn inner() {
} }
"""
    assert list(rust_functions(source)) == [("first", 4, 5), ("second", 11, 2), ("inner", 11, 2)]


def test_python_functions_are_measured_without_their_docstring():
    from check_lengths import python_functions

    source = '''\
class A:
    async def long(self):
        """One.

        Two.
        """
        x = 1
        return x
'''
    assert list(python_functions(source)) == [("long", 2, 3)]


@pytest.mark.parametrize("text", ["see /" + "work/data", "cd '/" + "root/x'", "https://pypi" + ".org/simple"])
def test_words_are_found(text):
    from check_words import findings

    assert [number for number, _, _ in findings("fine\n" + text)] == [2]


@pytest.mark.parametrize("text", ["example.com/home/page", "network/data", "./root/x", "a /home page"])
def test_words_are_not_found_in_innocent_text(text):
    from check_words import findings

    assert list(findings(text)) == []


def test_cargo_deny_allows_the_licences_that_the_check_of_the_notice_does():
    from check_notice import PERMISSIVE

    deny = tomllib.loads((SCRIPTS.parent / "deny.toml").read_text(encoding="utf-8"))
    assert set(deny["licenses"]["allow"]) == PERMISSIVE


def test_rust_libraries_come_from_the_registry_with_a_checksum():
    locked = tomllib.loads((SCRIPTS.parent / "Cargo.lock").read_text(encoding="utf-8"))["package"]
    libraries = [package for package in locked if not package["name"].startswith("retentive")]
    assert len(libraries) > 20
    assert [package["name"] for package in libraries if "checksum" not in package] == []
    assert [package["name"] for package in libraries if not package["source"].startswith("registry+")] == []


def test_a_path_that_grew_by_more_than_a_tenth_is_told(monkeypatch, tmp_path, capsys):
    import count_instructions

    kept = tmp_path / "kept.json"
    kept.write_text('{"compiler": "rustc 1", "counts": {"recall": 1000, "load": 500}, "notes": []}')
    monkeypatch.setattr(count_instructions, "KEPT", kept)
    monkeypatch.setattr(count_instructions, "compiler", lambda: "rustc 1")
    assert count_instructions.compared({"recall": 1100, "load": 500}) == 0
    capsys.readouterr()
    assert count_instructions.compared({"recall": 1101, "load": 500}) == 1
    told = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in told if "TOO MUCH" in line] == ["recall"]


def test_every_hot_path_is_kept():
    import count_instructions

    kept = json.loads(count_instructions.KEPT.read_text())
    assert kept["counts"].keys() == count_instructions.PATHS.keys()
    assert kept["notes"]
