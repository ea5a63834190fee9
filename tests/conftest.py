"""Fixtures of all tests. `retentive` is imported lazily, and is the installed wheel, not the source tree."""

import gc
import importlib.util
import os
import select
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest

pytest_plugins = ["watchdog"]

ROOT = Path(__file__).resolve().parent.parent
SHARED = Path(os.environ.get("RETENTIVE_SHARED", ROOT.parent / "shared"))


def pytest_configure() -> None:
    """Refuse to test the source tree: what is tested is what users install."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # of a shell's background, and children would inherit it
        signal.signal(signal.SIGINT, signal.default_int_handler)
    spec = importlib.util.find_spec("retentive")
    if spec is None or spec.origin is None:
        raise pytest.UsageError("retentive is not installed in this environment; run the tests with `make test-python`")
    from_source = Path(spec.origin).is_relative_to(ROOT / "python")
    if from_source and not os.environ.get("RETENTIVE_TEST_SOURCE"):
        raise pytest.UsageError(
            f"retentive would be imported from the source tree ({spec.origin}), not from the built wheel; "
            "run `make test-python`, or set RETENTIVE_TEST_SOURCE=1 after `maturin develop`"
        )


def pytest_collection_modifyitems(items: list[pytest.Function]) -> None:
    """With RETENTIVE_SOAK=1, tests marked `soak` have hours instead of minutes.

    Where a handler raises at any moment, it may be between the opening of a file and `with`, or in a finalizer: Python
    has no way to keep it out of there, so what is left to close is no failure.
    """
    for item in items:
        if "no_finalizers" in item.fixturenames:
            item.add_marker(pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"))
    if os.environ.get("RETENTIVE_SOAK"):
        for item in items:
            if item.get_closest_marker("soak"):
                item.add_marker(pytest.mark.timeout(6 * 3_600), append=False)


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder of real conversations and models beside the repository (or RETENTIVE_SHARED); skips without it."""
    if not SHARED.is_dir():
        pytest.skip(f"no folder {SHARED.name} beside the repository; name one with RETENTIVE_SHARED to run this test")
    return SHARED


@pytest.fixture(scope="session")
def bge_folder(shared: Path) -> Path:
    """The folder of bge-small as ONNX; skips without it, or without what runs it."""
    for package in ("onnxruntime", "tokenizers"):
        pytest.importorskip(package)
    folder = shared / "models" / "bge-small-en-v1.5-int8"
    if not folder.is_dir():
        pytest.skip(f"no model in {folder}")
    return folder


@pytest.fixture(scope="module")
def in_a_folder_of_its_own(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """What is written under a relative path lands in no folder of anybody's."""
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(tmp_path_factory.mktemp("own"))
        yield


@pytest.fixture
def root() -> Path:
    """The repository."""
    return ROOT


@pytest.fixture
def embedder():
    """Deterministic vectors without a model."""
    from retentive.embedders import HashEmbedder

    return HashEmbedder(64)


@pytest.fixture
def db(tmp_path, embedder):
    """An empty collection in a file of its own."""
    from retentive import Collection

    with Collection("test", path=tmp_path, embedder=embedder) as collection:
        yield collection


@pytest.fixture
def memory_db(embedder):
    """An empty collection that no file belongs to."""
    from retentive import Collection

    with Collection("test", embedder=embedder) as collection:
        yield collection


@pytest.fixture
def no_finalizers() -> Iterator[None]:
    """Nothing is torn down and no collection of garbage is watched: Python swallows what a handler raises in either."""
    gc.collect()
    callbacks, gc.callbacks[:] = gc.callbacks[:], []  # hypothesis has one
    gc.disable()
    yield
    gc.enable()
    gc.callbacks[:] = callbacks


@pytest.fixture
def alarms(no_finalizers: None) -> Iterator[Callable[..., None]]:
    """Send SIGALRM after so many seconds, and then as often unless `once`, to this handler."""
    before = signal.getsignal(signal.SIGALRM)

    def alarms(seconds: float, handler: Callable[..., None], once: bool = False) -> None:
        signal.signal(signal.SIGALRM, handler)
        signal.setitimer(signal.ITIMER_REAL, seconds, 0 if once else seconds)

    yield alarms
    signal.setitimer(signal.ITIMER_REAL, 0)
    signal.signal(signal.SIGALRM, before)


CHILD = """
import faulthandler, os, sys
faulthandler.enable()
from retentive import *
from retentive.embedders import HashEmbedder

folder = sys.argv[1]


def opened(**options):
    return Collection("test", path=folder, embedder=HashEmbedder(64), **options)


def tell(*words):
    print(*words, flush=True)


def wait():
    return sys.stdin.readline()


"""


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Callable[..., subprocess.Popen[str]]]:
    """Start Python code in a process of its own, on the same folder as `db`: it has `opened`, `tell` and `wait`."""
    started: list[subprocess.Popen[str]] = []

    def start(code: str, *arguments: object) -> subprocess.Popen[str]:
        command = [sys.executable, "-c", CHILD + code, str(tmp_path), *map(str, arguments)]
        pipe = subprocess.PIPE
        child = subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe, text=True, cwd=tmp_path)
        started.append(child)
        return child

    yield start
    for child in started:
        child.kill()
        child.communicate()


@pytest.fixture
def run(start: Callable[..., subprocess.Popen[str]]) -> Callable[..., list[str]]:
    """Run Python code in a process of its own to its end, as `start` does; return the lines it told.

    One that takes longer than `seconds` hangs: it prints the stacks of its threads and is ended.
    """

    def run(code: str, *arguments: object, seconds: float = 60) -> list[str]:
        child = start(code, *arguments)
        try:
            told, error = child.communicate(timeout=seconds)
        except subprocess.TimeoutExpired:
            child.send_signal(signal.SIGABRT)  # which `faulthandler` answers
            told, error = child.communicate()
            error += "\nhangs"
        assert child.returncode == 0, f"{child.returncode}: {told}{error}"
        sys.stderr.write(error)  # shown where the test fails
        return told.splitlines()

    return run


@pytest.fixture
def cli(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Any]:
    """Run a command of `retentive` in an empty folder, with vectors of no model; an exception is one here too."""
    from typer.testing import CliRunner

    from retentive.cli.program import app

    for name in ("RETENTIVE_DB", "FORCE_COLOR", "COLUMNS", "TERM"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("RETENTIVE_EMBEDDER", "hash:64")
    monkeypatch.chdir(tmp_path)
    runner = CliRunner()
    return lambda *arguments, **options: runner.invoke(app, arguments, catch_exceptions=False, **options)


class Terminal:
    """A command on a terminal of its own, 80 columns wide, without colour unless the environment says more."""

    def __init__(self, arguments: Iterable[str], folder: Path, environment: dict[str, str], columns: int) -> None:
        import fcntl
        import pty
        import struct
        import termios

        self._master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
        kept = {name: os.environ[name] for name in ("PATH", "HOME", "PYTHONPATH") if name in os.environ}
        plain = {"NO_COLOR": "1", "TERM": "xterm", "LANG": "C.UTF-8", "RETENTIVE_EMBEDDER": "hash:64"}
        self.process = subprocess.Popen(
            [sys.executable, "-m", "retentive", *arguments],
            stdin=slave,
            stdout=slave,
            stderr=slave,
            cwd=folder,
            env=kept | plain | environment,
            start_new_session=True,
        )
        os.close(slave)
        self._bytes = b""
        self._seen = 0
        self.text = ""

    def until(self, words: str) -> None:
        """Read on until the words are there, behind those of the last time."""
        while words not in self.text[self._seen :]:
            if not self._read():
                raise AssertionError(f"ended without {words!r}: {self.text!r}")
        self._seen = self.text.index(words, self._seen) + len(words)

    def type(self, line: str) -> None:
        """Type a line."""
        os.write(self._master, line.encode() + b"\r")

    def interrupt(self) -> None:
        """Press Ctrl-C, again each second: nobody hears one between a prompt and the waiting for its answer."""
        for _ in range(30):
            self.process.send_signal(signal.SIGINT)
            if select.select([self._master], [], [], 1)[0]:
                return

    def end(self) -> int:
        """Read to the end; return the exit code."""
        while self._read():
            pass
        return self.process.wait(timeout=60)

    def close(self) -> None:
        """Let go of it, also where it hangs."""
        self.process.kill()
        self.process.wait()
        os.close(self._master)

    def _read(self) -> bool:
        if not select.select([self._master], [], [], 30)[0]:
            raise AssertionError(f"nothing more came after {self.text!r}")
        try:
            new = os.read(self._master, 65_536)
        except OSError:  # the other end is closed: Linux says so with an error
            new = b""
        self._bytes += new
        self.text = self._bytes.decode(errors="replace").replace("\r\n", "\n")
        return bool(new)


@pytest.fixture
def terminal(tmp_path: Path) -> Iterator[Callable[..., Terminal]]:
    """Start a command of `retentive` on a terminal of its own, in the folder of `cli`."""
    pytest.importorskip("pty")
    started: list[Terminal] = []

    def start(*arguments: str, columns: int = 80, **environment: str) -> Terminal:
        started.append(Terminal(arguments, tmp_path, environment, columns))
        return started[-1]

    yield start
    for one in started:
        one.close()


READER = """
import sqlite3
held = sqlite3.connect(f"{folder}/test.db", isolation_level=None)
held.execute("BEGIN")
held.execute("SELECT count(*) FROM memory").fetchone()
tell("reads")
wait()
held.execute("COMMIT")
tell("done")
wait()
"""


@pytest.fixture
def start_reader(start: Callable[..., subprocess.Popen[str]]) -> Callable[[], subprocess.Popen[str]]:
    """Start a process in SQLite's read transaction: at a line it ends that and says `done`, at another one itself."""

    def start_reader() -> subprocess.Popen[str]:
        child = start(READER)
        assert child.stdout is not None
        assert child.stdout.readline() == "reads\n"
        return child

    return start_reader


FIND = """
needles = [bytes.fromhex(line) for line in sys.stdin.read().split()]
for name in sorted(os.listdir(folder)):
    if name.startswith("test.db"):
        content = open(f"{folder}/{name}", "rb").read()
        for needle in needles:
            if needle in content:
                tell(name, needle)
"""


@pytest.fixture
def found(start: Callable[..., subprocess.Popen[str]]) -> Callable[[Iterable[str | bytes]], list[str]]:
    """Which of these are in the files: searched by another process, since only SQLite may open them here."""

    def found(needles: Iterable[str | bytes]) -> list[str]:
        child = start(FIND)
        raw = [needle if isinstance(needle, bytes) else needle.encode() for needle in needles]
        told, error = child.communicate("\n".join(needle.hex() for needle in raw), timeout=60)
        assert child.returncode == 0, error
        return told.splitlines()

    return found


@pytest.fixture
def counted() -> Iterator[Callable[..., None]]:
    """Add to the counts that `make soak` sums up from what the tests print."""
    counts: Counter[str] = Counter()
    yield lambda **more: counts.update(more)
    for what, count in counts.items():
        sys.stdout.write(f"counted {what} {count}\n")
