"""Memory for agents: messages in threads, by window or by meaning, in a `Collection`.

Every memory has async methods (`aadd`, `aget`, `aclear`) and blocking twins (`add`, `get`, `clear`), which also work
inside a running event loop. A thread is a session of the collection, and a message is a turn of it.

Examples:
    >>> from retentive.agents import CompositeMemory, Message, VectorMemory, WindowMemory
    >>> from retentive.embedders import HashEmbedder
    >>> vector = VectorMemory(embedder=HashEmbedder(256), top_k=1)
    >>> memory = CompositeMemory([vector, WindowMemory(2, collection=vector.native())])
    >>> memory.add([Message.user("I'd like the report as a PDF"), Message.assistant("Sure")], thread_id="u42")
    >>> memory.add([Message.user("And send it on Monday"), Message.assistant("I will")], thread_id="u42")
    >>> [message.content for message in memory.get(thread_id="u42", query="format of the report, PDF?")]
    ["I'd like the report as a PDF", 'And send it on Monday', 'I will']
"""

from retentive.agents._composite import CompositeMemory, MemberError
from retentive.agents._memory import DEFAULT_THREAD, Memory
from retentive.agents._message import Message, Role
from retentive.agents._vector import VectorMemory
from retentive.agents._window import WindowMemory

__all__ = [
    "DEFAULT_THREAD",
    "CompositeMemory",
    "MemberError",
    "Memory",
    "Message",
    "Role",
    "VectorMemory",
    "WindowMemory",
]
