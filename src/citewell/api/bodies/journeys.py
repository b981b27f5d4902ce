"""Care journeys."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from citewell.api.bodies.base import SEEN, Id, RequestBody, ResponseBody, Revision
from citewell.types.journeys import MAX_DESCRIPTION_CHARACTERS, MAX_NAME_CHARACTERS, MAX_SLUG_CHARACTERS, Journey

SLUG = r"^[a-z0-9]+(-[a-z0-9]+)*$"
Slug = Annotated[str, Field(min_length=1, max_length=MAX_SLUG_CHARACTERS, pattern=SLUG)]
JourneyName = Annotated[str, Field(min_length=1, max_length=MAX_NAME_CHARACTERS, pattern=SEEN)]
Description = Annotated[str, Field(max_length=MAX_DESCRIPTION_CHARACTERS)]


class NewJourneyRequest(RequestBody):
    """A journey; without a slug it gets the one that its name suggests."""

    name: JourneyName
    slug: Slug | None = None
    description: Description = ""


class JourneyEditRequest(RequestBody):
    """What is to change; what is left out stays. With a revision, only if nobody changed it since."""

    name: JourneyName | None = None
    slug: Slug | None = None
    description: Description | None = None
    revision: Revision | None = None


class AssignRequest(RequestBody):
    """Documents by their ids."""

    documents: Annotated[list[Id], Field(min_length=1, max_length=1_000)]


class JourneysResponse(ResponseBody):
    """The journeys by name."""

    journeys: list[Journey]


class FiledResponse(ResponseBody):
    """The journeys of a document; none: for everyone."""

    document_id: str
    journeys: list[str]


class FiledAllResponse(ResponseBody):
    """Documents as they are filed now."""

    documents: list[FiledResponse]


class JourneyGoneResponse(ResponseBody):
    """A journey that was removed, and how many documents were filed anew."""

    removed: str
    documents: int
