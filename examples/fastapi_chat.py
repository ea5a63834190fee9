"""A chat backend with FastAPI: the context before the model is called, its answer streamed, both turns remembered.

The model here is a fake that streams a few words; put your provider's client in its place. To try it:

    pip install retentive fastapi uvicorn
    uvicorn --app-dir examples fastapi_chat:app
    curl -N localhost:8000/chats/u42 -H 'content-type: application/json' -d '{"text": "I am allergic to peanuts"}'
"""

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Annotated

from fastapi import APIRouter, Depends, FastAPI, Request
from fastapi.responses import JSONResponse, StreamingResponse
from pydantic import BaseModel

from retentive import Collection, InvalidInputError

BUDGET = 1_200  # tokens of memory before each message

router = APIRouter(prefix="/chats/{session}")


class Message(BaseModel):
    """What a user says."""

    text: str


async def memory_of(request: Request) -> Collection:
    """Return the collection that the application opened."""
    memory: Collection = request.app.state.memory
    return memory


Memory = Annotated[Collection, Depends(memory_of)]


@router.post("")
async def chat(session: str, message: Message, memory: Memory) -> StreamingResponse:
    """Answer a message as server-sent events: `{"text": ...}` for each piece, then an event `done` with both ids."""
    block = await memory.acontext(message.text, session=session, token_budget=BUDGET)
    asked = await memory.aremember(message.text, session=session)
    messages = [*block.messages(), {"role": "user", "content": message.text}]
    return StreamingResponse(answer(memory, session, asked, messages), media_type="text/event-stream")


@router.get("")
async def turns(session: str, memory: Memory) -> list[dict[str, str]]:
    """Return what was said, in order."""
    said = await memory.aturns(session)
    return [{"role": turn.role or "user", "text": turn.text} for turn in said]


@router.delete("")
async def forget(session: str, memory: Memory) -> int:
    """Delete a chat for good; return how many turns it had."""
    return await memory.aforget(session)


async def answer(memory: Collection, session: str, asked: str, messages: list[dict[str, str]]) -> AsyncIterator[str]:
    """Stream the model's answer, and remember it once it is whole: one that the client broke off is not kept."""
    pieces = []
    async for piece in fake_model(messages):
        pieces.append(piece)
        yield event({"text": piece})
    answered = await memory.aremember("".join(pieces), session=session, role="assistant")
    yield event({"asked": asked, "answered": answered}, name="done")


def event(data: dict[str, str], name: str = "message") -> str:
    """Return one server-sent event."""
    return f"event: {name}\ndata: {json.dumps(data)}\n\n"


async def fake_model(messages: list[dict[str, str]]) -> AsyncIterator[str]:
    """Stream word by word how much the model was told."""
    turns = sum(message["role"] != "system" for message in messages) - 1
    told = f"You said {messages[-1]['content']!r}. I was told {turns} earlier turns."
    for word in told.split(" "):
        await asyncio.sleep(0.001)
        yield f"{word} "


async def refuse(_: Request, error: Exception) -> JSONResponse:
    """Answer 422 where retentive refuses an argument: a blank message, a session without a name."""
    return JSONResponse({"detail": str(error)}, status_code=422)


def create_app(open_memory: Callable[[], Collection]) -> FastAPI:
    """Return the application. It opens its memory when it starts and closes it when it ends."""

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        async with open_memory() as memory:
            await memory.awarmup()  # the model and the index, before the first request
            app.state.memory = memory
            yield

    app = FastAPI(title="A chat that remembers", lifespan=lifespan)
    app.include_router(router)
    app.add_exception_handler(InvalidInputError, refuse)
    return app


app = create_app(lambda: Collection("chat", path="chat-data"))
