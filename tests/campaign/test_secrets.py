"""Whatever a user takes for the place of a key, a message does not repeat it."""

from __future__ import annotations

import pytest
from tonnage.campaign.target import parse_target
from tonnage.errors import RequestError

KEY = "AQBx5lVnAAAAABAAq0mEt7YdZ2pT1uQfL8kz9A=="


@pytest.mark.parametrize(
    ("uri", "said"),
    [
        (f"rados://client.admin:{KEY}@bench", "users and keys are no part"),
        (f"rados://{KEY}@bench", "users and keys are no part"),
        (f"rados://bench?user=client.admin:{KEY}", "its key is in the keyring"),
        (f"rados://bench?user={KEY}", "not the name of a Ceph user"),
        (f"rados://bench?key={KEY}", "has no 'key'"),
        (f"rados://bench?{KEY}", "has no such key"),
        (f"nfs://me:{KEY}@server/export", "and no user"),
        (f"s3://me:{KEY}@bucket", "keys are never part of it"),
        (f"s3://bucket?{KEY}", "has no such key"),
        (f"s3://bucket?profile={KEY}", "a name holds letters"),
        (f"s3://bucket?endpoint=http://me:{KEY}@host", "not the address of a service"),
    ],
)
def test_a_key_in_a_target_is_refused_and_not_repeated(uri: str, said: str) -> None:
    with pytest.raises(RequestError, match="hint") as error:
        parse_target(uri)
    assert said in str(error.value)
    assert KEY.rstrip("=") not in str(error.value) and "AQBx" not in str(error.value)


def test_a_user_of_ceph_has_a_type_and_a_name() -> None:
    assert (parse_target("rados://.rgw.root?user=client.rgw.eu-1").pool or {})["user"] == "client.rgw.eu-1"
    with pytest.raises(RequestError, match=r"write it like client\.admin"):
        parse_target("rados://bench?user=admin")
