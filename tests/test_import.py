"""`import retentive` is light, and nothing needs a network."""

import subprocess
import sys

import pytest


def run(code, **options):
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, **options)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_import_loads_nothing_heavy():
    loaded = run("import sys, retentive, retentive.memory, retentive.embedders; print(*sys.modules)").split()
    assert {"numpy", "tokenizers", "onnxruntime", "asyncio", "sqlite3"}.isdisjoint(loaded)


def test_opening_and_reading_without_the_embedder_loads_no_model():
    code = (
        "import sys, retentive\n"
        "db = retentive.Collection('c')\n"
        "db.turns('a'), db.facts(), db.count(), db.recall('x', mode='lexical')\n"
        "print(*sys.modules)\n"
    )
    assert "tokenizers" not in run(code).split()


def test_moving_loads_no_more_of_the_package(tmp_path):
    """A signal handler that makes the same call would find a module that is half there."""
    code = (
        "import sys, retentive\n"
        "from retentive.embedders import HashEmbedder\n"
        "db = retentive.Collection('c', embedder=HashEmbedder(16))\n"
        "db.remember('x')\n"
        "before = set(sys.modules)\n"
        "db.export('a.jsonl'), db.backup('a.db'), db.import_('a.jsonl', 'skip'), db.import_items([{'text': 'x'}])\n"
        "print([name for name in set(sys.modules) - before if name.startswith('retentive.')])\n"
    )
    assert run(code, cwd=tmp_path).split() == ["[]"]


def import_time(modules):
    """In seconds of the processor, the best of five: what else runs on the machine is not ours."""
    code = f"import time; start = time.process_time(); import {modules}; print(time.process_time() - start)"
    return min(float(run(code)) for _ in range(5))


def test_import_is_quick_beside_the_standard_library():
    assert import_time("retentive") < 2 * import_time("json, sqlite3, asyncio")


NO_NETWORK = """
import socket
def refuse(*args, **kwargs):
    raise AssertionError("network")
socket.socket = socket.create_connection = socket.getaddrinfo = refuse
from retentive import Collection
db = Collection("c")
db.remember("I'd like the report as a PDF", session="a")
print(db.recall("which format", session="a", min_relevance=None).top.text)
"""


def test_first_remember_and_recall_need_no_network_and_no_home(tmp_path):
    home = tmp_path / "home"
    home.mkdir(mode=0o500)
    environment = {"HOME": str(home), "PATH": "", "XDG_CACHE_HOME": str(home / "none")}
    assert run(NO_NETWORK, env=environment, cwd=tmp_path).strip() == "I'd like the report as a PDF"
    assert list(home.iterdir()) == []


def test_all_modules_import_where_there_is_no_fork_as_on_windows():
    code = (
        "import os\n"
        "for name in ('fork', 'register_at_fork', 'sched_getaffinity', 'getuid', 'geteuid', 'fchmod'):\n"
        "    delattr(os, name)\n"
        "import retentive, retentive.agents, retentive.assistant, retentive.evaluate, retentive.repair, retentive.aio\n"
        "from retentive.embedders import OnnxEmbedder, StaticEmbedder\n"
        "db = retentive.Collection('c')\n"
        "db.remember('The report as a PDF', session='a')\n"
        "print(db.recall('report', session='a', min_relevance=None).top.text)\n"
    )
    assert run(code).strip() == "The report as a PDF"


def test_star_import_gives_the_public_names():
    namespace = {}
    exec("from retentive import *", namespace)
    assert {"Collection", "ANY", "KINDS", "feedback_score", "InvalidInputError"} <= namespace.keys()


@pytest.mark.parametrize("module", ["retentive", "retentive.memory", "retentive.tokens", "retentive.embedders"])
def test_public_module_says_what_it_exports(module):
    imported = __import__(module, fromlist=["__all__"])
    assert all(hasattr(imported, name) for name in imported.__all__)


DECLARED_ONLY = """
import importlib.metadata, sys


class Declared:
    def find_spec(self, name, path=None, target=None):
        top = name.partition(".")[0]
        if top not in sys.stdlib_module_names | {"retentive", "numpy", "tokenizers"}:
            raise ModuleNotFoundError(f"{name} is no declared dependency", name=name)


sys.meta_path.insert(0, Declared())
from retentive import Collection
db = Collection("c", path=sys.argv[1])
db.remember("I'd like the report as a PDF", session="a")
print(db.context("which format", session="a", min_relevance=None).recent[0].text)
print(sorted(line.partition(">")[0] for line in importlib.metadata.requires("retentive") if "extra" not in line))
"""


def test_declared_dependencies_are_enough(tmp_path):
    code = f"import sys; sys.argv = ['', {str(tmp_path)!r}]\n{DECLARED_ONLY}"
    assert run(code).splitlines() == ["I'd like the report as a PDF", "['numpy', 'tokenizers']"]
