"""`make soak` sums up what its parts count, and fails when one of them fails, hangs or counts nothing."""

import os
import re
import signal
import sys
import time
from pathlib import Path

import pytest

ALL = ["damage", "repair", "isolation", "kill loop", "hostile texts", "hostile arguments", "sequences of calls"]
ALL += ["failing disk", "erasure", "processes", "forks", "closed streams", "reader beside writer", "fuzz corpus"]


@pytest.fixture
def soak(monkeypatch, root):
    monkeypatch.syspath_prepend(str(root / "scripts"))
    monkeypatch.delitem(sys.modules, "soak", raising=False)
    import soak

    return soak


@pytest.fixture
def run(soak, monkeypatch, capsys):
    """Run `main` with these programs as parts; return its exit code and what it printed."""

    def run(programs, *arguments, **limits):
        parts = [
            soak.Part(name, [sys.executable, "-c", code], ("apples",), limits.get(name, 60))
            for name, code in programs.items()
        ]
        monkeypatch.setattr(soak, "parts", lambda seed, sizes: parts)
        code = soak.main(["--jobs", "1", *map(str, arguments)])
        return code, capsys.readouterr().out

    return run


def test_counts_are_summed_up_wherever_they_stand_in_a_line(soak):
    output = ".counted kills 3\nF.counted kills 1,000\n..counted kills 4\ncounted reads_checked 12\n"
    output += "I counted on it 7\nstat::number_of_executed_units: 500\nstat::number_of_executed_units: 20\n"
    assert soak.parse_counts(output) == {"kills": 7, "reads_checked": 12, "fuzz_inputs": 520}


def test_parts_that_end_well_are_summed_up_in_one_table(run):
    code, told = run({"one": "print('counted apples 3000')", "two": "print('counted apples 4')"}, "--seed", 5)
    assert code == 0
    assert re.search(r"^apples +3,004$", told, re.MULTILINE)
    assert re.search(r"^failures: 0$", told, re.MULTILINE)
    assert "seed 5," in told


def test_a_part_that_fails_is_shown_and_the_others_run(run):
    failing = "print('counted apples 1'); print('what went wrong'); raise SystemExit(3)"
    code, told = run({"bad": failing, "good": "print('counted apples 2')"}, "--seed", 5)
    assert code == 1
    assert "what went wrong" in told
    assert "bad: exit code 3" in told
    assert "good: ok" in told
    assert 'soak.py --seed 5 --only "bad"' in told
    assert re.search(r"^apples +3$", told, re.MULTILINE)
    assert re.search(r"^failures: 1$", told, re.MULTILINE)


def test_a_part_that_counts_nothing_has_failed(run):
    code, told = run({"skipped": "print('5 skipped'); print('counted apples 0')"})
    assert code == 1
    assert "skipped: counted no apples" in told


@pytest.mark.skipif(not hasattr(os, "killpg"), reason="needs process groups")
def test_a_part_beyond_its_limit_is_ended_with_all_it_started(run, tmp_path):
    hanging = f"""
import os, pathlib, time
if os.fork() == 0:
    pathlib.Path({str(tmp_path / "pid")!r}).write_text(str(os.getpid()))
time.sleep(600)
"""
    code, told = run({"hangs": hanging, "good": "print('counted apples 2')"}, hangs=3)
    assert code == 1
    assert "hangs: not done after 3 s" in told
    assert "good: ok" in told
    pid = int((tmp_path / "pid").read_text())
    deadline = time.monotonic() + 30
    while alive(pid):
        assert time.monotonic() < deadline, "what the part started still runs"


def alive(pid):
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    status = Path(f"/proc/{pid}/stat")  # a dead one that nobody has waited for yet is a zombie
    return not (status.exists() and status.read_text().rpartition(")")[2].split()[0] == "Z")


def test_pieces_add_up_and_a_part_that_ran_again_counts_once(run, tmp_path):
    kept = tmp_path / "kept"
    flaky = f"import os; print('counted apples 10'); raise SystemExit(os.path.exists({str(tmp_path / 'fail')!r}))"
    programs = {"one": "print('counted apples 1')", "flaky": flaky}
    (tmp_path / "fail").touch()
    assert run(programs, "--keep", kept, "--only", "flaky", "--seed", 1)[0] == 1
    code, told = run(programs, "--keep", kept, "--only", "one", "--seed", 2)
    assert code == 1
    assert 'soak.py --seed 1 --only "flaky"' in told
    (tmp_path / "fail").unlink()
    code, told = run(programs, "--keep", kept, "--only", "flaky")
    assert code == 0
    assert re.search(r"^apples +11$", told, re.MULTILINE)


def test_a_part_that_does_not_exist_is_named(run, capsys):
    with pytest.raises(SystemExit, match="2"):
        run({"one": "print('counted apples 1')"}, "--only", "too")
    assert "no part 'too'; there are one" in capsys.readouterr().err


def test_interrupted_it_ends_what_runs(soak, monkeypatch):
    part = soak.Part("sleeps", [sys.executable, "-c", "import time; time.sleep(600)"], ("apples",), 60)
    running = soak.Soak(1, "a commit")
    before = signal.signal(signal.SIGALRM, lambda *_: signal.raise_signal(signal.SIGINT))
    signal.setitimer(signal.ITIMER_REAL, 1)
    try:
        with pytest.raises(KeyboardInterrupt):
            running.run_all([part], 1)
    finally:
        signal.signal(signal.SIGALRM, before)
    assert [one.failure for one in running.outcomes] == [f"exit code {-signal.SIGKILL}"]


def test_every_part_has_its_files_its_seed_and_its_size(soak, root):
    parts = list(soak.parts(77, {"RETENTIVE_SOAK_ROUNDS": "5"}))
    assert [part.name for part in parts[: len(ALL)]] == ALL
    targets = {path.stem for path in (root / "rust" / "fuzz" / "fuzz_targets").glob("*.rs")}
    assert {part.name.removeprefix("fuzz ") for part in parts[len(ALL) :]} <= targets
    for part in parts:
        assert part.counts
        if "pytest" in part.command:
            assert any(word.startswith("tests/") for word in part.command), part.name
            assert "--hypothesis-seed=77" in part.command
            assert part.environment["RETENTIVE_SOAK_SEED"] == "77"
    kill_loop = next(part for part in parts if part.name == "kill loop")
    assert kill_loop.environment["RETENTIVE_SOAK_ROUNDS"] == "5"
