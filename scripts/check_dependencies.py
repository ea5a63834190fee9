"""What retentive needs: Python packages under fitting licences, in fitting versions; Rust libraries by cargo-deny.

Works without a network, on what is installed: nothing is known here of vulnerabilities. For those, with a network:
`cargo deny check advisories` and `pip-audit`.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from typing import TYPE_CHECKING

from packaging.requirements import Requirement

from check_notice import PERMISSIVE, may_be_shipped
from tracked import ROOT

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from importlib.metadata import PackageMetadata

# Nothing of these is in the wheel; a licence of files may hold theirs, as it does not reach beyond them.
INSTALLED_BESIDE = PERMISSIVE | {"CC0-1.0", "HPND", "MPL-2.0", "PSF-2.0", "Python-2.0", "Unlicense"}
# What packages wrote before there was a field for SPDX expressions.
SPDX = {
    "apache": "Apache-2.0",
    "apache 2.0": "Apache-2.0",
    "apache license 2.0": "Apache-2.0",
    "apache license, version 2.0": "Apache-2.0",
    "apache software license": "Apache-2.0",
    "bsd": "BSD-3-Clause",
    "bsd license": "BSD-3-Clause",
    "3-clause bsd license": "BSD-3-Clause",
    "isc license (iscl)": "ISC",
    "mit license": "MIT",
    "mozilla public license 2.0 (mpl 2.0)": "MPL-2.0",
    "python software foundation license": "PSF-2.0",
    "the unlicense (unlicense)": "Unlicense",
}


def licence(metadata: PackageMetadata) -> str:
    """The SPDX expression of a package, as far as its metadata says one; empty if it says nothing that is known."""
    if expressions := metadata.get_all("License-Expression"):
        return " AND ".join(f"({one})" for one in expressions)
    classifiers = [one for one in metadata.get_all("Classifier") or [] if one.startswith("License ::")]
    names = [one.rpartition(" :: ")[2] for one in classifiers] or metadata.get_all("License") or []
    # A whole licence text may stand in the old field.
    known = [SPDX.get(name.strip().lower(), name.strip() if len(name) < 100 else "") for name in names]
    return " AND ".join(name for name in known if name and name != "OSI Approved")


def needed(
    name: str, extras: frozenset[str], find: Callable[[str], Distribution] = distribution
) -> Iterator[tuple[Requirement, Distribution | None]]:
    """All that `name` needs with these extras, and what that needs: each requirement and what is installed for it."""
    seen: set[tuple[str, frozenset[str]]] = set()
    open_ends = [(name, extras)]
    while open_ends:
        of, wanted = open_ends.pop()
        if (of, wanted) in seen:
            continue
        seen.add((of, wanted))
        try:
            requires = find(of).requires or []
        except PackageNotFoundError:
            continue  # reported where it was required
        for text in requires:
            requirement = Requirement(text)
            if requirement.marker and not any(requirement.marker.evaluate({"extra": e}) for e in ("", *wanted)):
                continue
            normal = re.sub(r"[-_.]+", "-", requirement.name).lower()
            try:
                yield requirement, find(normal)
            except PackageNotFoundError:
                yield requirement, None
            open_ends.append((normal, frozenset(requirement.extras)))


def problems(found: Iterator[tuple[Requirement, Distribution | None]]) -> tuple[list[str], list[str], set[str]]:
    """What is wrong, what could not be looked at because it is not installed, and the names of what is right."""
    wrong: list[str] = []
    absent: set[str] = set()
    right: set[str] = set()
    for requirement, installed in found:
        if installed is None:
            absent.add(requirement.name)
            continue
        expression = licence(installed.metadata)
        if not expression:
            wrong.append(f"{requirement.name} {installed.version}: its metadata names no licence that is known here")
        elif not may_be_shipped(expression, INSTALLED_BESIDE):
            wrong.append(f"{requirement.name} {installed.version}: {expression} is not permissive")
        elif not requirement.specifier.contains(installed.version, prereleases=True):
            wrong.append(f"{requirement.name} {installed.version}: {requirement} is required")
        else:
            right.add(requirement.name)
    return sorted(set(wrong)), sorted(absent), right


def deny() -> list[str]:
    """What cargo-deny finds, if it is there."""
    if shutil.which("cargo-deny") is None:
        print("no cargo-deny (`cargo install cargo-deny`): licences of Rust libraries by check_notice.py alone")
        return []
    failed: list[str] = []
    for manifest in ("Cargo.toml", "rust/fuzz/Cargo.toml"):
        command = ["cargo", "deny", "--offline", "--locked", "--manifest-path", manifest]
        command += ["--config", str(ROOT / "deny.toml"), "check", "licenses", "sources", "bans"]
        ran = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
        if ran.returncode:
            failed.append(f"cargo deny, {manifest}:\n{ran.stdout}{ran.stderr}")
        else:
            print(f"cargo deny, {manifest}: {ran.stdout.strip()}")
    return failed


def main() -> int:
    """Print what is wrong; 1 when there is any."""
    wrong, absent, right = problems(needed("retentive", frozenset({"onnx", "cli"})))
    wrong += deny()
    print("\n".join(wrong) or f"dependencies: the licences and versions of {len(right)} Python packages are right")
    if absent:
        print(f"not installed, so not looked at: {', '.join(absent)}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
