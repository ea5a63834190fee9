"""The checks in scripts/ find what they are for."""

import json
import sys
import tomllib
from email.message import Message
from importlib.metadata import Distribution, PackageNotFoundError
from pathlib import Path

import pytest

SCRIPTS = Path(__file__).resolve().parent.parent / "scripts"


@pytest.fixture(autouse=True)
def scripts_on_path(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(SCRIPTS))
    for name in ("check_dependencies", "check_lengths", "check_notice", "check_words", "count_instructions", "tracked"):
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


class Package(Distribution):
    def __init__(self, fields, requires=(), version="1.0"):
        self.fields, self.needs, self.number = fields, list(requires), version

    def read_text(self, filename):
        raise AssertionError(filename)

    def locate_file(self, path):
        raise AssertionError(path)

    @property
    def metadata(self):
        message = Message()
        for field, value in self.fields:
            message[field] = value
        return message

    @property
    def version(self):
        return self.number

    @property
    def requires(self):
        return self.needs


def checked(packages, extras=()):
    from check_dependencies import needed, problems

    def find(name):
        if name not in packages:
            raise PackageNotFoundError(name)
        return packages[name]

    return problems(needed("ours", frozenset(extras), find))


MIT = [("License-Expression", "MIT")]


def test_licences_are_read_from_expressions_classifiers_and_the_old_field():
    apache = [("Classifier", "License :: OSI Approved :: Apache Software License"), ("License", "a long text " * 50)]
    packages = {"ours": Package(MIT, ["a", "b", "c"]), "a": Package(MIT), "b": Package(apache)}
    packages["c"] = Package([("License", "BSD License")])
    assert checked(packages) == ([], [], {"a", "b", "c"})


@pytest.mark.parametrize(
    "fields",
    [
        [("License-Expression", "MIT AND GPL-3.0-only")],
        [("License", "Our own")],
        [("License", "words " * 99)],
        [("Classifier", "License :: OSI Approved :: GNU General Public License v3 (GPLv3)")],
        [],
    ],
)
def test_a_licence_that_is_not_known_to_be_permissive_is_reported(fields):
    wrong, _, right = checked({"ours": Package(MIT, ["a"]), "a": Package(MIT, ["deep"]), "deep": Package(fields)})
    assert [one.split()[0] for one in wrong] == ["deep"]
    assert right == {"a"}


def test_a_version_that_does_not_fit_is_reported_and_what_is_not_installed_is_named():
    packages = {"ours": Package(MIT, ["a>=2", "gone", "extra-thing; extra == 'more'"]), "a": Package(MIT, ["ours"])}
    assert checked(packages) == (["a 1.0: a>=2 is required"], ["gone"], {"ours"})
    assert checked(packages, ["more"])[1] == ["extra-thing", "gone"]
