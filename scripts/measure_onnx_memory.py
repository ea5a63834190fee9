"""Print how much memory this process takes while an ONNX model embeds many texts of mixed lengths.

    python scripts/measure_onnx_memory.py FOLDER --data FILE [--texts 50000]

Texts are drawn with a fixed seed from the turns of a LongMemEval or LoCoMo file: most as they are, one in a hundred 30
of them joined, which is longer than the window, in calls of 250 as `remember_many` makes them. The curve is resident
memory after each twentieth of the texts. It is a plateau when the second half's peak is at most a twentieth above the
first half's.
"""

import argparse
import random
import time
from pathlib import Path

from conversations import read_locomo, read_longmemeval
from retentive.embedders import OnnxEmbedder

CALL = 250
POINTS = 20
LONG_SHARE = 0.01
GROWTH = 1.05


def main() -> None:
    """Read the arguments, embed, print the curve and whether it is a plateau."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--texts", type=int, default=50_000)
    parser.add_argument("--characters", type=int, default=None, help="cut each turn to that many, to be quicker")
    arguments = parser.parse_args()
    turns = [turn[: arguments.characters] for turn in _turns(arguments.data)]
    texts = _texts(turns, arguments.texts)
    print(f"{resident_mb():7.1f} MB before the model, {len(texts):,} texts of {sum(map(len, texts)):,} characters")
    curve = _curve(OnnxEmbedder(arguments.folder), texts)
    first, second = max(curve[: len(curve) // 2]), max(curve[len(curve) // 2 :])
    verdict = "a plateau" if second <= first * GROWTH else "growing"
    print(f"peaks of the first and the second half: {first:.1f} and {second:.1f} MB, {verdict}")


def resident_mb() -> float:
    """Return this process's resident memory in MB; Linux only."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmRSS:")) / 1024


def _turns(data: Path) -> list[str]:
    read = read_locomo if "locomo" in data.name else read_longmemeval
    return sorted({turn for conversation in read(data) for turn in conversation.turns if turn.strip()})


def _texts(turns: list[str], count: int) -> list[str]:
    draw = random.Random(5)  # noqa: S311 - a sample, not a secret
    texts = draw.choices(turns, k=count)
    for index in draw.sample(range(count), int(count * LONG_SHARE)):
        texts[index] = " ".join(draw.choices(turns, k=30))
    return texts


def _curve(embedder: OnnxEmbedder, texts: list[str]) -> list[float]:
    curve: list[float] = []
    start, parts = time.perf_counter(), 0
    for call in range(0, len(texts), CALL):
        parts += sum(map(len, embedder.embed_parts(texts[call : call + CALL])))
        done = min(call + CALL, len(texts))
        if done * POINTS // len(texts) > len(curve):
            curve.append(resident_mb())
            print(f"{curve[-1]:7.1f} MB after {done:6,} texts, {time.perf_counter() - start:5.0f} s", flush=True)
    print(f"{parts:,} parts")
    return curve


if __name__ == "__main__":
    main()
