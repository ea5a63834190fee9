"""When what other programs wrote was said, and when it ends: dates without a time, messages without either."""

from datetime import UTC, datetime, timedelta

import pytest

from retentive.importers import chatgpt, langchain_messages, mem0, openai_messages, sharegpt

LONG_AGO = datetime(2023, 11, 14, 22, 13, 20, tzinfo=UTC)


def memory(**fields):
    return {"id": "m", "memory": "Is in Vienna", "user_id": "ann", **fields}


@pytest.fixture
def at_noon(monkeypatch):
    noon = datetime(2026, 11, 30, 12, tzinfo=UTC)
    monkeypatch.setattr("retentive._clock.now", lambda: int(noon.timestamp() * 1_000_000))
    return noon


def end_of(item):
    return item["timestamp"] + timedelta(days=item["ttl_days"])


@pytest.mark.parametrize(
    ("date", "end"),
    [
        ("2026-11-29", []),
        ("2026-11-30", ["2026-12-01"]),  # mem0 gives it back all day, in UTC
        ("2027-01-01", ["2027-01-02"]),
        ("20270101", ["2027-01-02"]),
        ("2026-11-30T11:00", []),
        ("2026-11-30T13:00", ["2026-11-30T13:00"]),
    ],
)
def test_a_date_of_mem0_lasts_until_its_day_is_over(at_noon, date, end):
    items = list(mem0([memory(expiration_date=date)]))
    assert [end_of(item) for item in items] == [datetime.fromisoformat(at).replace(tzinfo=UTC) for at in end]


@pytest.mark.parametrize("date", [None, "", "9999-12-31"])
def test_a_memory_of_mem0_without_an_end_has_none(date):
    (item,) = mem0([memory(expiration_date=date)])
    assert "ttl_days" not in item


def test_a_memory_of_mem0_that_is_dated_behind_its_end_is_taken_as_of_now(at_noon):
    """mem0 returns it: only its end counts there."""
    (item,) = mem0([memory(updated_at="2028-01-01T00:00:00Z", expiration_date="2027-01-01")])
    assert (item["timestamp"], end_of(item)) == (at_noon, datetime(2027, 1, 2, tzinfo=UTC))


def conversation(*times, **fields):
    nodes = {
        f"n{number}": {
            "id": f"n{number}",
            "parent": f"n{number - 1}" if number else None,
            "children": [],
            "message": {
                "id": f"n{number}",
                "author": {"role": "user"},
                "create_time": at,
                "content": {"content_type": "text", "parts": [f"message {number}"]},
            },
        }
        for number, at in enumerate(times)
    }
    return {"id": "c", "current_node": f"n{len(times) - 1}", "mapping": nodes, **fields}


def seconds(items):
    return [None if "timestamp" not in item else item["timestamp"].timestamp() for item in items]


def test_a_message_of_chatgpt_without_a_time_has_that_of_the_one_before():
    assert seconds(chatgpt([conversation(100, None, None, 400, create_time=50)])) == [100, 100, 100, 400]


def test_the_first_of_chatgpt_without_a_time_has_the_conversations_or_the_next_ones():
    assert seconds(chatgpt([conversation(None, 200, create_time=50)])) == [50, 200]
    assert seconds(chatgpt([conversation(None, None, 200, create_time=None)])) == [200, 200, 200]
    assert seconds(chatgpt([conversation(None, None, update_time=300)])) == [300, 300]
    assert seconds(chatgpt([conversation(100), conversation(None) | {"id": "another"}])) == [100, None]


def test_turns_of_an_old_conversation_are_stored_as_old(db):
    db.remember_many(chatgpt([conversation(LONG_AGO.timestamp(), None)]))
    assert [turn.timestamp for turn in db.turns("c")] == [LONG_AGO, LONG_AGO]


TIMES = [None, 200, None, None, 500]


def openai(times):
    return [
        {"role": "user", "content": "x", **({} if at is None else {"timestamp": LONG_AGO.timestamp() + at})}
        for at in times
    ]


def langchain(times):
    return [
        {"type": "human", "content": "x", **({} if at is None else {"timestamp": LONG_AGO.timestamp() + at})}
        for at in times
    ]


def turns_of_sharegpt(times):
    return [{"conversations": [{"from": "human", "value": message["content"], **message} for message in openai(times)]}]


@pytest.mark.parametrize(
    ("reader", "source"),
    [
        (openai_messages, openai),
        (openai_messages, lambda times: [{"messages": openai(times)}]),
        (langchain_messages, langchain),
        (sharegpt, turns_of_sharegpt),
    ],
    ids=["openai", "training", "langchain", "sharegpt"],
)
def test_a_message_without_a_time_has_that_of_the_one_before_or_of_the_next(reader, source):
    found = [at - LONG_AGO.timestamp() for at in seconds(reader(source(TIMES)))]
    assert found == [200, 200, 200, 200, 500]
    assert seconds(reader(source([None, None]))) == [None, None]
    assert len(list(reader(source([None] * 250)))) == 250


def test_roles_that_are_left_out_have_times_too():
    messages = openai([100, None])
    messages[0]["role"] = "tool"
    assert seconds(openai_messages(messages, roles=["user"])) == [LONG_AGO.timestamp() + 100]


@pytest.mark.parametrize(
    ("reader", "inside"), [(openai_messages, "messages"), (sharegpt, "conversations")], ids=["openai", "sharegpt"]
)
def test_a_conversation_that_has_a_time_gives_it_to_messages_without(reader, inside):
    rows = [{"created_at": LONG_AGO.isoformat(), inside: openai([None, 5, None])}, {inside: openai([None])}]
    found = [item.get("timestamp") for item in reader(rows)]
    assert found[0] == LONG_AGO.isoformat()
    assert [at.timestamp() - LONG_AGO.timestamp() for at in found[1:3]] == [5, 5]
    assert found[3] is None


def test_no_more_than_a_page_of_messages_is_read_ahead_of_a_time():
    taken = []

    def messages():
        for number, message in enumerate(openai([None] * 1_000)):
            taken.append(number)
            yield message

    next(openai_messages(messages()))
    assert len(taken) <= 101
