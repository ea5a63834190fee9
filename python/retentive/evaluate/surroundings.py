"""What a figure depends on besides the data: the version, the embedder and the machine."""

from __future__ import annotations

import os
import platform
import subprocess
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from retentive._core import __version__

if TYPE_CHECKING:
    import argparse


def describe(options: argparse.Namespace) -> dict[str, Any]:
    """Return the parts of the figures that describe a run. Paths stay out: they are of one machine."""
    return {
        "retentive": {"version": __version__, "commit": commit()},
        "settings": {
            "top": options.top,
            "budget": options.budget,
            "limit": options.limit,
            "signals": dict(options.signals),
            "facts": options.facts,
        },
        "machine": machine(),
        "measured": datetime.now(UTC).isoformat(timespec="seconds"),
    }


def machine() -> dict[str, Any]:
    """Return the processor's name, how many cores this process may use, the Python and the system."""
    return {
        "cpu": _cpu(),
        "cores": _cores(),
        "python": platform.python_version(),
        "system": f"{platform.system()} {platform.machine()}",
    }


def commit() -> str | None:
    """Return the commit of the checkout the command is run in, with `+` where files differ; None outside of one."""
    head = _git("rev-parse", "HEAD")
    if head is None or not Path("python", "retentive").is_dir():
        return None
    return f"{head}+" if _git("status", "--porcelain", "--untracked-files=no") else head


def _git(*arguments: str) -> str | None:
    try:
        done = subprocess.run(["git", *arguments], capture_output=True, text=True, check=False, timeout=10)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.strip() if done.returncode == 0 else None


def _cpu() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    models = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(models, platform.processor() or platform.machine())


def _cores() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
