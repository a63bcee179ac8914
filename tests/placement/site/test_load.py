"""The site file: which files count, who wins, and one line for every mistake."""

from __future__ import annotations

import os
import re
import time
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tonnage.errors import RequestError
from tonnage.placement.site import DOCUMENT, Policy, Site, load_site, read_site

SERVER = '[[server]]\nname = "rcss1"\naliases = ["10.0.0.5"]\nhosts = ["io1", "io2"]\nslots = 8\n'


@pytest.fixture(autouse=True)
def places(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Path]:
    """A system, a user and a project of the test's own."""
    found = {"system": tmp_path / "etc", "user": tmp_path / "config" / "tonnage", "project": tmp_path / "project"}
    for directory in found.values():
        directory.mkdir(parents=True)
    monkeypatch.setenv("TONNAGE_SYSTEM_CONFIG", str(found["system"]))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    return found


def write(directory: Path, text: str) -> Path:
    file = directory / "tonnage.toml"
    file.write_text(text, encoding="utf-8")
    return file


def refusal(directory: Path, text: str) -> str:
    file = write(directory, text)
    with pytest.raises(RequestError) as caught:
        load_site(directory)
    assert "\n" not in str(caught.value)
    return str(caught.value).replace(str(file), "tonnage.toml")


def test_without_a_file_there_are_the_defaults(places: dict[str, Path]) -> None:
    assert load_site(places["project"]) == Site()


def test_a_file_says_servers_sizes_times_and_rates(places: dict[str, Path]) -> None:
    write(
        places["project"],
        f'scheduler = "slurm"\n{SERVER}indices = "http://io1:9100/metrics"\n'
        '[server.line]\ntasks = 8\nplateau = "2GB/s"\n'
        '[[access]]\nservers = ["rcss*"]\nbandwidth = "1GB/s"\nlatency = "50us"\n'
        '[policy]\nlocal_wait = "2m"\ncpu_bound_below = "5%"\nreference_bytes = "2GB"\n',
    )
    site = load_site(places["project"])
    server = site.named("10.0.0.5")
    assert server is not None and server.hosts == ("io1", "io2") and server.line is not None
    assert (server.line.tasks, server.line.plateau) == (8, 2 * 10**9)
    assert (site.access[0].bandwidth, site.access[0].latency) == (10**9, 50_000)
    policy = site.policy
    assert (policy.local_wait, policy.cpu_bound_below, policy.reference_bytes) == (120 * 10**9, 0.05, 2 * 10**9)
    assert policy.decay == Policy().decay


def test_the_nearer_file_wins_key_by_key(places: dict[str, Path]) -> None:
    write(places["system"], f'lines = "/far"\nscheduler = "lsf"\n{SERVER}[policy]\ndecay = "5s"\nindex_age = "7s"\n')
    write(places["user"], '[[server]]\nname = "rcss1"\nslots = 4\n[policy]\ndecay = "6s"\n')
    write(places["project"], 'scheduler = "local"\n[[server]]\nname = "mine"\n')
    site = load_site(places["project"])
    assert (site.scheduler, site.lines) == ("local", "/far")
    assert [server.name for server in site.server] == ["rcss1", "mine"]
    assert (site.server[0].slots, site.server[0].hosts) == (4, ("io1", "io2"))
    assert (site.policy.decay, site.policy.index_age) == (6 * 10**9, 7 * 10**9)


def test_the_nearer_files_links_are_looked_at_first(places: dict[str, Path]) -> None:
    write(places["system"], '[[access]]\nbandwidth = "1GB/s"\n')
    write(places["project"], '[[access]]\nhosts = ["far*"]\nbandwidth = "10MB/s"\n[[access]]\nbandwidth = "2GB/s"\n')
    assert [one.bandwidth for one in load_site(places["project"]).access] == [10**7, 2 * 10**9, 10**9]


def test_each_value_knows_where_it_was_written(places: dict[str, Path]) -> None:
    system = write(places["system"], f"{SERVER}[policy]\ndecay = '5s'\n")
    user = write(places["user"], '[[server]]\nname = "other"\n[[server]]\nname = "rcss1"\n\nslots = 4\n')
    loaded = read_site(places["project"])
    assert loaded.origin("slots", server="rcss1") == f"{user}:6"
    assert loaded.origin("hosts", server="rcss1") == f"{system}:4"
    assert loaded.origin("policy", "decay") == f"{system}:7"
    assert loaded.origin("policy", "index_age") is None
    assert loaded.origin("licence", server="rcss1") is None


def test_a_project_is_looked_for_upwards_and_a_file_that_is_named_is_the_only_one(places: dict[str, Path]) -> None:
    write(places["system"], 'lines = "/far"\n')
    write(places["project"], 'scheduler = "slurm"\n')
    deep = places["project"] / "a" / "b"
    assert load_site(deep).scheduler == "slurm"  # though it is not there yet
    deep.mkdir(parents=True)
    assert load_site(deep).scheduler == "slurm"
    alone = write(deep, 'scheduler = "pbs"\n')
    assert (load_site(Path("/"), alone).scheduler, load_site(Path("/"), alone).lines) == ("pbs", None)
    with pytest.raises(RequestError, match=r"cannot read .*hint: give the path of a site file"):
        load_site(deep, deep / "none.toml")


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files away")
def test_a_project_file_of_another_user_does_not_count_and_is_told_of(
    places: dict[str, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    file = write(places["project"], 'scheduler = "slurm"\n')
    os.chown(file, 12345, -1)
    loaded = read_site(places["project"])
    assert loaded.site == Site()
    (told,) = loaded.passed_over
    assert f"{file} does not count here: it belongs to another user; hint: --site {file} " in told
    os.chown(places["project"], 12345, -1)
    assert load_site(places["project"]) == Site(), "their file in their directory is theirs as well"
    assert f"TONNAGE_TRUSTED={places['project']}" in told
    monkeypatch.setenv("TONNAGE_TRUSTED", f"/elsewhere:{places['project']}")
    assert load_site(places["project"]).scheduler == "slurm"


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files away")
@pytest.mark.parametrize("between", [False, True])
def test_a_link_of_another_user_does_not_count_whoever_owns_what_it_leads_to(
    places: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, between: bool
) -> None:
    mine = tmp_path / "mine.toml"
    mine.write_text('scheduler = "slurm"\n', encoding="utf-8")
    link = places["project"] / "tonnage.toml"
    theirs = places["project"] / "theirs" if between else link
    theirs.symlink_to("../mine.toml")
    if between:
        link.symlink_to("theirs")
    assert load_site(places["project"]).scheduler == "slurm", "a link of one's own"
    os.chown(theirs, 12345, -1, follow_symlinks=False)
    loaded = read_site(places["project"])
    assert loaded.site == Site()
    assert f"{link} does not count here: {theirs} is a link of another user's" in loaded.passed_over[0]
    monkeypatch.setenv("TONNAGE_TRUSTED", str(places["project"]))
    assert load_site(places["project"]).scheduler == "slurm"


@pytest.mark.parametrize("key", [".".join(["a"] * 20_000), " . ".join(['"a b"'] * 40), f"[{'.'.join(['a'] * 40)}]"])
def test_a_key_of_many_parts_is_refused_before_it_is_parsed(
    places: dict[str, Path], monkeypatch: pytest.MonkeyPatch, key: str
) -> None:
    tomllib = pytest.importorskip("tomllib", reason="Python 3.10 has no parser of its own")

    def parse(text: str) -> dict[str, Any]:
        raise AssertionError(f"{len(text)} characters reached the parser")

    monkeypatch.setattr(tomllib, "loads", parse)
    said = refusal(places["project"], f"# a line\n{key}{'' if key[0] == '[' else ' = 1'}\n")
    assert said.startswith("tonnage.toml:2: a key of more than 32 parts; hint: ")


@given(st.text(alphabet="ab.-\"' \t\n[]=", max_size=60))
def test_a_short_text_has_no_key_of_many_parts(text: str) -> None:
    try:
        DOCUMENT.parse(text, "x")
    except RequestError as error:
        assert "more than 32 parts" not in str(error) or text.count(".") >= 32


def test_a_project_file_that_everybody_may_write_does_not_count(places: dict[str, Path]) -> None:
    file = write(places["project"], 'scheduler = "slurm"\n')
    file.chmod(0o666)
    assert "everybody may write it" in read_site(places["project"]).passed_over[0]
    assert load_site(places["project"]) == Site()


def test_the_users_file_counts_once_where_it_is_the_projects_too(places: dict[str, Path]) -> None:
    write(places["user"], '[[access]]\nbandwidth = "1GB/s"\n')
    assert len(load_site(places["user"]).access) == 1


def test_a_removed_working_directory_leaves_the_other_files(
    places: dict[str, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    write(places["user"], 'scheduler = "slurm"\n')
    gone = places["project"] / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    assert load_site(Path()).scheduler == "slurm"


B = "[[server]]\nname = 'b'\n"
WRONG = {
    f"{B}[[server]]\nhosts = ['c']\n": "3: server.name is missing; hint: add name",
    f"{B}[[server]]\nname = 'c'\nhots = []\n": "5: unknown key 'hots' in [server]; hint: did you mean 'hosts'?",
    f"{B}[server.line]\ntasks=1\n[[server]]\nname='c'\n[server.line]\ntasks=0\n": "8: server.line.tasks: ",
    f"{B}[server.line]\ntask=1\n": "4: unknown key 'task' in [server.line]; hint: did you mean 'tasks'?",
    "[policy]\nlocal_wait = 60\n": '2: policy.local_wait: 60 has no unit; hint: write it like "60s"',
    "[policy]\ndecay = 'soon'\n": "2: policy.decay: 'soon' is not a time; hint: ",
    "[[access]]\nlatency = '1ms'\n": "1: access.bandwidth is missing; hint: add bandwidth",
    "scheduler = 'slrum'\n": "1: scheduler: 'slrum' is no scheduler; hint: they are auto, slurm",
    "sheduler = 'slurm'\n": "1: unknown key 'sheduler'; hint: did you mean 'scheduler'?",
    "[[server]\n": " ",
    "lines = 'here'\n": "1: lines: 'here' depends on where somebody is; hint: begin it with /",
    '[[server]]\nname = "a\\nb"\n': "2: server.name: ",
    "server = 3\n": "1: server: input should be a valid tuple; hint: see `tonnage explain site-file`",
    SERVER + SERVER: "7: server 'rcss1' is there twice; hint: make one [[server]] of the two",
    f"{SERVER}{B}aliases = ['10.0.0.5']\n": (
        "8: '10.0.0.5' stands for server 'b', and at tonnage.toml:3 for 'rcss1'; hint: "
    ),
}


def test_several_servers_may_hold_the_same(places: dict[str, Path]) -> None:
    places["project"].joinpath("tonnage.toml").write_text(
        f"{B}holds = ['/x']\n[[server]]\nname = 'c'\nholds = ['/x']\n"
    )
    assert [server.holds for server in load_site(places["project"]).server] == [("/x",), ("/x",)]


@pytest.mark.parametrize(("text", "said"), WRONG.items())
def test_a_mistake_is_one_line_with_its_place(places: dict[str, Path], text: str, said: str) -> None:
    assert refusal(places["project"], text).startswith(f"tonnage.toml:{said}")


@pytest.mark.parametrize(
    "entry",
    [
        "hosts = ['-w']",
        "hosts = ['a,b']",
        "hosts = ['']",
        "hosts = ['a\\tb']".replace("'", '"'),
        "queue = '--wrap=id'",
        "licence = 'a b'",
        "indices = 'ssh:-oProxyCommand=id'",
        "indices = 'ssh:me@-oProxyCommand=id'",
        "indices = 'file:/etc/passwd'",
        "indices = 'http://h:9100/a b'",
    ],
)
def test_no_value_can_pass_for_an_option_of_a_tool(places: dict[str, Path], entry: str) -> None:
    assert refusal(places["project"], f"[[server]]\nname = 'a'\n{entry}\n").startswith("tonnage.toml:3: server.")


@pytest.mark.parametrize("source", ["proc:", "ssh:me@io1.site", "http://[::1]:9100/metrics", "https://io1/metrics?x=1"])
def test_sources_of_indices_are_taken(places: dict[str, Path], source: str) -> None:
    write(places["project"], f"[[server]]\nname = 'a'\nindices = '{source}'\n")
    assert load_site(places["project"]).server[0].indices == source


def test_an_alias_may_move_to_another_server_in_a_nearer_file(places: dict[str, Path]) -> None:
    write(places["system"], SERVER)
    write(places["project"], "[[server]]\nname='b'\naliases=['10.0.0.5']\n[[server]]\nname='rcss1'\naliases=[]\n")
    server = load_site(places["project"]).named("10.0.0.5")
    assert server is not None and server.name == "b"


def test_a_site_of_twelve_servers_is_read_within_20_ms(places: dict[str, Path]) -> None:
    text = "".join(SERVER.replace("rcss1", f"rcss{n}").replace("10.0.0.5", f"10.0.0.{n}") for n in range(12))
    write(places["system"], text)

    def once() -> float:
        began = time.perf_counter()
        load_site(places["project"])
        return time.perf_counter() - began

    assert min(once() for _ in range(5)) < 0.020


def test_the_example_of_the_page_is_a_site_and_its_schema_allows_it(places: dict[str, Path]) -> None:
    page = Path(__file__).parents[3] / "docs" / "site-file.md"
    (example,) = re.findall(r"^```toml\n(.*?)^```", page.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    write(places["project"], example)
    site = load_site(places["project"])
    assert [server.name for server in site.server] == ["rcss1", "scratch"]
    schema = Site.model_json_schema()
    jsonschema.Draft202012Validator.check_schema(schema)
    jsonschema.validate(DOCUMENT.parse(example, ""), schema)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({"servr": []}, schema)


@given(st.text(max_size=80))
def test_any_text_is_a_site_or_a_request_error(text: str) -> None:
    try:
        data = DOCUMENT.parse(text, "tonnage.toml")
        Site.model_validate(data, context={"written": True})
    except RequestError as error:
        assert str(error).startswith("tonnage.toml")
    except ValueError as error:
        assert DOCUMENT.explain(error, "tonnage.toml", text).startswith("tonnage.toml")  # type: ignore[arg-type]
