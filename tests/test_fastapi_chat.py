"""`examples/fastapi_chat.py` under 200 chats at once, through httpx's ASGI transport."""

import asyncio
import importlib.util
import json
from collections import Counter
from pathlib import Path

import httpx
import pytest

from retentive import Collection

EXAMPLE = Path(__file__).resolve().parents[1] / "examples" / "fastapi_chat.py"
CHATS = 200
SAID = ["I'd like the report as a PDF", "My name is Ada", "What did I say about the report?"]


@pytest.fixture(scope="module")
def example():
    spec = importlib.util.spec_from_file_location("fastapi_chat", EXAMPLE)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def served(example, tmp_path):
    """Run `work(client)` against the application, from start to end."""

    def served(work):
        async def serve():
            app = example.create_app(lambda: Collection("chat", path=tmp_path))
            transport = httpx.ASGITransport(app=app)
            async with (
                app.router.lifespan_context(app),
                httpx.AsyncClient(transport=transport, base_url="http://chat") as client,
            ):
                return await work(client)

        return asyncio.run(serve())

    return served


def events_of(response):
    """The server-sent events of a response: (name, data)."""
    blocks = [block.splitlines() for block in response.text.split("\n\n") if block]
    return [(name.removeprefix("event: "), json.loads(data.removeprefix("data: "))) for name, data in blocks]


async def say(client, session, text):
    response = await client.post(f"/chats/{session}", json={"text": text})
    assert response.status_code == 200
    assert response.headers["content-type"].startswith("text/event-stream")
    *pieces, (last, ids) = events_of(response)
    assert last == "done"
    assert ids.keys() == {"asked", "answered"}
    return "".join(data["text"] for _, data in pieces), ids


def test_200_concurrent_chats_store_every_turn_once(served, tmp_path):
    async def chat(client, number):
        told = [await say(client, f"chat-{number}", f"{text} ({number})") for text in SAID]
        return told, (await client.get(f"/chats/chat-{number}")).json()

    async def all_chats(client):
        return await asyncio.gather(*[chat(client, number) for number in range(CHATS)])

    chats = served(all_chats)
    for number, (told, turns) in enumerate(chats):
        expected = []
        for text, (answered, _) in zip(SAID, told, strict=True):
            expected += [("user", f"{text} ({number})"), ("assistant", answered)]
        assert [(turn["role"], turn["text"]) for turn in turns] == expected
        assert [
            answered.rstrip().endswith(f"I was told {2 * n} earlier turns.") for n, (answered, _) in enumerate(told)
        ]
    with Collection("chat", path=tmp_path) as db:
        stored = Counter(turn.id for number in range(CHATS) for turn in db.turns(f"chat-{number}"))
        assert db.count() == len(stored) == CHATS * len(SAID) * 2
        assert set(stored) == {memory for told, _ in chats for _, ids in told for memory in ids.values()}
        assert [turn.turn for turn in db.turns("chat-7")] == list(range(len(SAID) * 2))


def test_a_model_is_told_what_was_said_before(served):
    async def chat(client):
        await say(client, "a", "I'd like the report as a PDF")
        return (await say(client, "a", "which format?"))[0], (await say(client, "b", "which format?"))[0]

    mine, other = served(chat)
    assert "I was told 2 earlier turns" in mine
    assert "I was told 0 earlier turns" in other


@pytest.mark.parametrize("text", ["", "   ", "\ud800"])
def test_a_text_that_cannot_be_remembered_is_refused_and_stores_nothing(served, text):
    async def chat(client):
        response = await client.post("/chats/a", content=json.dumps({"text": text}))
        return response.status_code, (await client.get("/chats/a")).json()

    assert served(chat) == (422, [])


def test_a_chat_is_forgotten_on_demand(served):
    async def chat(client):
        await say(client, "a", "hello")
        return (await client.delete("/chats/a")).json(), (await client.get("/chats/a")).json()

    assert served(chat) == (2, [])


def test_an_answer_that_the_client_broke_off_is_not_kept(example, memory_db):
    async def chat():
        asked = await memory_db.aremember("hello", session="a")
        stream = example.answer(memory_db, "a", asked, [{"role": "user", "content": "hello"}])
        await anext(stream)
        await stream.aclose()
        return [turn.id for turn in await memory_db.aturns("a")] == [asked]

    assert asyncio.run(chat())
