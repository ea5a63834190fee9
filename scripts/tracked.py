"""The repository's own files, for the checks beside this one."""

import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def tracked_files() -> list[Path]:
    """Every file that git tracks or would add, sorted; what .gitignore names is left out."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    names = subprocess.run(command, cwd=ROOT, capture_output=True, check=True, text=True).stdout
    paths = (ROOT / name for name in sorted(set(names.split("\0"))) if name)
    return [path for path in paths if path.is_file()]
