"""What an error says to a program that calls functions, said to a person who types options."""

from __future__ import annotations

import re

_PHRASES = {
    'pass kind="fact" or pinned=True': "with --kind fact or --pinned",
    "or float('inf')": "or inf",
    'Pass on_conflict="skip"': "Give --on-conflict skip",
    'or "replace" to have it': "or --on-conflict replace to have it",
    'or "replace" to take': "or --on-conflict replace to take",
    "export() writes lines": "`retentive export` writes lines",
    "call backup() for a copy": "`retentive backup` makes a copy",
    "to open a collection pass its folder to Collection(name, path=folder)": "a collection is named with --db",
    "for other programs' files see retentive.importers": "other programs' files are read with --from PROGRAM",
}
_OPTIONS = {
    "session": "--session",
    "collection": "--collection",
    "into": "--into",
    "user": "--user",
    "role": "--role",
    "limit": "--limit",
    "budget": "--budget",
    "token_budget": "--budget",
    "timestamp": "--time",
    "ttl_days": "--ttl-days",
    "older_than": "--older-than",
    "as_of": "--as-of",
    "recent_turns": "--recent",
    "kind": "--kind",
    "key": "--key",
    "metadata": "--metadata",
    "filter": "--filter",
    "correction": "--correction",
    "name": "--name",
    "language": "--language",
}
_ARGUMENT = re.compile(rf"({'|'.join(_OPTIONS)}|ids\[\d+\])(?= (?:is|has) )")


def in_options(sentence: str) -> str:
    """Return a sentence with options in place of Python's arguments and calls, where they are known."""
    for python, option in _PHRASES.items():
        sentence = sentence.replace(python, option)
    argument = _ARGUMENT.match(sentence)
    return sentence if argument is None else _OPTIONS.get(argument[0], "--id") + sentence[argument.end() :]
