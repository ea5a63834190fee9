"""`retentive` with wrong arguments, or where nothing is: one sentence, the right exit code, nothing made."""

import pytest

from retentive import OUTCOMES, Collection
from retentive.cli.program import app
from retentive.embedders import CallableEmbedder, HashEmbedder

MOST = f"{2**63 - 1:,}"
READING = {
    "recall": ["x"],
    "context": ["x"],
    "search": ["x"],
    "turns": [],
    "facts": [],
    "history": ["mem_x"],
    "feedback": ["mem_x", "useful"],
    "forget": ["--all", "--yes"],
    "expire": [],
    "export": ["out.jsonl"],
    "backup": ["out.db"],
    "stats": [],
    "verify": [],
}

USAGE = {
    "remember": [
        [],
        [""],
        [" \n"],
        ["x", "y"],
        ["x", "--kind", "memo"],
        ["x", "--time", "yesterday"],
        ["x", "--ttl-days", "0"],
        ["x", "--ttl-days", "soon"],
        ["x", "--metadata", "{"],
        ["x", "--metadata", "[1]"],
        ["x", "--metadata", '{"_vx_kind": "fact"}'],
        ["x", "--session", ""],
        ["x", "--user", ""],
        ["x", "--key", "office"],
        ["x", "--pinned", "--kind", "fact"],
        ["x", "--lines", "--id", "mine"],
        ["x", "--embedder", "none-such"],
        ["x", "--db", ""],
        ["x", "--db", "."],
        ["x", "--db", "folder/"],
        ["x", "--db", ".hidden.db"],
        ["x", "--db", "notes.txt"],
        ["x", "--no-such-option"],
    ],
    "recall": [
        [],
        ["x", "--limit", "-1"],
        ["x", "--limit", "many"],
        ["x", "--budget", "-1"],
        ["x", "--mode", "psychic"],
        ["x", "--kind", "memo"],
        ["x", "--as-of", "then"],
        ["x", "--filter", "{"],
        ["x", "--filter", '{"a": {"$like": 1}}'],
        ["x", "--user", "ann", "--any-user"],
    ],
    "context": [[], ["x", "--budget", "-1"], ["x", "--recent", "-1"], ["x", "--filter", "1"]],
    "search": [["--explain"], ["x", "--limit", "-1"], ["x", "--filter", "nonsense"]],
    "turns": [["--limit", "-1", "-s", "a"], ["--user", "a", "--any-user"], ["--session", ""], ["extra"]],
    "facts": [["--key", " "], ["--user", ""]],
    "history": [[], [""]],
    "feedback": [[], ["mem_x"], ["mem_x", "great"], ["mem_x", "useful", "--correction", "y"]],
    "forget": [[], ["--older-than", "-1"], ["--older-than", "long"], ["--kind", "memo", "--all"], ["--id", ""]],
    "expire": [["now"]],
    "stats": [["all"]],
    "verify": [["--deep"]],
    "repair": [[], ["a.db"], ["--into", "b.db"]],
    "evaluate": [[], ["trivia", "--data", "x"], ["locomo"]],
    "chat": [["--budget", "lots"], ["hello"]],
}


@pytest.fixture
def there(cli, tmp_path):
    """A collection, and a file and a folder beside it."""
    with Collection("retentive", path=tmp_path, embedder=HashEmbedder(64)) as db:
        db.remember("hello", session="a")
    (tmp_path / "notes.txt").write_text("not a collection")
    (tmp_path / "folder").mkdir()


def contents(folder):
    return {path.relative_to(folder): path.is_file() and path.read_bytes() for path in folder.rglob("*")}


@pytest.mark.parametrize("command", USAGE)
def test_wrong_arguments_are_one_sentence_and_exit_code_2(cli, there, tmp_path, command):
    before = contents(tmp_path)
    for arguments in USAGE[command]:
        wrong = cli(command, *arguments)
        assert (wrong.exit_code, wrong.stdout) == (2, ""), arguments
        *usage, sentence = wrong.stderr.splitlines()
        assert sentence.startswith("retentive"), arguments
        assert command == "evaluate" or usage == [], arguments  # argparse repeats how it is used
        assert contents(tmp_path) == before, arguments


SENTENCES = {
    (
        "feedback",
        "x",
    ): f"missing argument 'OUTCOME', choose from {', '.join(OUTCOMES)} (retentive feedback --help)",
    ("recall", "q", "-n", "9" * 23): f"--limit is {'9' * 23}, expected a whole number of at least 0 and at most {MOST}",
    ("context", "q", "--recent", "-1"): "--recent is -1, expected a whole number of at least 0",
    ("remember", "x", "--kind", "fact", "--key", "k" * 1_025): "--key has 1025 characters, expected 1024 at most",
    ("remember", "x", "--name", "a\nb"): "--name is 'a\\nb', expected one line with visible characters",
    ("forget", "--id", "a", "--id", ""): "--id is the empty string, expected a string that is not empty",
}


@pytest.mark.parametrize("arguments", SENTENCES, ids=lambda arguments: arguments[0])
def test_what_is_wrong_is_said_of_the_option_that_was_typed(cli, there, arguments):
    wrong = cli(*arguments)
    assert (wrong.exit_code, wrong.stderr) == (2, f"retentive: {SENTENCES[arguments]}\n")


@pytest.mark.parametrize("command", [["recall", "x"], ["search", "x"], ["remember", "x"], ["chat"]])
@pytest.mark.parametrize("embedder", ["nope", "vectors.npz"])
def test_only_evaluate_offers_the_option_that_it_has(cli, there, command, embedder):
    wrong = cli(*command, "--embedder", embedder)
    assert (wrong.exit_code, wrong.stderr.count("\n")) == (2, 1)
    assert "expected static, hash" in wrong.stderr
    assert "--tokenizer" not in wrong.stderr
    evaluated = cli("evaluate", "locomo", "--data", "x.json", "--embedder", embedder)
    assert "--tokenizer" in evaluated.stderr


@pytest.mark.parametrize("command", [name for name in READING if name in {one.name for one in app.registered_commands}])
def test_a_command_that_reads_makes_nothing(cli, tmp_path, command):
    for named in ([], ["--db", "data/chat.db"], ["--db", "chat"]):
        nothing = cli(command, *READING[command], *named)
        assert (nothing.exit_code, nothing.stdout) == (1, ""), named
        assert nothing.stderr.startswith("retentive: there is no "), named
        assert nothing.stderr.count("\n") == 1, named
        assert list(tmp_path.iterdir()) == [], named


@pytest.mark.parametrize("content", [b"", b"not a collection", b"SQLite format 3\0" + bytes(4_080)])
def test_what_is_no_collection_is_refused_and_left_as_it_is(cli, tmp_path, content):
    (tmp_path / "chat.db").write_bytes(content)
    writes = [["remember", "x"]] if content else []  # in a file of no bytes it begins a collection, and says so
    for command in (["turns"], ["verify"], *writes, ["forget", "--all", "--yes"]):
        refused = cli(*command, "--db", "chat.db")
        assert (refused.exit_code, refused.stdout, refused.stderr.count("\n")) == (1, "", 1), command
        assert "chat.db" in refused.stderr
        assert contents(tmp_path).items() >= {tmp_path.joinpath("chat.db").relative_to(tmp_path): content}.items()


def test_reading_changes_no_byte_and_leaves_no_file(cli, there, tmp_path):
    before = contents(tmp_path)
    for command in (["recall", "hello"], ["context", "hello", "-s", "a"], ["turns"], ["search"], ["stats"], ["verify"]):
        assert cli(*command).exit_code == 0, command
    cli("forget", "--all", "--dry-run")
    assert contents(tmp_path) == before


def test_another_embedder_is_one_sentence_that_says_so(cli, there):
    refused = cli("recall", "hello", "--embedder", "hash:32")
    assert (refused.exit_code, refused.stdout, refused.stderr.count("\n")) == (1, "", 1)
    assert '"hash-64"' in refused.stderr
    assert "--embedder" in refused.stderr


@pytest.mark.parametrize("made_with", [HashEmbedder(32), [HashEmbedder(48), HashEmbedder(32)]], ids=["one", "two"])
def test_a_collection_is_opened_with_the_embedder_that_it_was_made_with(cli, tmp_path, monkeypatch, made_with):
    monkeypatch.delenv("RETENTIVE_EMBEDDER")
    with Collection("other", path=tmp_path, embedder=made_with) as db:
        db.remember("hello", session="a")
    assert cli("recall", "hello", "-s", "a", "--db", "other").stdout.startswith("1. hello\n")
    assert cli("remember", "hello again", "-s", "a", "--db", "other").exit_code == 0


def test_a_collection_of_an_embedder_that_nobody_knows_says_so(cli, tmp_path, monkeypatch):
    monkeypatch.delenv("RETENTIVE_EMBEDDER")
    ours = CallableEmbedder("ours", 32, HashEmbedder(32).embed_documents)
    with Collection("other", path=tmp_path, embedder=ours) as db:
        db.remember("hello", session="a")
    refused = cli("recall", "hello", "-s", "a", "--db", "other")
    assert (refused.exit_code, refused.stdout, refused.stderr.count("\n")) == (1, "", 1)
    assert '"ours"' in refused.stderr
    assert "--embedder" in refused.stderr
    assert cli("turns", "--db", "other").exit_code == 0
    assert cli("recall", "hello", "-s", "a", "--mode", "lexical", "--db", "other").exit_code == 0


def test_the_collection_is_named_before_or_after_the_command_or_by_the_environment(cli, tmp_path, monkeypatch):
    for name in ("first", "second", "third"):
        cli("remember", name, "-s", "a", "--db", name)
    assert {file.name for file in tmp_path.iterdir()} == {"first.db", "second.db", "third.db"}
    monkeypatch.setenv("RETENTIVE_DB", "third.db")
    assert cli("turns").stdout.startswith("session a\n0. third")
    assert cli("--db", "second.db", "turns").stdout.startswith("session a\n0. second")
    assert cli("--db", "second.db", "turns", "--db", "first").stdout.startswith("session a\n0. first")


def test_a_folder_is_answered_with_the_collections_in_it(cli, tmp_path):
    cli("remember", "hello", "--db", "chat")
    named = cli("turns", "--db", ".")
    assert (named.exit_code, named.stderr) == (
        2,
        "retentive: . is a folder, expected a collection's file: chat.db\n",
    )


def test_a_folder_that_is_missing_is_one_sentence(cli, tmp_path):
    missing = cli("remember", "x", "--db", "no/such/chat.db")
    assert (missing.exit_code, missing.stderr.count("\n")) == (1, 1)
    assert "no/such" in missing.stderr
    assert list(tmp_path.iterdir()) == []


def test_an_id_that_nothing_has_is_exit_code_1(cli, there):
    for command in (["history", "nobody"], ["feedback", "nobody", "useful"]):
        unknown = cli(*command)
        assert (unknown.exit_code, unknown.stdout, unknown.stderr.count("\n")) == (1, "", 1)


def test_an_id_that_is_taken_is_exit_code_1(cli, there):
    cli("remember", "x", "--id", "mine")
    taken = cli("remember", "y", "--id", "mine")
    assert (taken.exit_code, taken.stderr.count("\n")) == (1, 1)


def test_standard_input_that_is_no_utf_8_is_refused(cli, there):
    refused = cli("remember", "-", input=b"caf\xe9")
    assert (refused.exit_code, refused.stderr) == (
        2,
        "retentive: the text on standard input is no UTF-8 (byte 3: unexpected end of data)\n",
    )


@pytest.mark.parametrize("command", [one.name for one in app.registered_commands])
def test_every_command_has_help_of_its_own(cli, command):
    shown = cli(command, "--help")
    assert shown.exit_code == 0
    assert f"retentive {command}" in shown.stdout or f"root {command}" in shown.stdout
    if command != "evaluate":
        assert "--json" in shown.stdout


def test_no_arguments_show_the_commands(cli):
    shown = cli()
    assert shown.exit_code == 2
    assert all(f"  {one.name}" in shown.stdout for one in app.registered_commands)


def test_pinned_and_another_kind_exclude_each_other(cli, tmp_path):
    for kind in ("turn", "fact"):
        refused = cli("remember", "x", "-s", "a", "--pinned", "--kind", kind)
        assert (refused.exit_code, refused.stderr) == (2, f"retentive: --pinned and --kind {kind} exclude each other\n")
    assert list(tmp_path.iterdir()) == []
    assert cli("remember", "x", "-s", "a", "--pinned", "--kind", "pinned").exit_code == 0


def test_the_numbers_of_a_history_are_positions(cli):
    for text in ("zero", "one", "two"):
        cli("remember", text, "-s", "a", "--id", text)
    last = cli("feedback", "two", "corrected", "--correction", "three").stdout.strip()
    cli("feedback", last, "corrected", "--correction", "four")
    lines = cli("history", "two").stdout.splitlines()
    assert lines[::2] == ["1. two", "2. three", "3. four"]
    assert "turn 2" in lines[1]


def test_an_error_speaks_of_options(cli):
    cli("remember", "hello", "-s", "a")
    cli("export", "out.jsonl")
    for arguments, says in {
        ("remember", "x", "-s", "a", "--key", "k"): "with --kind fact or --pinned",
        ("remember", "x", "-s", "a", "--ttl-days", "-1"): "--ttl-days is -1.0, expected days above 0 or inf",
        ("remember", "x", "-s", ""): "--session is the empty string",
        ("remember", "x", "-s", "a", "--time", "soon"): "--time is 'soon'",
        ("recall", "x", "--limit", "-1"): "--limit is -1",
        ("recall", "x", "--budget", "-1"): "--budget is -1",
        ("recall", "x", "--as-of", "soon"): "--as-of is 'soon'",
        ("forget", "--older-than", "soon"): "--older-than is 'soon'",
        ("import", "out.jsonl"): "Give --on-conflict skip to keep what is here, or --on-conflict replace",
        ("export", "retentive.db"): "`retentive backup` makes a copy",
        ("import", "retentive.db"): "a collection is named with --db",
    }.items():
        refused = cli(*arguments)
        assert refused.exit_code in {1, 2}
        assert says in refused.stderr, (arguments, refused.stderr)
