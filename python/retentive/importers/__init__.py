"""Chat logs and memories of other programs, as what `remember_many` and `add` take.

Each function takes what its program writes, as the path of a file (JSON or JSON Lines) or as what was loaded from it,
and yields items. Nothing is stored, no network is used, and none of those programs has to be installed.

Examples:
    >>> from retentive import Collection, HashEmbedder
    >>> from retentive.importers import openai_messages
    >>> db = Collection("chat", embedder=HashEmbedder(64))
    >>> messages = [{"role": "user", "content": "As a PDF, please"}, {"role": "assistant", "content": "Here it is"}]
    >>> len(db.remember_many(list(openai_messages(messages, session="u42"))))
    2
"""

from retentive.importers._chatgpt import chatgpt
from retentive.importers._chroma import chroma
from retentive.importers._langchain import langchain_messages
from retentive.importers._mem0 import mem0
from retentive.importers._openai import openai_messages
from retentive.importers._sharegpt import sharegpt

__all__ = ["chatgpt", "chroma", "langchain_messages", "mem0", "openai_messages", "sharegpt"]
