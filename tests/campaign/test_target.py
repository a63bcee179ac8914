"""What a target's text means."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tonnage import _native
from tonnage.campaign.campaign_file import parse_campaign
from tonnage.campaign.model import Campaign
from tonnage.campaign.plan import target_of
from tonnage.campaign.target import parse_target
from tonnage.errors import RequestError


def test_a_model_is_read_in_its_units() -> None:
    target = parse_target("sim:knee=8,plateau=2GB/s,noise=20%,stall=1s,direct=yes")
    assert target.models[0] == {
        "knee": 8,
        "plateau_bytes_per_s": 2 * 10**9,
        "noise": 0.2,
        "stall_ns": 10**9,
        "direct": True,
    }
    assert target.spec("posix", "auto", (), 5) == {"kind": "sim", "seed": 5, **target.models[0]}


def test_a_model_has_curves_whose_truth_can_be_asked_for() -> None:
    def knee(text: str, most: int) -> int:
        shares = _native.sim_shares(json.dumps(parse_target(f"sim:{text}").models[0]), most)
        assert len(shares) == most
        return next(tasks for tasks, share in enumerate(shares, 1) if share >= 0.95 * max(shares))

    assert knee("knee=8,noise=20%", 64) == 8
    assert knee("knee=8,creep=4%", 128) == 52
    assert knee("knee=8,dip=30%,dip-from=12,dip-to=20,odd-loss=10%", 64) == 8
    assert knee("curve=4:50%/16:50%/20:100%", 64) == 20
    assert knee("queues=8", 32) == 25
    assert knee("queues=8,queue-demand=50%", 128) < knee("queues=8", 128) == 64
    assert knee("contention=2%,coherency=0.1%", 200) == 22
    assert knee("power=0.1", 128) == 77
    with pytest.raises(ValueError, match="power is 3"):
        knee("power=3", 4)


def test_a_model_without_a_plateau_has_no_knee() -> None:
    assert parse_target("sim:knee=none").models == ({"knee": None},)


def test_a_list_of_models_is_one_target_whose_devices_they_are() -> None:
    target = parse_target(["sim:node-plateau=2GB/s,plateau=none", "sim:node-plateau=13GB/s,plateau=1TB/s"])
    assert target.scheme == "sim" and len(target.models) == 2
    own, shared = (target.spec("posix", "auto", (), 5, device=number) for number in (0, 1))
    assert own == {"kind": "sim", "seed": 5, "node_plateau_bytes_per_s": 2 * 10**9, "plateau_bytes_per_s": None}
    assert shared["plateau_bytes_per_s"] == 10**12
    alone = parse_target("sim:knee=4")
    assert alone.spec("posix", "auto", (), 5, device=1)["knee"] == 4, "one model stands for all devices"
    with pytest.raises(RequestError, match="a list of targets holds directories, not sim:"):
        parse_target(["sim:", "/a"])


def test_a_path_is_made_absolute_and_keeps_its_colon() -> None:
    assert parse_target("a:b").path == Path.cwd() / "a:b"
    assert parse_target("/x").spec("posix", "yes", [Path("/x/s")], 1) == {
        "kind": "posix",
        "directories": ["/x/s"],
        "direct": "yes",
    }


def campaign(text: str) -> Campaign:
    return parse_campaign(text, "c.toml")


def test_a_list_of_directories_is_one_target_of_several_devices() -> None:
    target = target_of(campaign('target = ["/a", "/b"]\nassign = [1, 0, 1]\n'))
    assert target.name == "/a, /b"
    assert target.spec("uring", "auto", [Path("/a/s"), Path("/b/s")], 1) == {
        "kind": "uring",
        "direct": "auto",
        "directories": ["/a/s", "/b/s"],
        "assign": [1, 0, 1],
    }
    plain = target_of(campaign('target = ["/a", "/b"]\n'))
    assert plain.spec("posix", "no", [Path("/a/s"), Path("/b/s")], 1, devices=1)["directories"] == ["/a/s"]
    assert target_of(campaign('target = ["null:"]\n')).scheme == "null"
    with pytest.raises(RequestError, match="a list of targets holds directories, not null:"):
        target_of(campaign('target = ["/a", "null:"]\n'))


def test_files_are_counted_where_they_will_be() -> None:
    target = target_of(campaign('target = ["/a", "/b", "/c"]\n'))
    assert target.files_in(8) == [3, 3, 2]
    assert target.files_in(8, 2) == [4, 4, 0]
    assert target.files_in(1) == [1, 0, 0]
    pinned = target_of(campaign('target = ["/a", "/b"]\nassign = [1, 1, 0]\n'))
    assert pinned.files_in(7) == [2, 5]


def test_files_named_by_the_user_are_the_target() -> None:
    text = 'target = "/x"\nfile_names = ["/a/f0", "/b/f1", "f2"]\nexisting = "ours"\nkeep = true\n'
    target = target_of(campaign(text))
    assert target.paths == (Path("/a"), Path("/b"), Path.cwd())
    assert target.spec("posix", "auto", (), 1, run_id="r1") == {
        "kind": "posix",
        "direct": "auto",
        "names": ["/a/f0", "/b/f1", str(Path.cwd() / "f2")],
        "existing": "ours",
        "keep": True,
        "run_id": "r1",
    }
    assert target.files_in(2) == [1, 1, 0]
    assert target_of(campaign('target = "sim:knee=2"\nfile_names = ["/a/f0"]\n')).spec("posix", "no", (), 1) == {
        "kind": "sim",
        "seed": 1,
        "knee": 2,
    }


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("keep = true", "keep is about file_names, and there are none"),
        ('existing = "ours"', "existing is about file_names"),
        ('file_names = ["/a/f"]\nassign = [0]', "keep one of them"),
        ("assign = []", "assign"),
        ("assign = [-1]", "assign"),
        ("[stripe]", "says nothing"),
        ('[stripe]\nosts = [1]\npool = "fast"', "keep one of them"),
        ('[stripe]\npool = "fast; rm"', "stripe.pool"),
        ("[stripe]\nosts = [1]\nstart = 2", "keep one of them"),
        ("[workload]\nspread = '1MiB'", "spread is about file_names"),
        ("keep_damaged = true", "keep_damaged is about file_names"),
    ],
)
def test_keys_of_a_target_that_contradict_are_refused(text: str, said: str) -> None:
    with pytest.raises(RequestError, match=said):
        campaign(f'target = "/x"\n{text}\n')


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("sim:kne=3", "did you mean 'knee'"),
        ("sim:knee", "has no value"),
        ("sim:foo=3", "known keys are knee, plateau, "),
        ("sim:foo=3", ", seed, name"),
        ("sim:name=a b", "sim: name: a name holds letters, digits and . _ -"),
        ("sim:knee=1,knee=2", "given twice"),
        ("sim:knee=0", "above 0"),
        ("sim:noise=nan", "not a number"),
        ("null:x", "known keys are create"),
        ("null:close", "has no value"),
        ("null:task=-1", "above 0"),
        ("memory:4", "takes nothing"),
        ("sim:plateau=fast", "not a size"),
        ("sim:curve=4", "no share for each number"),
        ("sim:curve=4:50%/", "no share for each number"),
        ("sim:curve=4:half", "not a number"),
        ("sim:curve=x:50%", "above 0"),
        ("sim:queues=0", "above 0"),
    ],
)
def test_a_wrong_target_says_what_to_do(text: str, said: str) -> None:
    with pytest.raises(RequestError, match=said) as caught:
        parse_target(text)
    assert "hint: " in str(caught.value)


@given(st.text(max_size=20), st.booleans())
def test_any_text_is_a_target_or_a_request_error(text: str, model: bool) -> None:
    try:
        parse_target(f"sim:{text}" if model else text)
    except RequestError as error:
        assert "hint: " in str(error)


def test_a_null_target_takes_delays_and_hands_them_to_the_storage() -> None:
    target = parse_target("null:create=20ms, transfer=100us,task=0")
    spec = target.spec("posix", "no", [], 1)
    assert spec == {"kind": "null", "delays": {"create_ns": 20_000_000, "transfer_ns": 100_000, "task": 0}}
    assert parse_target("null:").spec("posix", "no", [], 1) == {"kind": "null"}


def test_an_export_is_a_server_and_a_path() -> None:
    target = parse_target("nfs://fs1/export/scratch?rsize=64KiB&wsize=1MiB&port=2049&mountport=20048")
    export = {"server": "fs1", "path": "/export/scratch", "rsize": 65536, "wsize": 1 << 20}
    assert target.export == {**export, "port": 2049, "mount_port": 20048}
    assert target.spec("posix", "auto", (), 1, run_id="r1") == {"kind": "nfs", "nfs": target.export, "run_id": "r1"}
    assert parse_target("nfs://[fd00::1]/x").export == {"server": "fd00::1", "path": "/x"}


@pytest.mark.parametrize(
    ("uri", "said"),
    [
        ("nfs:fs1/export", "write nfs://SERVER/PATH"),
        ("nfs://fs1", "write nfs://SERVER/PATH"),
        ("nfs://fs1/", "write nfs://SERVER/PATH"),
        ("nfs:///export", "write nfs://SERVER/PATH"),
        ("nfs://fs1/x?port=65536", "no port"),
        ("nfs://fs1/x?rsize=1", "between 1KiB and 1GiB"),
        ("nfs://fs1/x?version=4", "has no 'version'"),
    ],
)
def test_what_names_no_export_is_refused(uri: str, said: str) -> None:
    with pytest.raises(RequestError, match=said):
        parse_target(uri)


@pytest.mark.parametrize(
    ("uri", "said"),
    [
        ("rados://bench?object=0", "an object has at least one byte"),
        ("rados://bench?timeout=0s", "a server needs some time to answer"),
        ("rados://bench?write_once=often", "'often' is not yes or no"),
        ("rados://bench/object", "names a pool and nothing in it"),
        ("s3://b", "two or more letters"),
        ("rados://bench?conf=", "conf has no value"),
        ("nfs://server:2049/export", "write nfs://SERVER/PATH?port=2049"),
    ],
)
def test_what_a_service_cannot_be_asked_for_is_refused_before_it_is_asked(uri: str, said: str) -> None:
    with pytest.raises(RequestError, match="hint") as error:
        parse_target(uri)
    assert said in str(error.value)


def test_an_address_with_colons_is_no_name_with_a_port() -> None:
    assert (parse_target("nfs://[fe80::1]/export").export or {})["server"] == "fe80::1"
