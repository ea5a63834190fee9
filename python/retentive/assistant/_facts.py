"""Facts: one value a key, overwritten."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from retentive import _validate
from retentive._errors import NotFoundError
from retentive._lines import label
from retentive._remember import normalised_key
from retentive.assistant._lines import indented

if TYPE_CHECKING:
    from collections.abc import Iterable

    from retentive._results import Result
    from retentive.assistant._owner import Owner

logger = logging.getLogger("retentive")

HEADING = "## Known facts"


class Facts:
    """What is known: one value a key.

    Keys are trimmed and case-folded: `" Name "` and `"name"` are one. A new value replaces the old one, which stays in
    `history`. They are the session's; with a user, they are the user's in every session.
    """

    def __init__(self, owner: Owner) -> None:
        self._owner = owner

    def remember(self, key: str, value: str) -> None:
        """Store a value, in place of the one the key has.

        Args:
            key: what it is about, `"name"`.
            value: a text that is not blank.

        Raises:
            InvalidInputError: the key or the value is blank, or not a string. Nothing was stored.

        Examples:
            >>> from retentive.assistant import MemoryManager
            >>> facts = MemoryManager().facts
            >>> facts.remember("City", "Lyon")
            >>> facts.remember(" city ", "Paris")
            >>> facts.recall("CITY")
            'Paris'
        """
        key = normalised_key(key)
        _validate.text(value, "value")
        owner = self._owner
        before = self._found(key)
        new = owner.collection.remember(value, session=owner.reach, user=owner.user, kind="fact", key=key, check=False)
        if before is not None and before.id != new:
            # Ids and the key, never a value: as in every line of the log.
            logger.info("the fact %r was replaced: %s supersedes %s", key, new, before.id)

    def recall(self, key: str) -> str | None:
        """Return the value of a key, None where it has none.

        Args:
            key: trimmed and case-folded.
        """
        found = self._found(key)
        return None if found is None else found.text

    def history(self, key: str) -> list[Result]:
        """Return every value that a key has had, oldest first; empty where it has none.

        Args:
            key: trimmed and case-folded.
        """
        found = self._found(key)
        if found is None:
            return []
        try:
            return self._owner.collection.history(found.id)
        except NotFoundError:  # forgotten meanwhile
            return []

    def all(self) -> dict[str, str]:
        """Return every value by key, sorted by key."""
        return {fact.key or "": fact.text for fact in sorted(stored(self._owner), key=lambda fact: fact.key or "")}

    def as_context(self) -> str:
        """Return the facts under one heading, one a line, sorted by key; empty without facts.

        Examples:
            >>> from retentive.assistant import MemoryManager
            >>> facts = MemoryManager().facts
            >>> facts.remember("name", "Sam")
            >>> facts.remember("city", "Lyon")
            >>> print(facts.as_context())
            ## Known facts
            - city: Lyon
            - name: Sam
        """
        return section(stored(self._owner))

    def _found(self, key: str) -> Result | None:
        return self._owner.collection.fact(key, session=self._owner.reach, user=self._owner.user)


def stored(owner: Owner) -> list[Result]:
    """Return the facts as the collection has them."""
    return owner.collection.facts(session=owner.reach, user=owner.user)


def section(facts: Iterable[Result]) -> str:
    """Return facts under their heading, sorted by key."""
    rows = sorted([(fact.key or "", fact.text) for fact in facts])
    return "\n".join([HEADING, *[f"- {label(key)}: {indented(value)}" for key, value in rows]]) if rows else ""
