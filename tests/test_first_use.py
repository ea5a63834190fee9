"""The first call of a process, and what may come in the middle of it."""

import signal

import pytest

# One exception of a signal handler, at one moment of the first call; then the same call again.
FIRST = """
import signal, time
kind, moment = sys.argv[2], float(sys.argv[3])


def handler(number, frame):
    raise KeyboardInterrupt


signal.signal(signal.SIGALRM, handler)
if kind == "static":
    db = Collection("first", path=folder)
else:
    db = opened()
calls = [lambda: db.remember("hello", session="s"), lambda: db.context("hello", "s")]
if kind == "vectors":
    calls = [lambda: db.add(["hello"], vectors=[[1.0] * 64]), lambda: db.search(vector=[1.0] * 64)]
came = "nothing"
try:
    signal.setitimer(signal.ITIMER_REAL, moment)
    for call in calls:
        call()
except KeyboardInterrupt:
    came = "interrupt"
signal.setitimer(signal.ITIMER_REAL, 0)
for call in calls:
    call()
tell(came)
"""


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="needs a timer that sends signals")
@pytest.mark.parametrize("kind", ["hash", "static", "vectors"])
def test_a_process_goes_on_after_an_interrupt_of_its_first_call(run, kind):
    came = [run(FIRST, kind, moment / 1000)[0] for moment in (10, 30, 45, 60)]
    assert "interrupt" in came
