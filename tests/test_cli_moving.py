"""`retentive export`, `import`, `backup`: files, pipes, conflicts, and chat logs of other programs."""

import json
import subprocess
import sys

import pytest

from retentive import Collection, InvalidInputError
from retentive.embedders import HashEmbedder


@pytest.fixture
def told(cli, tmp_path):
    """Two turns and a keyed fact."""
    with Collection("retentive", path=tmp_path, embedder=HashEmbedder(64)) as db:
        db.remember("hello", session="a", id="one")
        db.remember("hello again", session="a", id="two")
        db.remember("The office is in Paris", kind="fact", key="office", id="office")


def texts(cli, *arguments):
    return [json.loads(line)["text"] for line in cli("turns", "--any-user", "--json", *arguments).stdout.splitlines()]


def test_what_is_exported_is_imported(cli, told, tmp_path):
    written = cli("export", "chat.jsonl")
    assert (written.exit_code, written.stdout) == (0, "exported 3 memories to chat.jsonl\n")
    read = cli("import", "chat.jsonl", "--db", "copy", "--json")
    assert (read.exit_code, json.loads(read.stdout)["imported"]) == (0, 3)
    assert texts(cli, "--db", "copy") == ["hello", "hello again"]
    again = cli("export", "again.jsonl", "--db", "copy", "--json")
    assert json.loads(again.stdout) == {"exported": 3, "path": "again.jsonl"}
    once, twice = [(tmp_path / name).read_bytes().splitlines() for name in ("chat.jsonl", "again.jsonl")]
    assert once[1:] == twice[1:]  # the first line has the collection's name


def test_an_export_goes_through_a_pipe(cli, told, tmp_path):
    cli("export", "chat.jsonl")
    piped = cli("export", "-")
    assert piped.stdout_bytes == (tmp_path / "chat.jsonl").read_bytes()
    assert cli("import", "-", "--db", "copy", input=piped.stdout_bytes).stdout.startswith("imported 3 memories")
    refused = cli("export", "-", "--json")
    assert (refused.exit_code, refused.stdout) == (2, "")


def test_an_export_is_not_written_to_a_terminal(cli, told, terminal):
    refused = terminal("export", "-")
    assert refused.end() == 2
    assert refused.text == "retentive: standard output is a terminal, expected a pipe or the name of a file\n"


def test_conflicts_are_refused_skipped_or_replaced(cli, told):
    cli("export", "chat.jsonl")
    refused = cli("import", "chat.jsonl")
    assert (refused.exit_code, refused.stdout, refused.stderr.count("\n")) == (1, "", 1)
    assert "one" in refused.stderr
    skipped = json.loads(cli("import", "chat.jsonl", "--on-conflict", "skip", "--json").stdout)
    assert (skipped["imported"], skipped["skipped"]) == (0, 3)
    replaced = cli("import", "chat.jsonl", "--on-conflict", "replace")
    assert (replaced.exit_code, replaced.stdout) == (0, "imported 3 memories, 3 replaced, 3 embedded\n")


def test_a_bad_line_is_named_and_nothing_is_imported(cli, told, tmp_path):
    cli("export", "chat.jsonl")
    lines = (tmp_path / "chat.jsonl").read_bytes().splitlines(keepends=True)
    (tmp_path / "bad.jsonl").write_bytes(b"".join([*lines[:2], b"{\n", *lines[3:]]))
    cli("remember", "before", "-s", "a", "--db", "copy")
    refused = cli("import", "bad.jsonl", "--db", "copy")
    assert (refused.exit_code, refused.stdout, refused.stderr.count("\n")) == (1, "", 1)
    assert "line 3" in refused.stderr
    assert texts(cli, "--db", "copy") == ["before"]


def test_a_file_that_is_missing_makes_no_collection(cli, tmp_path):
    for origin in ("retentive", "openai", "mem0", "chroma"):
        missing = cli("import", "none.json", "--from", origin)
        assert (missing.exit_code, missing.stderr) == (1, "retentive: none.json: No such file or directory\n")
    assert list(tmp_path.iterdir()) == []


def test_an_import_that_is_refused_leaves_no_new_collection(cli, tmp_path):
    header = json.dumps({"format": "retentive-export", "version": 1})
    line = json.dumps({"id": "a", "kind": "turn", "text": "x", "ts": "2026-01-01T00:00:00+00:00", "session": "a"})
    for content in ("garbage", header + "\n{", f"{header}\n{line}\n{line}x\n", header.replace("1", "99")):
        refused = cli("import", "-", "--db", "fresh", input=content)
        assert (refused.exit_code, refused.stderr.count("\n")) == (1, 1), content
        assert list(tmp_path.iterdir()) == [], content
    cli("remember", "kept", "-s", "a", "--db", "fresh")
    cli("import", "-", "--db", "fresh", input="garbage")
    assert texts(cli, "--db", "fresh") == ["kept"]


def test_a_new_collection_that_somebody_else_opened_meanwhile_is_left(cli, tmp_path, monkeypatch):
    other = []

    def shared(self, *_, **__):
        other.append(Collection("fresh", path=tmp_path))
        raise InvalidInputError("refused")

    monkeypatch.setattr(Collection, "import_", shared)
    refused = cli("import", "-", "--db", "fresh", input="")
    assert (refused.exit_code, refused.stderr) == (1, "made fresh.db\nretentive: refused\n")
    other[0].close()
    assert (tmp_path / "fresh.db").exists()


def test_an_import_that_is_interrupted_leaves_no_new_collection(cli, tmp_path, monkeypatch):
    def interrupted(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(Collection, "import_", interrupted)
    ended = cli("import", "-", "--db", "fresh", input="")
    assert (ended.exit_code, ended.stderr) == (130, "retentive: interrupted\n")
    assert list(tmp_path.iterdir()) == []


LOGS = {
    "openai": [{"role": "user", "content": "hello"}, {"role": "assistant", "content": "hi"}],
    "sharegpt": [{"conversations": [{"from": "human", "value": "hello"}, {"from": "gpt", "value": "hi"}]}],
    "langchain": [{"type": "human", "data": {"content": "hello"}}, {"type": "ai", "data": {"content": "hi"}}],
}


@pytest.mark.parametrize("origin", LOGS)
def test_chat_logs_are_turns_of_the_session_and_user_that_are_named(cli, origin):
    read = cli("import", "-", "--from", origin, "-s", "old", "-u", "ann", input=json.dumps(LOGS[origin]))
    assert (read.exit_code, read.stdout) == (0, "imported 2 memories, 2 embedded\n")
    turns = [json.loads(line) for line in cli("turns", "-u", "ann", "--json").stdout.splitlines()]
    assert [(turn["role"], turn["text"]) for turn in turns] == [("user", "hello"), ("assistant", "hi")]
    assert turns[0]["session"].startswith("old")


def test_mem0_memories_are_facts_and_importing_twice_is_a_conflict(cli):
    log = json.dumps({"results": [{"id": "m1", "memory": "Likes tea", "user_id": "ann"}]})
    assert cli("import", "-", "--from", "mem0", "--json", input=log).stdout == (
        '{"imported": 1, "skipped": 0, "replaced": 0, "renumbered": 0, "embedded": 1}\n'
    )
    found = json.loads(cli("search", "tea", "-u", "ann", "--json").stdout)["items"]
    assert [(item["id"], item["kind"]) for item in found] == [("m1", "fact")]
    again = cli("import", "-", "--from", "mem0", input=log)
    assert (again.exit_code, again.stdout, again.stderr.count("\n")) == (1, "", 1)


def test_a_log_is_imported_whole_or_not_at_all(cli, monkeypatch):
    """More than one transaction: an id that is here, one that comes twice, an embedder that fails."""
    cli("remember", "here", "-s", "a", "--id", "m1500")
    memories = [{"id": f"m{number}", "memory": f"memory {number}"} for number in range(2_500)]
    refused = cli("import", "-", "--from", "mem0", input=json.dumps(memories))
    assert (refused.exit_code, refused.stdout) == (1, "")
    assert refused.stderr.startswith('retentive: items[1500]: the id "m1500" is in use here by a turn; nothing was')
    assert "--on-conflict skip" in refused.stderr
    twice = json.dumps([*memories[:1_400], memories[7]])
    assert (
        'items[1400]: the id "m7" is that of an earlier item'
        in cli("import", "-", "--from", "mem0", input=twice).stderr
    )

    embed = HashEmbedder.embed_documents

    def failing(self, texts):
        if "hello 2000" in texts:
            raise RuntimeError("out of order")
        return embed(self, texts)

    monkeypatch.setattr(HashEmbedder, "embed_documents", failing)
    messages = json.dumps([{"role": "user", "content": f"hello {number}"} for number in range(2_500)])
    refused = cli("import", "-", "--from", "openai", input=messages)
    assert (refused.exit_code, refused.stdout) == (1, "")
    assert texts(cli) == ["here"]


def test_documents_are_stored_whole_or_not_at_all(cli, monkeypatch):
    embed = HashEmbedder.embed_documents

    def failing(self, texts):
        if "document 2000" in texts:
            raise RuntimeError("out of order")
        return embed(self, texts)

    cli("remember", "kept", "-s", "a", "--id", "d7")
    got = {"ids": [f"d{n}" for n in range(2_500)], "documents": [f"document {n}" for n in range(2_500)]}
    refused = cli("import", "-", "--from", "chroma", input=json.dumps(got))
    assert (refused.exit_code, refused.stdout) == (1, "")
    assert 'items[7]: the id "d7" is in use here by a turn' in refused.stderr
    monkeypatch.setattr(HashEmbedder, "embed_documents", failing)
    assert cli("import", "-", "--from", "chroma", input=json.dumps(got)).exit_code == 1
    assert json.loads(cli("stats", "--json").stdout)["count"] == 1


def test_a_log_that_has_grown_is_imported_again_without_what_is_here(cli):
    memories = [{"id": f"m{number}", "memory": f"memory {number}"} for number in range(3)]
    assert cli("import", "-", "--from", "mem0", input=json.dumps(memories[:2])).exit_code == 0
    grown = cli("import", "-", "--from", "mem0", "--on-conflict", "skip", input=json.dumps(memories))
    assert (grown.exit_code, grown.stdout) == (0, "imported 1 memory, 2 skipped, 3 embedded\n")


def test_what_chroma_returned_is_documents(cli):
    got = {"ids": ["d1", "d2"], "documents": ["The export button", "Invoices"], "metadatas": [{"page": 1}, None]}
    assert cli("import", "-", "--from", "chroma", input=json.dumps(got)).stdout == "imported 2 memories, 2 embedded\n"
    (found,) = json.loads(cli("search", "export button", "-n", "1", "--json").stdout)["items"]
    assert (found["id"], found["kind"], found["metadata"]["page"]) == ("d1", None, 1)
    refused = cli("import", "-", "--from", "chroma", input="{")
    assert (refused.exit_code, refused.stderr.count("\n")) == (1, 1)


def test_conversations_of_chatgpt_are_sessions(cli):
    message = {"author": {"role": "user"}, "content": {"content_type": "text", "parts": ["hello"]}, "id": "m"}
    node = {"id": "n", "message": message, "parent": None, "children": []}
    log = json.dumps([{"conversation_id": "c1", "title": "t", "current_node": "n", "mapping": {"n": node}}])
    assert cli("import", "-", "--from", "chatgpt", input=log).stdout == "imported 1 memory, 1 embedded\n"
    assert cli("turns").stdout.startswith("session c1\n0. hello\n")


def test_a_log_that_is_of_another_form_is_one_sentence_and_makes_no_collection(cli, tmp_path):
    for content in (b"{", b"[1]", b"caf\xe9", b'[{"role": 1}]'):
        refused = cli("import", "-", "--from", "openai", input=content)
        assert (refused.exit_code, refused.stdout, refused.stderr.count("\n")) == (1, "", 1), content
    assert list(tmp_path.iterdir()) == []


def test_a_bad_row_of_standard_input_is_named_by_its_line(cli):
    refused = cli("import", "-", "--from", "openai", input='{"role": "user", "content": "a"}\n{"role": "user"}\n')
    expected = "retentive: standard input, line 2: the row has no content, expected a text, a list of parts or null\n"
    assert (refused.exit_code, refused.stderr) == (1, expected)


def test_options_that_say_nothing_of_a_format_are_refused(cli):
    for arguments in (
        ["-s", "a"],
        ["-u", "ann"],
        ["--collection", "x"],
        ["--from", "mem0", "-s", "a"],
        ["--from", "diary"],
        ["--on-conflict", "merge"],
    ):
        refused = cli("import", "none.json", *arguments)
        assert (refused.exit_code, refused.stdout, refused.stderr.count("\n")) == (2, "", 1), arguments


def test_a_backup_is_a_collection(cli, told, tmp_path):
    made = cli("backup", "backup.db")
    assert (made.exit_code, made.stdout) == (0, "copied to backup.db\n")
    assert texts(cli, "--db", "backup") == ["hello", "hello again"]
    (tmp_path / "folder").mkdir()
    assert json.loads(cli("backup", "folder", "--json").stdout) == {"path": str(tmp_path / "folder" / "retentive.db")}
    (tmp_path / "other.db").write_bytes(b"something else")
    refused = cli("backup", "other.db")
    assert refused.exit_code in {1, 2}
    assert (tmp_path / "other.db").read_bytes() == b"something else"


def test_a_pipe_that_closes_early_ends_an_export_silently(cli, tmp_path):
    with Collection("retentive", path=tmp_path, embedder=HashEmbedder(64)) as db:
        db.remember_many([{"text": f"note {number}", "session": "a"} for number in range(2_000)])
    command = [sys.executable, "-m", "retentive", "export", "-"]
    child = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    child.stdout.readline()
    child.stdout.close()
    assert (child.stderr.read(), child.wait(timeout=60)) == (b"", 141)
    child.stderr.close()


def test_a_folder_of_chroma_needs_a_collection_by_its_option(cli, tmp_path):
    (tmp_path / "folder").mkdir()
    refused = cli("import", str(tmp_path / "folder"), "--from", "chroma")
    assert refused.exit_code == 1
    assert "--collection is not given, expected the name of one in the folder" in refused.stderr
