"""`chat`: a loop to try it, which shows the block that a model would get before each answer."""

from __future__ import annotations

import contextlib
import sys
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.text import Text

from retentive import _validate
from retentive._collection import Collection
from retentive._errors import InvalidInputError
from retentive.cli import options, place, records
from retentive.cli.listing import hanging, print_results
from retentive.cli.terminal import console, print_json, say

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from retentive._context import ContextBlock

PROMPT = "you> "
RECALLED = 3  # with their bars they fill a screen
HELP = """\
What you type is a message of the user: the block that a model would get with it is shown, then it is stored.
/reply TEXT       what the assistant answered
/pin TEXT         a fact that is always in the block
/fact KEY = TEXT  a fact under a key; a new one replaces it
/recall QUERY     the best that a query finds, with the parts of each score
/turns            the conversation so far
/budget N         the block's tokens at most
/quit             the end, as Ctrl-D"""


def chat(
    session: Annotated[str, typer.Option("--session", "-s", metavar="NAME", help="The session.")] = "chat",
    user: options.UserOption = None,
    budget: Annotated[int, typer.Option("--budget", "-b", metavar="TOKENS", help="The block's tokens at most.")] = 1500,
    db: Annotated[
        str | None,
        typer.Option(
            "--db", metavar="FILE", callback=options.named, help="The collection's file; RETENTIVE_DB, else in memory."
        ),
    ] = None,
    embedder: options.Embedder = None,
    as_json: options.Json = False,
) -> None:
    """Try it: type messages, see the block a model would get."""
    _validate.named_session(session)
    _validate.owner(user)
    _validate.integer("budget", budget)
    if db is None:
        collection = Collection("chat", embedder=place.embedder_of(embedder))
        say("In memory, gone at the end; --db FILE keeps it.")
    else:
        collection = place.opened_or_made(db, embedder)
    with collection:
        conversation = Conversation(collection, session, user, budget, as_json=as_json)
        if not as_json:
            say("/help says what can be typed, /quit ends.")
        for line in _lines():
            if not conversation.take(line):
                return


class Conversation:
    """One session under way, a line at a time."""

    def __init__(self, collection: Collection, session: str, user: str | None, budget: int, *, as_json: bool) -> None:
        self._collection = collection
        self._session = session
        self._user = user
        self._budget = budget
        self._as_json = as_json
        self._commands: dict[str, Callable[[str], None]] = {
            "/reply": self._reply,
            "/pin": self._pin,
            "/fact": self._fact,
            "/recall": self._recall,
            "/turns": self._turns,
            "/budget": self._set_budget,
            "/help": lambda _: console(stderr=True).print(HELP),
        }

    def take(self, line: str) -> bool:
        """Do what a line says; False at the end."""
        word, _, rest = line.strip().partition(" ")
        if word == "/quit":
            return False
        try:
            if word.startswith("/"):
                self._commands.get(word, self._unknown)(rest.strip())
            elif word:
                self._message(line.strip())
        except InvalidInputError as error:
            say(str(error))
        return True

    def _message(self, text: str) -> None:
        block = self._collection.context(text, self._session, self._budget, user=self._user)
        self._show(block)
        self._remember(text)

    def _show(self, block: ContextBlock) -> None:
        if self._as_json:
            print_json(records.of_block(block))
            return
        out = console()
        tokens = f"{block.token_estimate} of {block.token_budget} tokens"
        cut = f", {block.cut_count} cut" if block.cut_count else ""
        out.print(Text(f"  what a model gets with it: {tokens}{cut}", style="dim"))
        for line in hanging(out, "  | ", block.text) if block.text else ():
            out.print(Text("  | ", style="dim").append_text(line[4:]))

    def _remember(self, text: str, **fields: str) -> None:
        options: dict[str, Any] = {"session": self._session, "user": self._user, **fields}
        self._collection.remember(text, **options)

    def _reply(self, text: str) -> None:
        self._remember(text, role="assistant")

    def _pin(self, text: str) -> None:
        self._remember(text, kind="pinned")

    def _fact(self, text: str) -> None:
        key, separator, value = text.partition("=")
        if not separator:
            raise InvalidInputError("expected /fact KEY = TEXT")
        self._remember(value.strip(), kind="fact", key=key.strip())

    def _recall(self, query: str) -> None:
        session = self._session if self._user is None else None
        results = self._collection.recall(query, session, RECALLED, user=self._user)
        if self._as_json:
            print_json(records.of_results(results))
        elif results:
            print_results(results, ranked=True, explained_by=self._collection.memory)
        else:
            say("nothing relevant found")

    def _turns(self, _: str) -> None:
        turns = self._collection.turns(self._session, user=self._user)
        if self._as_json:
            for turn in turns:
                print_json(records.of_result(turn))
        else:
            print_results(turns)

    def _set_budget(self, tokens: str) -> None:
        if not tokens.isdecimal():
            raise InvalidInputError(f"/budget {tokens}: expected a whole number of tokens")
        self._budget = int(tokens)

    def _unknown(self, _: str) -> None:
        raise InvalidInputError("no such command; /help says what can be typed")


def _lines() -> Iterator[str]:
    """Yield what is typed, or piped in, until it ends."""
    typed = sys.stdin.isatty()
    if typed:
        with contextlib.suppress(ImportError):  # not on every system
            import readline  # noqa: F401 - gives input() arrows and a history
    while True:
        sys.stdout.flush()
        if typed and sys.stdout.isatty():
            try:
                yield input(PROMPT)
            except EOFError:
                sys.stdout.write("\n")
                return
            continue
        if typed:
            sys.stderr.write(PROMPT)
            sys.stderr.flush()
        line = sys.stdin.readline()
        if not line:
            return
        yield line
