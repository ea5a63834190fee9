"""`recall`, `context`, `search`: what a query finds."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated

import typer

from retentive.cli import options, place, records
from retentive.cli.listing import print_results
from retentive.cli.terminal import NOTHING, USAGE, fail, print_json, print_text, say, standard_input

if TYPE_CHECKING:
    from retentive._results import Results
    from retentive.memory import ConversationMemory

AsOf = Annotated[str | None, typer.Option("--as-of", metavar="TIME", help="Answer as of then; ISO 8601.")]
Anything = Annotated[bool, typer.Option("--anything", help="The best there is, also where nothing is relevant.")]


def recall(
    query: options.Query,
    session: options.Session = None,
    user: options.UserOption = None,
    any_user: options.AnyUser = False,
    limit: options.Limit = 10,
    budget: options.Budget = None,
    kinds: options.Kinds = None,
    mode: options.ModeOption = options.Mode.HYBRID,
    filter: options.Filter = None,
    superseded: Annotated[bool, typer.Option("--superseded", help="Also what was corrected.")] = False,
    as_of: AsOf = None,
    anything: Anything = False,
    explain: options.Explain = False,
    db: options.Db = None,
    embedder: options.Embedder = None,
    as_json: options.Json = False,
) -> None:
    """Show what matters now for a query: relevance, blended with recency and feedback."""
    owner = options.owner(user, any_user)
    condition = options.mapping("--filter", filter)
    query = standard_input(query, "query")
    with place.opened_to_embed(db, embedder) as collection:
        results = collection.recall(
            query,
            session,
            limit,
            budget,
            kinds=options.kinds_or_all(kinds),
            include_superseded=superseded,
            mode=mode.value,
            user=owner,
            filter=condition,
            min_relevance=None if anything else "auto",
            as_of=as_of,
        )
        _print(results, collection.memory if explain else None, as_json=as_json)


def search(
    query: Annotated[
        str | None, typer.Argument(metavar="QUERY", help="A text, `-` for standard input; none: newest first.")
    ] = None,
    session: options.Session = None,
    user: options.UserOption = None,
    any_user: options.AnyUser = False,
    limit: options.Limit = 10,
    budget: options.Budget = None,
    mode: options.ModeOption = options.Mode.HYBRID,
    filter: options.Filter = None,
    explain: options.Explain = False,
    db: options.Db = None,
    embedder: options.Embedder = None,
    as_json: options.Json = False,
) -> None:
    """Search documents and memories alike, without thread, recency and feedback."""
    owner = options.owner(user, any_user)
    condition = options.mapping("--filter", filter)
    if explain and query is None:
        fail("--explain draws the parts of a score, and without a query nothing is ranked", USAGE)
    query = None if query is None else standard_input(query, "query")
    with place.opened_to_embed(db, embedder) as collection:
        results = collection.search(
            query, limit, mode.value, condition, budget, session=session, user=owner, explain=explain
        )
        _print(results, collection.memory if explain else None, as_json=as_json)


def context(
    query: options.Query,
    session: options.Session = None,
    user: options.UserOption = None,
    budget: Annotated[int, typer.Option("--budget", "-b", metavar="TOKENS", help="How many tokens at most.")] = 1500,
    recent: Annotated[int, typer.Option("--recent", metavar="N", help="How many of the last turns at most.")] = 6,
    limit: Annotated[int, typer.Option("--limit", "-n", metavar="N", help="How many recalled memories at most.")] = 10,
    kinds: options.Kinds = None,
    mode: options.ModeOption = options.Mode.HYBRID,
    filter: options.Filter = None,
    as_of: AsOf = None,
    anything: Anything = False,
    db: options.Db = None,
    embedder: options.Embedder = None,
    as_json: options.Json = False,
) -> None:
    """Print the block to put before a message: pinned facts, the last turns, and what is recalled."""
    condition = options.mapping("--filter", filter)
    query = standard_input(query, "query")
    with place.opened_to_embed(db, embedder) as collection:
        block = collection.context(
            query,
            session,
            budget,
            recent,
            limit,
            user=user,
            kinds=options.kinds_or_all(kinds),
            mode=mode.value,
            filter=condition,
            min_relevance=None if anything else "auto",
            as_of=as_of,
        )
    if as_json:
        print_json(records.of_block(block))
    elif block.text:
        print_text(block.text)
        if sys.stderr.isatty():
            cut = f", {block.cut_count} cut" if block.cut_count else ""
            say(f"{block.token_estimate} of {block.token_budget} tokens{cut}")
    if not block.text:
        _nothing("there is nothing to say", as_json=as_json)


def _print(results: Results, explained_by: ConversationMemory | None, *, as_json: bool) -> None:
    if as_json:
        print_json(records.of_results(results))
    else:
        print_results(results, ranked=results.query is not None, counted=True, explained_by=explained_by)
    if not results:
        _nothing("nothing found" if results.query is None else "nothing relevant found", as_json=as_json)


def _nothing(sentence: str, *, as_json: bool) -> None:
    if not as_json:
        say(sentence)
    raise typer.Exit(NOTHING)
