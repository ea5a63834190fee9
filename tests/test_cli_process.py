"""`retentive` as a process: a pipe that closes early, Ctrl-C, a full disk, `python -m`, no typer."""

import json
import os
import signal
import subprocess
import sys

import pytest

from retentive import Collection
from retentive.embedders import HashEmbedder

COMMAND = [sys.executable, "-m", "retentive"]


@pytest.fixture
def many(cli, tmp_path):
    """More turns than a pipe takes."""
    with Collection("retentive", path=tmp_path, embedder=HashEmbedder(64)) as db:
        db.remember_many([{"text": f"note {number}", "session": "a"} for number in range(2_000)])


def finished(*arguments, **options):
    return subprocess.run([*COMMAND, *arguments], capture_output=True, check=False, timeout=120, **options)


@pytest.mark.parametrize("form", [[], ["--json"]], ids=["text", "json"])
def test_a_pipe_that_closes_early_is_silent(many, form):
    child = subprocess.Popen([*COMMAND, "turns", *form], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    first = child.stdout.readline()
    child.stdout.close()
    error = child.stderr.read()
    child.stderr.close()
    assert child.wait(timeout=60) == 141
    assert error == b""
    assert b"session a" in first or json.loads(first)["text"] == "note 0"


def test_a_pipe_that_nobody_reads_from_the_start_is_silent(many):
    reading, writing = os.pipe()
    os.close(reading)
    done = subprocess.run([*COMMAND, "stats"], stdout=writing, stderr=subprocess.PIPE, check=False, timeout=60)
    os.close(writing)
    assert (done.returncode, done.stderr) == (141, b"")


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no device that is always full")  # noqa: PTH110
def test_output_that_cannot_be_written_is_one_sentence(many):
    with open("/dev/full", "wb") as full:  # noqa: PTH123
        done = subprocess.run([*COMMAND, "stats", "--json"], stdout=full, stderr=subprocess.PIPE, check=False)
    assert (done.returncode, done.stderr) == (1, b"retentive: No space left on device\n")


@pytest.mark.parametrize(("command", "code"), [("forget --all", 1), ("chat", 0), ("remember -", 2), ("import -", 1)])
def test_no_standard_input_is_an_empty_one(many, command, code):
    line = f'exec "{sys.executable}" -m retentive {command} <&-'
    done = subprocess.run(line, shell=True, capture_output=True, check=False, text=True, timeout=60)
    assert (done.returncode, done.stdout) == (code, "")
    assert "Traceback" not in done.stderr
    assert done.stderr.splitlines()[-1].startswith("retentive: " if code else "/help")


SLOW = """
import retentive.cli.lists
import time
def slow(*arguments, **options):
    print("reading", flush=True)
    time.sleep(60)
retentive.cli.lists.print_results = slow
from retentive.cli import main
raise SystemExit(main(["turns", "-s", "a"]))
"""


def test_ctrl_c_is_one_sentence(many):
    child = subprocess.Popen([sys.executable, "-c", SLOW], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert child.stdout.readline() == b"reading\n"
    child.send_signal(signal.SIGINT)
    out, error = child.communicate(timeout=60)
    assert (child.returncode, out, error) == (130, b"", b"retentive: interrupted\n")


CTRL_C_AT = """
import os
import signal
import sys


class Interrupts:
    def find_spec(self, name, path=None, target=None):
        if name == {module!r}:
            os.kill(os.getpid(), signal.SIGINT)


sys.meta_path.insert(0, Interrupts())
"""


@pytest.mark.skipif(os.name == "nt", reason="no signal that a process can send itself")
@pytest.mark.parametrize(
    "module", ["retentive._results", "retentive.memory", "typer", "rich.text", "retentive.cli.chat"]
)
@pytest.mark.parametrize("script", [False, True], ids=["module", "script"])
def test_ctrl_c_at_the_start_is_one_sentence(tmp_path, module, script):
    (tmp_path / "sitecustomize.py").write_text(CTRL_C_AT.format(module=module))
    entry = tmp_path / "retentive"
    entry.write_text("import sys\nsys.path.pop(0)\nfrom retentive.cli import main\nsys.exit(main())\n")
    command = [sys.executable, str(entry)] if script else COMMAND
    path = os.pathsep.join(filter(None, [str(tmp_path), os.environ.get("PYTHONPATH")]))
    done = subprocess.run(
        [*command, "turns"], capture_output=True, check=False, timeout=60, env=os.environ | {"PYTHONPATH": path}
    )
    assert (done.returncode, done.stdout, done.stderr) == (130, b"", b"retentive: interrupted\n")


@pytest.mark.skipif(os.name == "nt", reason="no signal that a process can send itself")
@pytest.mark.parametrize(
    ("program", "name", "modules"),
    [
        ("retentive.repair", "repair", ["retentive._results", "retentive.repair", "retentive._working_folder"]),
        (
            "retentive.evaluate",
            "python -m retentive.evaluate",
            ["retentive._core", "retentive.evaluate", "retentive.evaluate.__main__", "retentive.evaluate.plot"],
        ),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_ctrl_c_at_the_start_of_the_other_programs_is_one_sentence(tmp_path, program, name, modules):
    path = os.pathsep.join(filter(None, [str(tmp_path), os.environ.get("PYTHONPATH")]))
    for number, module in enumerate(modules):
        (tmp_path / "sitecustomize.py").write_text(CTRL_C_AT.format(module=module))
        command = [sys.executable, "-um" if number else "-m", program, "--help"]
        done = subprocess.run(
            command, capture_output=True, check=False, timeout=60, env=os.environ | {"PYTHONPATH": path}
        )
        told = f"{name}: interrupted\n".encode()
        assert (module, done.returncode, done.stdout, done.stderr) == (module, 130, b"", told)


AT_THE_END = """
import os
import signal
import sys
import threading


class Last:
    def __del__(self, kill=os.kill, number=os.getpid(), name=signal.SIGINT):
        kill(number, name)


if {where!r} == "threads":
    threading._register_atexit(os.kill, os.getpid(), signal.SIGINT)
else:
    sys.modules["a module of its own"] = Last()
"""
ENDS = {"threads": (130, b"retentive: interrupted\n"), "modules": (0, b"")}


@pytest.mark.skipif(os.name == "nt", reason="no signal that a process can send itself")
@pytest.mark.parametrize("where", ENDS)
@pytest.mark.parametrize("script", [False, True], ids=["module", "script"])
def test_ctrl_c_at_the_end_is_one_sentence_or_comes_too_late(tmp_path, where, script):
    (tmp_path / "sitecustomize.py").write_text(AT_THE_END.format(where=where))
    entry = tmp_path / "retentive"
    entry.write_text("import sys\nsys.path.pop(0)\nfrom retentive.cli import main\nsys.exit(main())\n")
    command = [sys.executable, str(entry)] if script else COMMAND
    path = os.pathsep.join(filter(None, [str(tmp_path), os.environ.get("PYTHONPATH")]))
    done = subprocess.run(
        [*command, "--version"], capture_output=True, check=False, timeout=60, env=os.environ | {"PYTHONPATH": path}
    )
    assert (done.returncode, done.stderr) == ENDS[where]
    assert done.stdout.startswith(b"retentive ")


@pytest.mark.skipif(os.name == "nt", reason="no signal that a process can send itself")
@pytest.mark.parametrize("program", ["repair", "python -m retentive.evaluate"])
def test_ctrl_c_at_the_end_of_the_other_programs_is_one_sentence(tmp_path, program):
    (tmp_path / "sitecustomize.py").write_text(AT_THE_END.format(where="threads"))
    path = os.pathsep.join(filter(None, [str(tmp_path), os.environ.get("PYTHONPATH")]))
    command = [sys.executable, "-m", f"retentive.{program.rpartition('.')[2]}", "--help"]
    done = subprocess.run(command, capture_output=True, check=False, timeout=60, env=os.environ | {"PYTHONPATH": path})
    assert (done.returncode, done.stderr) == (130, f"{program}: interrupted\n".encode())


def test_ctrl_c_is_left_alone_where_another_program_imports_the_package():
    code = "import signal; before = signal.getsignal(2); import {}; print(signal.getsignal(2) is before)"
    for module in ("retentive", "retentive.repair", "retentive.evaluate.__main__", "retentive.cli"):
        command = [sys.executable, "-c", code.format(module)]
        done = subprocess.run(command, capture_output=True, check=True, text=True, timeout=60)
        assert done.stdout == "True\n"


def test_the_module_is_the_program(many):
    done = finished("turns", "-n", "1", "--json")
    assert (done.returncode, json.loads(done.stdout)["text"], done.stderr) == (0, "note 1999", b"")
    done = finished("turns", "--limit", "x")
    assert (done.returncode, done.stdout, done.stderr.count(b"\n")) == (2, b"", 1)


def test_an_encoding_without_the_characters_gets_escapes_and_bars_of_its_own(many, tmp_path):
    with Collection("retentive", path=tmp_path, embedder=HashEmbedder(64)) as db:
        db.remember("Zürich 漢字", session="b")
    environment = os.environ | {"PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"}
    done = finished("recall", "Zürich", "-s", "b", "--explain", env=environment)
    assert done.returncode == 0
    assert b"Z\\xfcrich \\u6f22\\u5b57" in done.stdout
    assert b"1.000 ########################\n" in done.stdout


MISSING = """
import sys


class Missing:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] == {package!r}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)


sys.meta_path.insert(0, Missing())
from retentive.cli import main
raise SystemExit(main(["stats"]))
"""


@pytest.mark.parametrize("package", ["typer", "rich"])
def test_without_its_libraries_it_says_in_one_sentence_what_to_install(package):
    code = MISSING.format(package=package)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=False, text=True, timeout=60)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith(f"retentive: the command line needs {package}")
    assert done.stderr.endswith('install it with: pip install "retentive[cli]"\n')
    assert done.stderr.count("\n") == 1


def test_the_package_without_the_command_line_loads_nothing_of_it():
    code = (
        "import sys, retentive, retentive.cli; db = retentive.Collection('c'); db.turns('a')\n"
        "print({name.partition('.')[0] for name in sys.modules} & {'typer', 'rich', 'click', 'pydantic'})"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, text=True, timeout=60)
    assert done.stdout == "set()\n"


def test_the_entry_point_is_declared():
    from importlib.metadata import entry_points

    (script,) = entry_points(group="console_scripts", name="retentive")
    assert script.value == "retentive.cli:main"


BEFORE_A_COMMAND = """
import os
import signal
import typer.core
parsed = typer.core.TyperCommand.make_context
def interrupted(*arguments, **options):
    os.kill(os.getpid(), signal.SIGINT)
    return parsed(*arguments, **options)
typer.core.TyperGroup.make_context = interrupted
from retentive.cli import main
raise SystemExit(main(["turns"]))
"""


@pytest.mark.skipif(os.name == "nt", reason="no signal that a process can send itself")
def test_ctrl_c_before_the_command_begins_is_one_sentence():
    done = subprocess.run([sys.executable, "-c", BEFORE_A_COMMAND], capture_output=True, check=False, timeout=60)
    assert (done.returncode, done.stdout, done.stderr) == (130, b"", b"retentive: interrupted\n")


@pytest.mark.skipif(sys.platform == "win32", reason="needs a limit on the size of files")
@pytest.mark.parametrize("command", [("remember", "the first"), ("import", "lines.jsonl")], ids=lambda words: words[0])
def test_what_a_full_disk_did_not_let_be_made_is_made_once_there_is_room(cli, tmp_path, command):
    import resource

    with Collection("other", path=tmp_path, embedder=HashEmbedder(64)) as db:
        db.remember("the first", session="s")
        db.export("lines.jsonl")
    told = finished(
        *command, "--db", "fresh", preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (0, 1_000_000))
    )
    assert told.returncode == 1
    assert b"the disk is full" in told.stderr
    assert b"made" not in told.stderr
    (tmp_path / "fresh.db").touch()  # as it is left
    read = cli("stats", "--db", "fresh")
    assert read.exit_code == 1
    assert "fresh.db is empty, expected a collection; `retentive remember` begins one in it" in read.stderr
    assert (tmp_path / "fresh.db").stat().st_size == 0
    again = cli(*command, "--db", "fresh")
    assert (again.exit_code, again.stderr) == (0, "made fresh.db\n")
    with Collection("fresh", path=tmp_path) as db:
        assert db.count() == 1


def test_an_empty_file_with_a_log_was_cut_off_and_is_not_begun_anew(cli, tmp_path):
    (tmp_path / "cut.db").touch()
    (tmp_path / "cut.db-wal").write_bytes(b"what was committed last")
    refused = cli("remember", "x", "--db", "cut")
    assert refused.exit_code == 1
    assert "was cut off. Restore a backup" in refused.stderr
    assert (tmp_path / "cut.db-wal").read_bytes() == b"what was committed last"
