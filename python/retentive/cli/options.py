"""The options that commands share: one name, one meaning, one sentence."""

from __future__ import annotations

import enum
import json
from typing import Annotated, Any

import typer

from retentive._constants import ANY, KINDS, OUTCOMES, User
from retentive.cli.terminal import USAGE, fail


def named(context: typer.Context, value: str | None) -> str | None:
    """Return the command's own `--db`, or the one before the command, or the environment's."""
    return context.obj if value is None else value


Db = Annotated[
    str | None,
    typer.Option(
        "--db", metavar="FILE", callback=named, help="The collection's file; RETENTIVE_DB, else ./retentive.db."
    ),
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]
Embedder = Annotated[
    str | None,
    typer.Option(
        "--embedder",
        metavar="NAME",
        envvar="RETENTIVE_EMBEDDER",
        help="The collection's embedder, where it is not the built-in one: hash:64, the folder of an ONNX model, A+B.",
    ),
]
Session = Annotated[str | None, typer.Option("--session", "-s", metavar="NAME", help="The session.")]
UserOption = Annotated[str | None, typer.Option("--user", "-u", metavar="NAME", help="Whose.")]
AnyUser = Annotated[bool, typer.Option("--any-user", help="Every user's, and what has no user.")]
Query = Annotated[str, typer.Argument(metavar="QUERY", help="A question or message; `-` reads it from standard input.")]
Limit = Annotated[int, typer.Option("--limit", "-n", metavar="N", help="How many at most.")]
Budget = Annotated[int | None, typer.Option("--budget", "-b", metavar="TOKENS", help="How many tokens at most.")]
Filter = Annotated[str | None, typer.Option("--filter", metavar="JSON", help='On metadata, as \'{"lang": "en"}\'.')]
Explain = Annotated[bool, typer.Option("--explain", help="Draw the parts of each score.")]


class Kind(enum.StrEnum):
    """What a memory is; the values are `retentive.KINDS`."""

    TURN = "turn"
    FACT = "fact"
    PINNED = "pinned"


class Mode(enum.StrEnum):
    """How relevance is measured."""

    HYBRID = "hybrid"
    DENSE = "dense"
    LEXICAL = "lexical"


Outcome = enum.StrEnum("Outcome", {outcome.upper(): outcome for outcome in OUTCOMES})  # type: ignore[misc]
Kinds = Annotated[list[Kind] | None, typer.Option("--kind", "-k", help="Only of this kind; may be given again.")]
ModeOption = Annotated[Mode, typer.Option("--mode", help="How relevance is measured.")]


def owner(user: str | None, any_user: bool) -> User:
    """Return whose memories are meant."""
    if user is not None and any_user:
        fail("--user and --any-user exclude each other", USAGE)
    return ANY if any_user else user


def kinds_or_all(kinds: list[Kind] | None) -> tuple[str, ...]:
    """Return the kinds that were named, or all."""
    return tuple([kind.value for kind in kinds]) if kinds else KINDS


def mapping(option: str, value: str | None) -> dict[str, Any] | None:
    """Return an option's JSON object."""
    if value is None:
        return None
    try:
        parsed = json.loads(value)
    except (ValueError, RecursionError) as error:
        fail(f"{option} is no JSON: {error}", USAGE)
    if not isinstance(parsed, dict):
        fail(f'{option} is {value}, expected a JSON object, as {{"key": "value"}}', USAGE)
    return parsed


def days_or_instant(value: str | None) -> float | str | None:
    """Return `90` as days and `2026-05-01` as an instant."""
    if value is None:
        return None
    try:
        return float(value)
    except ValueError:
        return value
