"""`retentive`, the command line: what each command prints, for people and as JSON, and its exit code."""

import json
import re

import pytest

import retentive
from retentive import Collection
from retentive.embedders import HashEmbedder


def documents(result):
    return [json.loads(line) for line in result.stdout.splitlines()]


@pytest.fixture
def told(cli, tmp_path):
    """A conversation of two sessions and two users, by the ids of its memories."""
    office = {"user": "ann", "kind": "fact", "key": "office"}
    hike = {"session": "walks", "user": "ann", "timestamp": "2026-05-03T10:00:00+02:00"}
    items = {
        "pdf": {"text": "I'd like the report as a PDF", "session": "u42"},
        "reply": {"text": "Done, it is in your inbox", "session": "u42", "role": "assistant", "name": "Bot"},
        "plan": {"text": "Customer is on the annual plan", "session": "u42", "pinned": True},
        "lyon": {"text": "The office is in Lyon", **office},
        "paris": {"text": "The office is in Paris", **office},
        "hike": {"text": "We hiked on Sunday", **hike},
    }
    with Collection("retentive", path=tmp_path, embedder=HashEmbedder(64)) as db:
        return dict(zip(items, db.remember_many(items.values()), strict=True))


def test_remember_makes_the_collection_and_prints_the_id(cli, tmp_path):
    first = cli("remember", "I'd like the report as a PDF", "-s", "u42")
    assert (first.exit_code, first.stderr) == (0, "made retentive.db\n")
    second = cli("remember", "as a PDF", "-s", "u42")
    assert (second.exit_code, second.stderr) == (0, "")
    turns = documents(cli("turns", "-s", "u42", "--json"))
    assert [turn["id"] for turn in turns] == [first.stdout.strip(), second.stdout.strip()]
    assert [file.name for file in tmp_path.iterdir()] == ["retentive.db"]


def test_what_is_remembered_is_recalled(cli, told):
    found = cli("recall", "which format for the report", "--session", "u42")
    assert found.exit_code == 0
    assert found.stdout.splitlines()[0] == "1. I'd like the report as a PDF"
    assert told["pdf"] in found.stdout.splitlines()[1]
    assert found.stderr == ""


def test_recall_as_json_has_the_fields_of_the_results(cli, told):
    (found,) = documents(cli("recall", "report", "-s", "u42", "-n", "1", "--json"))
    with Collection("retentive", path=".", embedder=HashEmbedder(64)) as db:
        results = db.recall("report", "u42", limit=1)
    assert set(found) == set(retentive.Results.__dataclass_fields__)
    (item,) = found["items"]
    assert (item["id"], item["text"], item["session"]) == (told["pdf"], "I'd like the report as a PDF", "u42")
    assert item["timestamp"] == results[0].timestamp.isoformat()
    assert {name for name in item if not hasattr(results[0], name)} == set()
    assert "relevance" in item["metadata"]["_vx_scoring"]


def test_nothing_relevant_is_exit_code_1_and_an_empty_document(cli, told):
    nothing = cli("recall", "x", "-s", "nobody")
    assert (nothing.exit_code, nothing.stdout, nothing.stderr) == (1, "", "nothing relevant found\n")
    nothing = cli("recall", "x", "-s", "nobody", "--json")
    assert (nothing.exit_code, documents(nothing)[0]["items"], nothing.stderr) == (1, [], "")


def test_recall_reaches_one_user_or_all(cli, told):
    hers = documents(cli("recall", "office", "-u", "ann", "-k", "fact", "--json"))[0]["items"]
    assert [item["id"] for item in hers] == [told["paris"]]
    everybody = documents(cli("recall", "office", "--any-user", "--superseded", "--json"))[0]["items"]
    assert {item["id"] for item in everybody} == set(told.values())
    filtered = cli("recall", "office", "--any-user", "--filter", '{"_vx_kind": "pinned"}', "--json")
    assert [item["id"] for item in documents(filtered)[0]["items"]] == [told["plan"]]


def test_explain_draws_a_bar_for_each_part(cli, told):
    drawn = cli("recall", "which format for the report", "-s", "u42", "-n", "1", "--explain").stdout.splitlines()
    bars = {line.split()[0]: line.split()[1:] for line in drawn[2:]}
    assert {"relevance_norm", "recency", "feedback", "dense", "role"} <= set(bars)
    assert bars["relevance_norm"] == ["1.000", "█" * 24]
    assert bars["recency"] == ["*", "0.5", "0.500", "█" * 12]
    assert bars["feedback"] == ["*", "0.25", "0.000"]


def drawn_parts(lines):
    """The score that is shown, and each part as (depth, name, value)."""
    parts = [re.fullmatch(r"   ( *)(\w+)(?: \* [\d.]+)? +(-?[\d.]+)(?: [█▏▎▍▌▋▊▉]+)?", line) for line in lines[2:]]
    return float(lines[1].split()[1].rstrip(",")), [(len(part[1]) // 2, part[2], float(part[3])) for part in parts]


SCORED = [["recall"], ["search"], ["search", "--mode", "dense"], ["search", "--mode", "lexical"]]
MODELS = {"hash:64": HashEmbedder(64), "hash:64+hash:32": [HashEmbedder(64), HashEmbedder(32)]}


@pytest.mark.parametrize("command", SCORED, ids=" ".join)
@pytest.mark.parametrize("model", MODELS)
def test_what_explain_shows_adds_up_to_the_score_under_the_names_of_json(cli, tmp_path, command, model):
    with Collection("retentive", path=tmp_path, embedder=MODELS[model]) as db:
        db.remember_many([{"text": f"the annual plan of note {n}", "session": "a"} for n in range(3)])
        said = db.turns("a")[1]
        for _ in range(3):
            db.feedback(said.id, "useful")
    asked = [*command, "which annual plan of note 1", "-n", "1", "--explain", "--embedder", model]
    score, parts = drawn_parts(cli(*asked).stdout.splitlines())
    assert sum(value for depth, _, value in parts if depth == 0) == pytest.approx(score, abs=0.003)
    (item,) = documents(cli(*asked, "--json"))[0]["items"]
    scoring = item["metadata"]["_vx_scoring"]
    assert score == pytest.approx(item["score"], abs=0.001)
    weighted = {**scoring, "recency": 0.5 * scoring.get("recency", 0), "feedback": 0.25 * 2}
    for _, name, value in parts:
        assert value == pytest.approx(weighted[name], abs=0.001), name


def test_explain_draws_feedback_below_0_with_a_minus(cli, told):
    cli("feedback", told["pdf"], "dead_end")
    drawn = cli("recall", "which format for the report", "-s", "u42", "--explain").stdout.splitlines()
    assert "   feedback * 0.25 -0.250 ██████" in drawn


def test_context_prints_the_block_and_nothing_else(cli, told):
    block = cli("context", "what format did they want", "-s", "u42")
    with Collection("retentive", path=".", embedder=HashEmbedder(64)) as db:
        assert block.stdout == db.context("what format did they want", "u42").text + "\n"
    assert (block.exit_code, block.stderr) == (0, "")


def test_context_keeps_tabs_and_long_lines_as_they_are(cli, tmp_path):
    with Collection("retentive", path=tmp_path, embedder=HashEmbedder(64)) as db:
        db.remember("\tdef f():\n\t\treturn " + "word " * 100 + "end", session="a")
        block = db.context("x", "a").text
    assert "\t\treturn word" in block
    assert cli("context", "x", "-s", "a").stdout == block + "\n"


def test_context_as_json_has_the_fields_of_the_block_and_its_messages(cli, told):
    (block,) = documents(cli("context", "what format", "-s", "u42", "-b", "200", "--json"))
    public = {name for name in retentive.ContextBlock.__dataclass_fields__ if not name.startswith("_")}
    assert set(block) == public | {"messages"}
    assert [message["role"] for message in block["messages"]] == ["system", "user", "assistant"]
    assert block["pinned"][0]["id"] == told["plan"]
    assert block["token_budget"] == 200


def test_context_with_nothing_to_say_is_exit_code_1(cli, told):
    assert cli("context", "x", "-s", "nobody").exit_code == 1


def test_search_without_a_query_is_newest_first(cli, told):
    newest = cli("search", "-n", "2", "--json")
    assert [item["id"] for item in documents(newest)[0]["items"]] == [told["plan"], told["reply"]]
    lines = cli("search", "-n", "2").stdout.splitlines()
    assert [line[:3] for line in lines if line[0] != " "] == ["1. ", "2. "]
    assert "score" not in lines[1]


def test_search_explains_its_score(cli, told):
    drawn = cli("search", "annual plan", "-n", "1", "--explain").stdout.splitlines()
    assert {line.split()[0] for line in drawn[2:]} == {"dense", "lexical"}


def test_turns_show_what_has_no_session_too(cli, tmp_path):
    first = cli("remember", "said in no session").stdout.strip()
    cli("remember", "the plan is monthly", "--time", "2026-01-01T00:00:00Z", "--id", "old")
    cli("feedback", "old", "corrected", "--correction", "the plan is annual")
    cli("remember", "said in one", "-s", "a")
    cli("remember", "hers", "-u", "ann")
    cli("remember", "a fact", "-k", "fact")
    lines = cli("turns").stdout.splitlines()
    assert [lines[0], lines[3], lines[4]] == ["session a", "without a session", "0. said in no session"]
    turns = documents(cli("turns", "--json"))
    assert [turn["text"] for turn in turns][:2] == ["said in one", "said in no session"]
    assert [(turn["text"], turn["turn"]) for turn in turns[2:]] == [("the plan is monthly", 1)]
    assert [turn["session"] for turn in turns] == ["a", None, None]
    assert (turns[1]["id"], turns[2]["superseded_by"] is None) == (first, False)
    assert [turn["text"] for turn in documents(cli("turns", "--any-user", "--json"))][-1] == "hers"
    assert len(documents(cli("turns", "--json", "-n", "1"))) == 2
    assert cli("turns", "-s", "a").stdout.splitlines()[0] == "0. said in one"
    (hers,) = documents(cli("turns", "-u", "ann", "--json"))
    assert (hers["text"], hers["user"], hers["session"]) == ("hers", "ann", None)
    assert cli("turns", "-u", "nobody").exit_code == 1


def test_turns_are_shown_in_order_with_their_numbers(cli, told):
    lines = cli("turns", "-s", "u42").stdout.splitlines()
    assert [lines[0], lines[2]] == ["0. I'd like the report as a PDF", "1. Done, it is in your inbox"]
    assert lines[3].startswith("   assistant, by Bot, session u42, 20")
    assert lines[3].endswith(told["reply"])
    assert [turn["turn"] for turn in documents(cli("turns", "-s", "u42", "--json"))] == [0, 1]
    assert [turn["turn"] for turn in documents(cli("turns", "-s", "u42", "-n", "1", "--json"))] == [1]


def test_turns_of_all_sessions_stand_under_their_names(cli, told):
    lines = cli("turns", "--any-user").stdout.splitlines()
    assert [line for line in lines if line.startswith("session")] == ["session u42", "session walks of user ann"]
    assert len(documents(cli("turns", "--any-user", "--json"))) == 3


def test_no_turns_says_where_it_looked(cli, told):
    nothing = cli("turns", "-s", "walks")
    assert nothing.exit_code == 1
    assert nothing.stderr == (
        "retentive: no turns in session walks; "
        "only what has no user was looked at, --user NAME is for what users have\n"
    )


def test_facts_are_the_current_ones(cli, told):
    assert [fact["id"] for fact in documents(cli("facts", "-u", "ann", "--json"))] == [told["paris"]]
    assert cli("facts", "-u", "ann", "--key", " OFFICE").stdout.startswith("1. The office is in Paris\n")
    assert cli("facts", "-u", "ann", "--key", "home").exit_code == 1
    assert cli("facts").exit_code == 1


def test_feedback_corrects_and_history_shows_the_chain(cli, told):
    corrected = cli("feedback", told["paris"], "corrected", "--correction", "The office is in Rome")
    assert corrected.exit_code == 0
    chain = documents(cli("history", told["lyon"], "--json"))
    assert [memory["id"] for memory in chain] == [told["lyon"], told["paris"], corrected.stdout.strip()]
    assert [memory["superseded_by"] for memory in chain] == [told["paris"], corrected.stdout.strip(), None]
    assert cli("feedback", told["pdf"], "useful").stderr == "noted\n"
    assert documents(cli("feedback", told["pdf"], "useful", "--json")) == [
        {"id": told["pdf"], "outcome": "useful", "correction": None}
    ]


def test_remember_keeps_every_field_it_is_given(cli):
    given = ("--id", "mine", "--metadata", '{"lang": "en"}', "--ttl-days", "2.5", "--time", "2099-05-01T00:00:00")
    stored = cli("remember", "hello", "-s", "a", "-u", "b", "-r", "tool", "--name", "Ann", *given, "--json")
    assert documents(stored) == [{"id": "mine"}]
    (turn,) = documents(cli("turns", "-s", "a", "-u", "b", "--json"))
    assert [turn[name] for name in ("id", "text", "role", "name", "user")] == ["mine", "hello", "tool", "Ann", "b"]
    assert turn["metadata"]["lang"] == "en"
    assert turn["timestamp"] == "2099-05-01T00:00:00+00:00"
    assert turn["expires_at"] == "2099-05-03T12:00:00+00:00"


def test_only_a_line_feed_ends_a_line(cli):
    said = ["page\x0cbreak", "a\x1cb", "c\x85d", "e\u2028f", "g\rh", "i"]
    assert cli("remember", "-", "--lines", "-s", "a", input="\r\n".join(said)).exit_code == 0
    assert [turn["text"] for turn in documents(cli("turns", "-s", "a", "--json"))] == said


def test_texts_come_from_standard_input(cli):
    assert cli("remember", "-", "-s", "a", input="two\nlines\n").exit_code == 0
    assert len(cli("remember", "-", "--lines", "-s", "a", input="one\n\r\n  \nzwölf\r\n").stdout.split()) == 2
    assert [turn["text"] for turn in documents(cli("turns", "-s", "a", "--json"))] == ["two\nlines", "one", "zwölf"]
    assert documents(cli("recall", "-", "-s", "a", "--json", input="lines\n"))[0]["query"] == "lines"
    assert documents(cli("context", "-", "-s", "a", "--json", input="lines\n"))[0]["query"] == "lines"
    assert documents(cli("search", "-", "--json", input="lines\n"))[0]["query"] == "lines"


def test_stats_are_those_of_the_collection(cli, told):
    (found,) = documents(cli("stats", "--json"))
    assert (found["turns"], found["facts"], found["pinned"], found["superseded"]) == (3, 2, 1, 1)
    lines = dict(line.split(maxsplit=1) for line in cli("stats").stdout.splitlines())
    assert (lines["turns"], lines["erasure_pending"], lines["second_model"]) == ("3", "no", "-")


def test_verify_says_ok_or_what_is_wrong(cli, told, tmp_path):
    whole = cli("verify")
    assert (whole.exit_code, whole.stdout[:4]) == (0, "ok, ")
    file = tmp_path / "retentive.db"
    content = file.read_bytes()
    at = content.index(b"as a PDF")
    file.write_bytes(content[:at] + b"as a FAX" + content[at + 8 :])
    broken = cli("verify")
    assert broken.exit_code == 1
    assert told["pdf"] in broken.stdout
    assert broken.stdout.splitlines()[-1].startswith("not ok, ")
    (report,) = documents(cli("verify", "--json"))
    assert (report["ok"], report["more"]) == (False, 0)
    assert set(report["problems"][0]) == {"kind", "table", "row", "id", "what"}


def test_repair_saves_what_is_whole_and_lists_the_rest(cli, told, tmp_path):
    assert cli("repair", "retentive.db", "--into", "saved.db").stdout == "saved 6 memories into saved.db\n"
    file = tmp_path / "retentive.db"
    content = file.read_bytes()
    at = content.index(b"as a PDF")
    file.write_bytes(content[:at] + b"as a FAX" + content[at + 8 :])
    lossy = cli("repair", "retentive.db", "--into", "lossy.db", "--json")
    assert lossy.exit_code == 1
    (report,) = documents(lossy)
    assert (report["complete"], report["rows_saved"]["memory"]) == (False, 5)
    assert told["pdf"] in [loss["id"] for loss in report["lost"]]
    assert len(documents(cli("turns", "--any-user", "--db", "lossy", "--json"))) == 2


def test_evaluate_is_the_program_of_the_package(cli, capfd):
    shown = cli("evaluate", "--help")
    assert (shown.exit_code, shown.stdout.split()[:3]) == (0, ["usage:", "retentive", "evaluate"])
    missing = cli("evaluate", "locomo", "--data", "none.json", "--embedder", "hash")
    assert missing.exit_code == 2
    assert missing.stderr.startswith("retentive evaluate: ")
    assert missing.stderr.count("\n") == 1


def test_version_is_that_of_the_package(cli):
    from importlib.metadata import version

    assert cli("--version").stdout == f"retentive {version('retentive')}\n"
