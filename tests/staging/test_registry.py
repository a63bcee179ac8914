"""Names of movers: whose they are, what a dead one leaves, and what is not trusted."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

import pytest
from tonnage.errors import RequestError
from tonnage.staging.control_socket import Server
from tonnage.staging.registered_movers import (
    Registered,
    check_name,
    forget,
    name_of,
    refuse_taken,
    register,
    registered,
    registered_name,
)


@pytest.fixture(autouse=True)
def runtime(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    place = tmp_path / "runtime"
    place.mkdir(mode=0o700)
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(place))
    return place / "tonnage"


@pytest.fixture
def living() -> Iterator[ExitStack]:
    with ExitStack() as stack:
        yield stack


def entry(tmp_path: Path, name: str, tree: str = "tree") -> Registered:
    state = tmp_path / tree / ".tonnage-stage"
    state.mkdir(parents=True, exist_ok=True)
    return Registered(name, state.parent, tmp_path / "to", state, 4711, "out")


def live(stack: ExitStack, found: Registered) -> Registered:
    stack.callback(Server(found.state, lambda _: {}).close)
    register(found)
    return found


def ours(tmp_path: Path) -> list[Registered]:
    return [found for found in registered() if found.state.is_relative_to(tmp_path)]


def test_what_was_registered_is_found_with_all_it_said(tmp_path: Path, living: ExitStack, runtime: Path) -> None:
    found = live(living, entry(tmp_path, "run7"))
    assert ours(tmp_path) == [found] and found.alive
    assert runtime.stat().st_mode & 0o777 == 0o700
    forget(found)
    assert ours(tmp_path) == []


def test_a_name_of_a_living_mover_is_refused_and_of_a_dead_one_taken_over(tmp_path: Path, living: ExitStack) -> None:
    live(living, entry(tmp_path, "run7"))
    other = entry(tmp_path, "run7", "other")
    with pytest.raises(RequestError, match=r"a mover named run7 runs already, .*hint: give another --name"):
        register(other)
    living.close()
    register(other)
    assert ours(tmp_path) == [other]


def test_the_same_journal_under_a_new_name_loses_the_old_one(tmp_path: Path) -> None:
    register(entry(tmp_path, "old"))
    register(entry(tmp_path, "new"))
    assert [found.name for found in ours(tmp_path)] == ["new"]


def test_a_mover_whose_journal_is_gone_is_not_known_any_more(tmp_path: Path, runtime: Path) -> None:
    found = entry(tmp_path, "gone")
    register(found)
    found.state.rmdir()
    assert ours(tmp_path) == []
    register(entry(tmp_path, "new"))
    assert [path.name for path in runtime.glob("*.json")] == ["new.json"]


def test_forgetting_leaves_the_one_who_took_the_name_over(tmp_path: Path) -> None:
    first, second = entry(tmp_path, "run7"), entry(tmp_path, "run7", "other")
    register(first)
    register(second)
    forget(first)
    assert ours(tmp_path) == [second]


def test_a_mover_of_the_same_state_may_begin_again_under_its_name(tmp_path: Path, living: ExitStack) -> None:
    found = live(living, entry(tmp_path, "run7"))
    refuse_taken(found)


def test_a_second_mover_on_the_local_tree_of_a_living_one_is_refused_whatever_its_state(
    tmp_path: Path, living: ExitStack
) -> None:
    found = live(living, entry(tmp_path, "run7"))
    second = replace(found, name="second", state=tmp_path / "elsewhere", source=found.source / ".." / found.source.name)
    with pytest.raises(RequestError, match=r"mover run7 \(process 4711\) works on .* already"):
        refuse_taken(second)
    refuse_taken(replace(second, source=tmp_path / "third"))
    # Inputs may be read by many, and one tree may be filled by one mover and emptied by another.
    refuse_taken(replace(second, direction="in", to=found.source))


def test_a_name_is_the_directory_with_a_number_where_another_has_it(tmp_path: Path, living: ExitStack) -> None:
    assert name_of(Path("/local/run 7+x")) == "run-7-x"
    assert name_of(Path("/")) == "root"
    assert name_of(Path("/local/" + "long" * 60))[:8] == "longlong"
    live(living, entry(tmp_path, "run7"))
    with registered_name("run7", tmp_path / "free", numbered=True) as held:
        assert held == "run7-2"
        with registered_name("run7", tmp_path / "other", numbered=True) as other:
            assert other == "run7-3", "one that begins has its name before it answers"
            with (
                pytest.raises(RequestError, match=r"a mover named run7-2 runs already.*; hint: "),
                registered_name("run7-2", tmp_path / "third", numbered=False),
            ):
                pass
    with registered_name("run7", tmp_path / "free", numbered=True) as again:
        assert again == "run7-2"


def test_a_name_whose_holder_was_killed_is_free(tmp_path: Path, runtime: Path) -> None:
    script = (
        "import os\nfrom pathlib import Path\nfrom tonnage.staging.registered_movers import registered_name\n"
        f"with registered_name('run7', Path({str(tmp_path)!r}), numbered=False):\n    os.kill(os.getpid(), 9)\n"
    )
    assert subprocess.run([sys.executable, "-c", script], check=False).returncode == -9
    assert (runtime / "run7.lock").exists()
    with registered_name("run7", tmp_path / "free", numbered=False) as held:
        assert held == "run7"
    assert not (runtime / "run7.lock").exists()


@pytest.mark.parametrize("name", ["", ".hidden", "a/b", "../up", "a b", "x" * 65, "ä", "-dash", "a\n"])
def test_a_name_that_could_be_a_path_or_an_option_is_refused(name: str) -> None:
    with pytest.raises(RequestError, match="cannot be a mover's name"):
        check_name(name)


@pytest.mark.parametrize(
    "text", ["", "{", "[]", "{}", '{"name": "../x", "source": "", "to": "", "state": "", "pid": 1}']
)
def test_an_entry_that_is_damaged_is_passed_over(tmp_path: Path, runtime: Path, text: str) -> None:
    register(entry(tmp_path, "whole"))
    (runtime / "damaged.json").write_text(text)
    assert [found.name for found in ours(tmp_path)] == ["whole"]


def test_a_directory_that_others_can_write_is_neither_used_nor_read(tmp_path: Path, runtime: Path) -> None:
    register(entry(tmp_path, "run7"))
    runtime.chmod(0o770)
    assert ours(tmp_path) == []
    with pytest.raises(RequestError, match="only you can write"):
        register(entry(tmp_path, "run8"))


def test_a_link_in_the_place_of_the_directory_is_refused(tmp_path: Path, runtime: Path) -> None:
    (tmp_path / "elsewhere").mkdir(mode=0o700)
    runtime.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(RequestError, match="only you can write"):
        register(entry(tmp_path, "run7"))
