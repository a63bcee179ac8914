"""``s3://`` as a target: what is taken from the URI and the environment, and what is never repeated."""

from __future__ import annotations

import pytest
from tonnage.campaign.target import parse_target
from tonnage.errors import RequestError


@pytest.fixture(autouse=True)
def no_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("AWS_REGION", "AWS_DEFAULT_REGION", "AWS_ENDPOINT_URL", "AWS_ENDPOINT_URL_S3"):
        monkeypatch.delenv(name, raising=False)


def bucket(uri: str) -> dict[str, object]:
    found = parse_target(uri).bucket
    assert found is not None
    return found


def test_amazon_is_asked_where_no_endpoint_is_named() -> None:
    assert bucket("s3://data?region=eu-north-1") == {
        "bucket": "data",
        "prefix": "",
        "endpoint": "https://s3.eu-north-1.amazonaws.com",
        "region": "eu-north-1",
        "part_bytes": 8 << 20,
        "path_style": False,
    }


def test_the_uri_goes_before_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_REGION", "there")
    monkeypatch.setenv("AWS_ENDPOINT_URL", "https://one.example")
    found = bucket("s3://data/a/b/?part=16MiB&profile=lab")
    assert (found["endpoint"], found["region"], found["path_style"]) == ("https://one.example", "there", True)
    assert (found["prefix"], found["part_bytes"], found["profile"]) == ("a/b", 16 << 20, "lab")
    monkeypatch.setenv("AWS_ENDPOINT_URL_S3", "https://two.example")
    assert bucket("s3://data")["endpoint"] == "https://two.example"
    found = bucket("s3://data?endpoint=http://[::1]:7070&path_style=no&region=here")
    assert (found["endpoint"], found["region"], found["path_style"]) == ("http://[::1]:7070", "here", False)


def test_the_run_has_a_prefix_of_its_own_below_the_given_one() -> None:
    for uri, prefix in (("s3://data/a", "a/tonnage-R"), ("s3://data", "tonnage-R")):
        spec = parse_target(uri).spec("posix", "auto", [], 1, run_id="R")
        assert spec["kind"] == "s3" and spec["s3"]["prefix"] == prefix


@pytest.mark.parametrize(
    "uri",
    [
        "s3://key:hush-hush@data",
        "s3://data?endpoint=http://key:hush-hush@host",
        "s3://data?endpoint=http://host/?secret=hush-hush",
        "s3://data?secret_key=hush-hush",
        "s3://data/../hush-hush",
        "s3://data/a//hush-hush",
        "s3://data/a%2fhush-hush",
        "s3:hush-hush",
        "s3://?endpoint=http://hush-hush",
        "s3://data?profile=hush hush-hush",
    ],
)
def test_what_is_refused_is_not_repeated(uri: str) -> None:
    with pytest.raises(RequestError) as refused:
        parse_target(uri)
    assert "hush-hush" not in str(refused.value) and "\n" not in str(refused.value)
