"""`stats`, `verify`, `repair`, `evaluate`: how a collection is, and how well it finds."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer
from rich.text import Text

from retentive._terminal import shown_in_line
from retentive.cli import options, place
from retentive.cli.progress import waiting
from retentive.cli.terminal import NOTHING, console, print_json


def stats(db: options.Db = None, as_json: options.Json = False) -> None:
    """Show sizes and counts."""
    with place.opened(db) as collection:
        found = collection.stats()
    if as_json:
        print_json(found)
        return
    out = console()
    width = max(map(len, found))
    for name, value in found.items():
        shown = f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else _word(value)
        out.print(Text(f"{name:<{width}}  ", style="dim").append(Text(shown_in_line(shown), style="not dim")))


def _word(value: object) -> str:
    if value is None:
        return "-"
    return str(value) if not isinstance(value, bool) else "yes" if value else "no"


def verify(db: options.Db = None, as_json: options.Json = False) -> None:
    """Read everything and say what is wrong."""
    with place.opened(db) as collection, waiting("reading everything"):
        report = collection.verify()
    if as_json:
        print_json({"ok": report.ok, **asdict(report)})
    else:
        out = console()
        for problem in report.problems:
            out.print(shown_in_line(str(problem)))
        if report.more:
            out.print(f"{report.more:,} more problems")
        rows = sum(report.rows_checked.values())
        out.print(f"{'ok' if report.ok else 'not ok'}, {rows:,} rows checked")
    if not report.ok:
        raise typer.Exit(NOTHING)


def repair(
    damaged: Annotated[Path, typer.Argument(metavar="DAMAGED.db", help="The damaged file; it is only read.")],
    into: Annotated[Path, typer.Option("--into", metavar="NEW.db", help="The new file; it must not exist.")],
    language: Annotated[
        str, typer.Option("--language", help="Of the collection, where the file does not say it any more.")
    ] = "english",
    as_json: options.Json = False,
) -> None:
    """Save what can be read of a damaged file into a new one."""
    from retentive.repair import repair as saved_from

    with waiting("reading what can be read"):
        report = saved_from(damaged, into, language=language)
    if as_json:
        print_json({"complete": report.complete, **asdict(report)})
    else:
        out = console()
        out.print(shown_in_line(f"saved {report.rows_saved.get('memory', 0):,} memories into {into}"))
        for loss in report.lost:
            out.print(shown_in_line(f"lost: {loss}"))
        if report.more:
            out.print(f"lost: {report.more:,} more")
    if not report.complete:
        raise typer.Exit(NOTHING)


def evaluate(context: typer.Context) -> None:
    """Measure how much of the evidence is found."""
    from retentive.evaluate.__main__ import main_or_interrupted

    try:
        code = main_or_interrupted(context.args, prog="retentive evaluate")
    except SystemExit as ended:  # argparse's; what it wrote is not out yet
        code = ended.code if isinstance(ended.code, int) else NOTHING
    raise typer.Exit(code)
