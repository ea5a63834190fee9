"""Install what `make wheel` built as a stranger would, and use it: each file, alone and with each extra.

    python scripts/smoke_release.py dist/release

Each install is a fresh virtual environment that has only what the file declares. Prints the sizes, and the time that
`import retentive` takes beside that of three modules of the standard library. Exit code 1 says what failed.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

USE = """
import retentive
from retentive import Collection
with Collection("smoke", path={folder!r}) as db:
    db.remember("Please send me the report as a PDF", session="a", role="user")
    db.remember("The parking space is number 42", session="a", role="user")
    assert db.recall("which format for the report?", session="a").top.text.endswith("PDF")
    assert "42" in db.context("where do I park?", session="a", token_budget=200).text
print(retentive.__version__)
"""
EXTRAS = {
    "": USE,
    "onnx": "import huggingface_hub, onnxruntime, tokenizers\nfrom retentive.embedders import OnnxEmbedder" + USE,
    "cli": "import rich, typer" + USE,
    "all": "import onnxruntime, rich, typer" + USE,
}
IMPORT_TIME = "import time; start = time.process_time(); import {modules}; print(time.process_time() - start)"
INSTALLED = """
import pathlib, retentive
files = [file for file in pathlib.Path(retentive.__file__).parent.rglob("*") if file.is_file()]
print(sum(file.stat().st_size for file in files if file.suffix != ".pyc"))
"""


class Environment:
    """A fresh virtual environment with one file installed."""

    def __init__(self, folder: Path, requirement: str) -> None:
        self.python = folder / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
        self._folder = folder
        self._call([sys.executable, "-m", "venv", str(folder)])
        self._call([str(self.python), "-m", "pip", "install", "--quiet", requirement])
        self._call([str(self.python), "-m", "pip", "check"])

    def run(self, code: str) -> str:
        """What the code prints, started in the environment's own folder: no source tree is near."""
        return self._call([str(self.python), "-c", code])

    def _call(self, command: list[str]) -> str:
        unset = ("PYTHONPATH", "PYTHONHOME", "PYTHONDONTWRITEBYTECODE")  # as on a machine of somebody else's
        environment = {name: value for name, value in os.environ.items() if name not in unset}
        cwd = self._folder if self._folder.is_dir() else None
        ran = subprocess.run(command, cwd=cwd, env=environment, capture_output=True, text=True, check=False)
        if ran.returncode != 0:
            raise SystemExit(f"{' '.join(command)[:200]}\n{ran.stdout}{ran.stderr}")
        return ran.stdout.strip()


def import_ratio(environment: Environment) -> float:
    """Processor time of `import retentive` by that of json, sqlite3 and asyncio, the best of nine each."""
    times = {
        modules: min(float(environment.run(IMPORT_TIME.format(modules=modules))) for _ in range(9))
        for modules in ("retentive", "json, sqlite3, asyncio")
    }
    return times["retentive"] / times["json, sqlite3, asyncio"]


def smoke(file: Path, extra: str) -> None:
    """Install the file with the extra, use it, print what it took."""
    with tempfile.TemporaryDirectory() as scratch:
        environment = Environment(Path(scratch) / "venv", f"{file.resolve()}{f'[{extra}]' if extra else ''}")
        version = environment.run(EXTRAS[extra].format(folder=str(Path(scratch) / "data")))
        line = f"{file.name} {f'[{extra}] ' if extra else ''}retentive {version}: ok"
        if not extra:
            line += f", {file.stat().st_size / 1e6:.1f} MB, installed {int(environment.run(INSTALLED)) / 1e6:.1f} MB"
            line += f", import {import_ratio(environment):.2f} times json, sqlite3 and asyncio"
        print(line, flush=True)


def main(folder: Path) -> int:
    """Smoke-test every wheel and source distribution in the folder."""
    wheels, sources = sorted(folder.glob("*.whl")), sorted(folder.glob("*.tar.gz"))
    if not wheels or not sources:
        print(f"{folder} has {len(wheels)} wheels and {len(sources)} source distributions; run `make wheel`")
        return 1
    for wheel in wheels:
        for extra in EXTRAS:
            smoke(wheel, extra)
    for source in sources:
        smoke(source, "")
    return 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
