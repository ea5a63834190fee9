"""No absolute path of somebody's machine and no host of a package registry in a tracked text file."""

import re
import sys
from collections.abc import Iterator

from tracked import ROOT, tracked_files

# Put together here, so that this file does not hold what it looks for.
_FOLDERS = ("work", "root", "home", "Users")
_HOSTS = (("crates", "io"), ("pypi", "org"), ("pythonhosted", "org"), ("npmjs", "org"), ("deb.debian", "org"))

RULES = {
    "a path of one machine": re.compile(rf"(?<![\w.\-/])/(?:{'|'.join(_FOLDERS)})/\w"),
    "the host of a registry": re.compile("|".join(re.escape(".".join(host)) for host in _HOSTS)),
}
EXEMPT = {
    "Cargo.lock": "cargo writes it, and names its registry in it",
    "rust/fuzz/Cargo.lock": "as Cargo.lock",
}


def findings(text: str) -> Iterator[tuple[int, str, str]]:
    """Line number, rule and the words found, for each place in `text` that breaks a rule."""
    for number, line in enumerate(text.splitlines(), 1):
        for rule, pattern in RULES.items():
            for match in pattern.finditer(line):
                yield number, rule, match.group()


def main() -> int:
    """Print each finding; 1 when there is any."""
    problems: list[str] = []
    for path in tracked_files():
        name = path.relative_to(ROOT).as_posix()
        if name in EXEMPT:
            continue
        try:
            text = path.read_text(encoding="utf-8")
        except UnicodeDecodeError:
            continue  # not a text: a model or a picture
        problems += [f"{name}:{number}: {rule}: {words}" for number, rule, words in findings(text)]
    print("\n".join(problems) or "words: no machine path, no registry host")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
