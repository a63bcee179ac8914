"""What a tool prints may be cut short, translated or of another version: no reader of it ends in an exception."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tonnage.filesystems import beegfs, cephfs, glusterfs, gpfs, lustre
from tonnage.filesystems import bucket_mounts as objects

from .recorded_tools import RECORDED, answer, place_on

READERS: list[Callable[[str], object]] = [
    lustre.Layout,
    lustre.connections,
    beegfs.entry_targets,
    beegfs.entry_pool,
    beegfs.table,
    gpfs.rows,
    glusterfs.bricks,
    lambda text: objects.endpoint_of(text.split()),
]
WORDS = sorted({word for file in RECORDED.iterdir() for word in file.read_text().split()})


@pytest.mark.parametrize("read", READERS)
@given(text=st.lists(st.sampled_from([*WORDS, "\n", "\t", " ", ":", "-1", "\udcff"]), max_size=40).map(" ".join))
def test_any_mixture_of_a_tools_words_is_read(read: Callable[[str], object], text: str) -> None:
    read(text)


@pytest.mark.parametrize("read", READERS)
@pytest.mark.parametrize("file", sorted(RECORDED.iterdir()), ids=lambda file: file.name)
def test_an_answer_cut_anywhere_is_read(read: Callable[[str], object], file: object) -> None:
    text = file.read_text()  # type: ignore[attr-defined]
    for end in range(0, len(text), 7):
        read(text[:end])


@settings(deadline=None)  # each starts a process for the layers of an overlay
@given(
    kind=st.sampled_from(["nfs", "nfs4", "fuse.sshfs", "cifs", "pvfs2", "fuse.mfs", "9p", "overlay", "autofs"]),
    source=st.text(alphabet="ab1.:/@[]#-=,", min_size=1, max_size=30),
    options=st.text(alphabet="adr=lowei:/,.1[]", max_size=30),
)
def test_any_source_and_options_have_an_answer_or_a_reason(kind: str, source: str, options: str) -> None:
    line = f"45 36 0:45 / /s rw - {kind} {source} rw,{options}"
    for found in (answer(line, "/s", answers=False), cephfs.monitors(place_on(line, "/s"), ("no key",))):
        assert found.servers or found.problem
