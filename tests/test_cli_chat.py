"""`retentive chat`: the block before each message, in a terminal and through a pipe; nothing is left behind."""

import json


def test_each_message_shows_the_block_and_is_remembered_after_it(cli):
    played = cli("chat", input="I'd like the report as a PDF\n/reply Noted\nwhich format?\n")
    assert played.exit_code == 0
    first, second = played.stdout.split("  what a model gets with it: ")[1:]
    assert first == "0 of 1500 tokens\n"
    assert second.splitlines()[1:] == [
        "  | ## Recent conversation",
        "  | user: I'd like the report as a PDF",
        "  | assistant: Noted",
    ]


def test_commands_pin_set_facts_recall_and_list(cli):
    typed = [
        "/pin The plan is annual",
        "/fact office = The office is in Lyon",
        "/fact office = The office is in Paris",
        "where is the office",
        "/recall office",
        "/turns",
        "/help",
        "/quit",
        "never read",
    ]
    played = cli("chat", input="\n".join(typed))
    assert "  | - The plan is annual" in played.stdout
    assert "The office is in Paris" in played.stdout
    assert "Lyon" not in played.stdout
    assert "   relevance_norm " in played.stdout
    assert "0. where is the office\n" in played.stdout
    assert "/reply TEXT" in played.stderr
    assert "never read" not in played.stdout


def test_what_cannot_be_done_is_said_and_the_loop_goes_on(cli):
    played = cli("chat", input="/dance\n/budget lots\n/budget 0\n/reply\n/fact office\n\nhello\n")
    assert played.stderr.splitlines()[2:] == [
        "no such command; /help says what can be typed",
        "/budget lots: expected a whole number of tokens",
        "text is empty, expected something to remember or find",
        "expected /fact KEY = TEXT",
    ]
    assert played.exit_code == 0
    assert "0 of 0 tokens" in played.stdout


def test_it_is_in_memory_unless_a_collection_is_named(cli, tmp_path):
    unkept = cli("chat", input="hello\n")
    assert unkept.stderr.startswith("In memory, gone at the end; --db FILE keeps it.\n")
    assert list(tmp_path.iterdir()) == []
    cli("chat", "--db", "kept", "-s", "monday", input="hello\n")
    assert cli("turns", "--db", "kept").stdout.startswith("session monday\n0. hello\n")


def test_json_is_one_document_a_message(cli):
    played = cli("chat", "--json", input="hello\nhello again\n/recall hello\n/turns\n")
    first, second, found, *turns = [json.loads(line) for line in played.stdout.splitlines()]
    assert (first["text"], second["messages"]) == ("", [{"role": "user", "content": "hello"}])
    assert len(found["items"]) == 2
    assert [turn["text"] for turn in turns] == ["hello", "hello again"]


def test_on_a_terminal_it_prompts_until_the_end_of_input(terminal, tmp_path):
    chat = terminal("chat", TERM="dumb")
    chat.until("you> ")
    chat.type("hello")
    chat.until("0 of 1500 tokens")
    chat.until("you> ")
    chat.type("again \x1b[2J")
    chat.until("| user: hello")
    chat.until("you> ")
    chat.type("/turns")
    chat.until("1. again")
    chat.until("you> ")
    chat.type("\x04")
    assert chat.end() == 0
    assert list(tmp_path.iterdir()) == []


def test_ctrl_c_ends_it_with_a_sentence(terminal):
    chat = terminal("chat", TERM="dumb")
    chat.until("you> ")
    chat.interrupt()
    assert chat.end() == 130
    assert chat.text.splitlines()[-1].endswith("retentive: interrupted")
    assert "Traceback" not in chat.text


def test_an_option_that_cannot_be_is_refused_before_the_loop_begins(cli, tmp_path):
    for arguments in (["--session", ""], ["--user", ""], ["--budget", "-5"]):
        refused = cli("chat", *arguments, "--db", "kept", input="hello\n")
        assert (refused.exit_code, refused.stdout, refused.stderr.count("\n")) == (2, "", 1), arguments
        assert arguments[0] in refused.stderr
        assert list(tmp_path.iterdir()) == []


def test_its_help_says_that_it_is_in_memory(cli):
    shown = " ".join(cli("chat", "--help").stdout.split())
    assert "else in memory" in shown
    assert "else ./retentive.db" not in shown
