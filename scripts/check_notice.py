"""Every Rust library that is compiled into the wheel stands in NOTICE, under a licence that may be shipped."""

import re
import subprocess
import sys
from collections.abc import Collection

from tracked import ROOT

PERMISSIVE = {"0BSD", "Apache-2.0", "BSD-2-Clause", "BSD-3-Clause", "BSL-1.0", "ISC", "MIT", "Unicode-3.0", "Zlib"}


def compiled_in() -> dict[str, str]:
    """Name and licence expression of each library that the extension links."""
    command = ["cargo", "tree", "--locked", "--package", "retentive-py", "--edges", "normal", "--prefix", "none"]
    lines = subprocess.run(
        [*command, "--format", "{p}|{l}"], cwd=ROOT, capture_output=True, check=True, text=True
    ).stdout.splitlines()
    pairs = (line.removesuffix(" (*)").split("|") for line in lines)
    found = {package.split()[0]: licence.strip() for package, licence in pairs}
    return {name: licence for name, licence in found.items() if not name.startswith("retentive")}


def may_be_shipped(expression: str, permitted: Collection[str] = frozenset(PERMISSIVE)) -> bool:
    """Whether each part of the expression that must hold (AND) offers a permissive choice (OR, or the old slash)."""
    plain = re.sub(r"[()]|WITH \S+", " ", expression)
    return all(
        any(choice.strip() in permitted for choice in re.split(r"\bOR\b|/", part))
        for part in re.split(r"\bAND\b", plain)
    )


def main() -> int:
    """Print what is missing or may not be shipped; 1 when there is any."""
    named = set(re.findall(r"^  (\S+)", (ROOT / "NOTICE").read_text(encoding="utf-8"), re.MULTILINE))
    libraries = sorted(compiled_in().items())
    problems = [f"NOTICE: {name} ({licence}) is missing" for name, licence in libraries if name not in named]
    problems += [f"{name}: {licence} is not permissive" for name, licence in libraries if not may_be_shipped(licence)]
    print("\n".join(problems) or f"notice: names all {len(libraries)} libraries")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
