"""Calls, words and addresses that have no place in the repository."""

from __future__ import annotations

import ast
import re

import pytest

from .functions import rust_without_words
from .tree import ROOT, name, python_files, read, read_toml, rust_files, texts

SHELLS = {"os.system", "os.popen", "subprocess.getoutput", "subprocess.getstatusoutput"}
REMOVERS = {"shutil.rmtree", "os.removedirs"}
EVALUATORS = {"eval", "exec"}
UNLINKING_ROOMS = (
    "crates/storage/src/scratch/mod.rs",
    "crates/storage/src/scratch/directory.rs",
    "crates/storage/src/scratch/clearing.rs",
    "crates/storage/src/scratch/contents.rs",
    "crates/storage/src/snapshots/directory_snapshots.rs",
    "crates/storage/src/snapshots/subvolumes.rs",
    "crates/storage/src/scratch/mover_leftovers.rs",
    "crates/storage/src/fs/tree.rs",
    "crates/storage/src/fs/user_files.rs",
    "crates/storage/src/scratch/left_files.rs",
    "crates/mover/src/names.rs",
)
"""The only Rust files that take names out of a directory, relative to a handle, and only names this project made."""

_RUST_REMOVAL = re.compile(r"\b(?:remove_file|remove_dir|remove_dir_all|unlink|unlinkat|rmdir)\s*\(")
_RUST_EXCUSE = re.compile(r"(?:allow|expect)\s*\(\s*clippy::disallowed_methods")


def python_complaints(file: str, text: str, *, library: bool, removal_allowed: bool = False) -> list[str]:
    """Banned calls in a Python file; ``library``: code whose callers own stdout."""
    found = []
    for node in ast.walk(ast.parse(text)):
        if not isinstance(node, ast.Call):
            continue
        call = ast.unparse(node.func)
        if any(word.arg == "shell" and not _is_false(word.value) for word in node.keywords):
            found.append(f"{file}:{node.lineno}: shell=…: pass a list of arguments")
        if call in SHELLS:
            found.append(f"{file}:{node.lineno}: {call} starts a shell")
        if call in EVALUATORS:
            found.append(f"{file}:{node.lineno}: {call} runs what someone typed")
        if call in REMOVERS and not removal_allowed:
            found.append(f"{file}:{node.lineno}: {call} removes what it finds; remove by name what was made")
        if call == "print" and library:
            found.append(f"{file}:{node.lineno}: print in a library room; return a value, and let cli print it")
    return found


def _is_false(value: ast.expr) -> bool:
    return isinstance(value, ast.Constant) and value.value is False


def rust_complaints(file: str, text: str) -> list[str]:
    """Removals outside the room for them, and lints switched off to get around ``clippy.toml``."""
    found = []
    tests_from = text.find("#[cfg(test)]")
    for number, line in enumerate(rust_without_words(text).splitlines(), 1):
        if _RUST_EXCUSE.search(line):
            found.append(f"{file}:{number}: the ban in clippy.toml has no exceptions here; go through Scratch")
        in_tests = tests_from >= 0 and text.count("\n", 0, tests_from) < number
        if _RUST_REMOVAL.search(line) and "fn " not in line and not in_tests and not file.startswith(UNLINKING_ROOMS):
            found.append(f"{file}:{number}: only Scratch takes names out of a directory")
    return found


_HASHES = re.compile(r"\b(?:blake3::|Hasher\b)")
HASHING_ROOM = "crates/mover/src/bytes/"
"""The only part of the mover that hashes: what is staged is read, hashed and compared by one code."""


def hash_complaints(file: str, text: str) -> list[str]:
    """Hashes that a file of the mover takes by hand; its tests may."""
    if not file.startswith("crates/mover/src/") or file.startswith(HASHING_ROOM) or "tests" in file:
        return []
    code = rust_without_words(text.partition("#[cfg(test)]\nmod tests {")[0])
    lines = enumerate(code.splitlines(), 1)
    return [f"{file}:{number}: only {HASHING_ROOM} hashes" for number, line in lines if _HASHES.search(line)]


# Spelled in two halves so that this file does not hold what it looks for.
_UNFINISHED = re.compile(r"\b(?:" + "|".join(("TO" + "DO", "FIX" + "ME", "XX" + "X", "HA" + "CK")) + r")\b")
_REGISTRY = re.compile(
    r"https?://[^\s\"'<>)]*\b(?:pypi|pythonhosted|crates|npmjs|yarnpkg|rubygems|anaconda|proxy\.golang|maven)\.?(?:org|io|com)?\b"
)
_COMMON_PARENTS = {"/", "/tmp", "/var/tmp", "/home", "/opt", "/srv", "/mnt", "/usr/src", "/data", "/builds"}
LOCK_SOURCE = "registry+https://github.com/rust-lang/" + "crates" + ".io-index"


def machine_paths(checkout: str) -> re.Pattern[str]:
    """Paths that exist on one machine only: home directories, and where this checkout happens to be."""
    parent = checkout.rsplit("/", 1)[0] or "/"
    private = [re.escape(checkout)] + ([] if parent in _COMMON_PARENTS else [re.escape(parent) + "/"])
    homes = [re.escape("/" + "root/"), re.escape("/" + "home/") + r"\w", re.escape("/" + "Users/") + r"\w"]
    return re.compile(r"(?<![\w.$}])(?:" + "|".join(private + homes) + ")")


def word_complaints(file: str, text: str, paths: re.Pattern[str]) -> list[str]:
    """Unfinished business, registries and machine paths in any text."""
    found = []
    for number, line in enumerate(text.splitlines(), 1):
        if match := _UNFINISHED.search(line):
            found.append(f"{file}:{number}: {match.group()}: finish it or open an issue")
        if match := _REGISTRY.search(line):
            found.append(f"{file}:{number}: {match.group()}: name the package, not where one gets it")
        if match := paths.search(line):
            found.append(f"{file}:{number}: {match.group()}: a path of one machine")
    return found


def test_no_python_file_calls_what_is_banned() -> None:
    complaints = []
    for path in python_files():
        file = name(path)
        library = file.startswith("python/tonnage/") and not file.startswith("python/tonnage/cli/")
        complaints += python_complaints(file, read(path), library=library)
    assert not complaints, "\n".join(complaints)


def test_no_rust_file_removes_anything_but_in_scratch() -> None:
    complaints = [line for path in rust_files() for line in rust_complaints(name(path), read(path))]
    assert not complaints, "\n".join(complaints)


def test_the_mover_hashes_in_one_room() -> None:
    complaints = [line for path in rust_files() for line in hash_complaints(name(path), read(path))]
    assert not complaints, "\n".join(complaints)


def test_the_hash_check_sees_a_hash_by_hand_and_lets_tests_take_one() -> None:
    text = 'fn sum() { blake3::hash(b"") }\n#[cfg(test)]\nmod tests {\n    fn sum() { blake3::hash(b"") }\n}\n'
    assert hash_complaints("crates/mover/src/copy/batch.rs", text) == [
        f"crates/mover/src/copy/batch.rs:1: only {HASHING_ROOM} hashes"
    ]
    assert not hash_complaints("crates/mover/src/bytes/mod.rs", text)


def test_clippy_denies_what_it_bans() -> None:
    assert read_toml(ROOT / "Cargo.toml")["workspace"]["lints"]["clippy"]["disallowed_methods"] == "deny"
    banned = {entry["path"] for entry in read_toml(ROOT / "clippy.toml")["disallowed-methods"]}
    assert {"std::fs::remove_file", "std::fs::remove_dir", "std::fs::remove_dir_all", "std::fs::rename"} <= banned


def test_nothing_is_left_unfinished_and_no_text_names_a_machine_or_a_registry() -> None:
    paths = machine_paths(str(ROOT))
    complaints = [
        line for path in texts() if path.suffix != ".lock" for line in word_complaints(name(path), read(path), paths)
    ]
    assert not complaints, "\n".join(complaints)


def test_locked_crates_come_from_the_public_index() -> None:
    packages = read_toml(ROOT / "Cargo.lock")["package"]
    assert {package.get("source", LOCK_SOURCE) for package in packages} == {LOCK_SOURCE}


@pytest.mark.parametrize(
    "text",
    [
        "subprocess.run(line, shell=True)",
        "subprocess.run(line, shell=flag)",
        "os.system('sync')",
        "shutil.rmtree(path)",
        "eval(text)",
        "print('done')",
    ],
)
def test_the_python_ban_sees_each_call(text: str) -> None:
    assert python_complaints("f.py", text, library=True)


def test_the_python_ban_knows_a_method_and_an_owner_of_stdout() -> None:
    assert not python_complaints("f.py", "pattern.eval(x)\nconsole.print(x)\nrun(argv, shell=False)", library=True)
    assert not python_complaints("cli/f.py", "print(x)", library=False)


def test_the_rust_ban_sees_a_removal_and_an_excuse_but_not_a_comment() -> None:
    assert rust_complaints("crates/engine/src/lib.rs", "std::fs::remove_file(path)?;")
    assert rust_complaints("crates/engine/src/lib.rs", "#[allow(clippy::disallowed_methods)]")
    assert not rust_complaints("crates/engine/src/lib.rs", "// remove_file(path) would be wrong here")
    assert not rust_complaints("crates/storage/src/scratch/mod.rs", "unlinkat(&self.directory, name)?;")


def test_the_word_check_sees_each_kind() -> None:
    paths = machine_paths("/builds/someone/checkout")
    planted = [
        "# TO" + "DO: later",
        "see https://" + "pypi.org/simple",
        "cd /builds/some" + "one/checkout && make",
        "../builds and /builds/some" + "one/other",
        "/ro" + "ot/.cache",
        "/ho" + "me/alice/data",
    ]
    assert [len(word_complaints("f", line, paths)) for line in planted] == [1] * len(planted)
    harmless = ["mounted on /home", "a/home/x", "$HOME/.cargo", "/builds", "https://rustup.rs", "mastodon", "/tmp/x"]
    assert not [line for line in harmless if word_complaints("f", line, paths)]
