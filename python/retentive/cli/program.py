"""The program: its commands, and what becomes of an error."""

from __future__ import annotations

import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

import typer
from typer.core import TyperGroup

from retentive._core import __version__
from retentive._errors import DimensionError, FingerprintError, InvalidInputError, RetentiveError
from retentive._terminal import INTERRUPTED, PIPE_CLOSED, discard_output, prepare_streams
from retentive.cli import chat, copies, erasure, lists, memories, questions, upkeep
from retentive.cli.terminal import NOTHING, USAGE, fail, forget_no_size, say
from retentive.cli.wording import in_options

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

# typer exports no other class of its usage errors, in any of its versions.
_USAGE_ERROR: type[Exception] = next(
    base for base in typer.BadParameter.__mro__ if base.__name__ == "UsageError" and issubclass(base, Exception)
)


class Program(TyperGroup):
    """The group of all commands; it turns what is raised into a sentence and an exit code."""

    def main(self, *arguments: Any, **options: Any) -> NoReturn:
        """Run a command and exit; what it wrote is out by then."""
        prepare_streams()
        forget_no_size()
        options["standalone_mode"] = False
        try:
            code = super().main(*arguments, **options)
            sys.stdout.flush()
        except _USAGE_ERROR as error:
            code = _usage(error)
        except typer.Abort:
            code = INTERRUPTED
        except BrokenPipeError:
            code = PIPE_CLOSED
        except OSError as error:  # a disk that is full
            discard_output()
            say(f"retentive: {_system(error)}")
            code = NOTHING
        if code == INTERRUPTED:  # typer says it so too, where the command has not begun
            say("retentive: interrupted")
        if code == PIPE_CLOSED:
            discard_output()
        sys.exit(code if isinstance(code, int) else 0)

    def invoke(self, ctx: Any) -> None:
        """Run a command."""
        try:
            with _sentences():
                super().invoke(ctx)
        except BrokenPipeError:
            raise typer.Exit(PIPE_CLOSED) from None


@contextmanager
def _sentences() -> Iterator[None]:
    try:
        yield
    except BrokenPipeError:
        raise
    except (DimensionError, FingerprintError) as error:
        fail(f"{error}; here the embedder is named with --embedder or RETENTIVE_EMBEDDER")
    except InvalidInputError as error:
        fail(in_options(str(error)), USAGE)
    except RetentiveError as error:
        fail(in_options(str(error)))
    except OSError as error:
        discard_output()
        fail(_system(error))
    except KeyboardInterrupt:
        raise typer.Exit(INTERRUPTED) from None


def _usage(error: Exception) -> int:
    context = getattr(error, "ctx", None)
    command = "retentive" if context is None else context.command_path
    if type(error).__name__ == "NoArgsIsHelpError":
        sys.stdout.write(f"{context.get_help() if context else error}\n")
        return USAGE
    sentence = getattr(error, "format_message", error.__str__)().strip().rstrip(".")
    sentence = sentence.replace(". Choose from:\n\t", ", choose from ").replace(",\n\t", ", ")
    say(f"retentive: {sentence[:1].lower()}{sentence[1:]} ({command} --help)")
    return USAGE


def _system(error: OSError) -> str:
    reason = error.strerror or str(error)
    names = " -> ".join(str(name) for name in (error.filename, error.filename2) if name)  # a link, and where it leads
    return f"{names}: {reason}" if names else reason


app = typer.Typer(
    cls=Program,
    name="retentive",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)

COMMANDS = (
    memories.remember,
    questions.recall,
    questions.context,
    questions.search,
    lists.turns,
    lists.facts,
    lists.history,
    memories.feedback,
    erasure.forget,
    erasure.expire,
    copies.export,
    copies.import_,
    copies.backup,
    upkeep.stats,
    upkeep.verify,
    upkeep.repair,
    chat.chat,
)
for command in COMMANDS:
    app.command(command.__name__.rstrip("_"))(command)
# Its own program reads its arguments, --help too.
app.command(
    "evaluate",
    add_help_option=False,
    context_settings={"ignore_unknown_options": True, "allow_extra_args": True, "help_option_names": []},
)(upkeep.evaluate)


def _version(wanted: bool) -> None:
    if wanted:
        sys.stdout.write(f"retentive {__version__}\n")
        raise typer.Exit


@app.callback()
def _before(
    context: typer.Context,
    db: Annotated[
        str | None,
        typer.Option("--db", metavar="FILE", envvar="RETENTIVE_DB", help="The collection's file; ./retentive.db."),
    ] = None,
    _: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    """Conversation memory in one file: remember, recall, and the block that a model gets."""
    context.obj = db


def run(arguments: Sequence[str]) -> int:
    """Run the command line; return its exit code."""
    try:
        app(list(arguments), prog_name="retentive")
    except SystemExit as ended:
        return ended.code if isinstance(ended.code, int) else NOTHING
    return 0
