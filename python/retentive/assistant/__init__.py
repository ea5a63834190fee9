"""An assistant's memory: a conversation, known facts, and what was said before, found by meaning.

`MemoryManager` keeps all three in one `Collection`; nothing is stored twice.

Examples:
    >>> from retentive.assistant import MemoryManager
    >>> memory = MemoryManager("u42")
    >>> turn = memory.record("user", "I can't eat peanuts, they make my throat swell")
    >>> memory.facts.remember("name", "Sam")
    >>> print(memory.context_for("which foods am I allergic to?"))
    ## Known facts
    - name: Sam
    <BLANKLINE>
    ## Recent conversation
    USER: I can't eat peanuts, they make my throat swell
"""

from retentive.assistant._conversation import Conversation
from retentive.assistant._facts import Facts
from retentive.assistant._file import SessionFileError
from retentive.assistant._manager import MemoryManager
from retentive.assistant._semantic import Found, Semantic
from retentive.assistant._turn import ChatTurn

__all__ = ["ChatTurn", "Conversation", "Facts", "Found", "MemoryManager", "Semantic", "SessionFileError"]
