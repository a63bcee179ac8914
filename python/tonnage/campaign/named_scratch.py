"""``[place]``: a scratch directory under a name of the user's, in which a later run can go on."""

from __future__ import annotations

from pydantic import Field

from tonnage.field_types import DirectoryName, Flag
from tonnage.toml_documents import DocumentTable


class NamedScratch(DocumentTable):
    """A scratch directory under a name, in which a later run can go on."""

    name: DirectoryName = Field(description="of the directory, in the target")
    fresh: Flag = Field(True, description="make it; else work in the one that an earlier run left")
    keep: Flag = Field(False, description="leave it and what is in it to a later run")
