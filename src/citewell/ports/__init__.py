"""Small Protocols, owned by the core: what it needs from the world."""

from citewell.ports.library import (
    Candidate,
    Claim,
    Index,
    Library,
    Ranked,
    Reading,
    Sentences,
    Shelf,
    Stored,
    Verification,
)
from citewell.ports.models import (
    Model,
    ModelInfo,
    ModelServer,
    Owners,
    Person,
    Prompt,
    Writer,
)
from citewell.ports.reading import (
    Embedder,
    Parser,
    Progress,
    Tokenizer,
    Vector,
    Vectors,
    products,
)

__all__ = [
    "Candidate",
    "Claim",
    "Embedder",
    "Index",
    "Library",
    "Model",
    "ModelInfo",
    "ModelServer",
    "Owners",
    "Parser",
    "Person",
    "Progress",
    "Prompt",
    "Ranked",
    "Reading",
    "Sentences",
    "Shelf",
    "Stored",
    "Tokenizer",
    "Vector",
    "Vectors",
    "Verification",
    "Writer",
    "products",
]
