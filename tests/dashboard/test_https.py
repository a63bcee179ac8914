"""https, as a user starts it: what is served, who is waited for, and which certificates and keys are refused."""

from __future__ import annotations

import contextlib
import http.client
import os
import shutil
import socket
import ssl
import subprocess
from collections.abc import Callable
from pathlib import Path

import live_page
import pytest

Serving = Callable[..., live_page.Served]
HERE = "127.0.0.1"
PLAIN = "plain text that anybody on the way can read"


def make(place: Path, name: str, *kind: str) -> tuple[Path, Path]:
    """A certificate that vouches for itself, and its key."""
    if not (openssl := shutil.which("openssl")):
        pytest.skip("openssl is not installed")
    certificate, key = place / f"{name}.pem", place / f"{name}.key"
    subject = ["-subj", f"/CN={name}", "-addext", f"subjectAltName=IP:{HERE}"]
    files = ["-keyout", str(key), "-out", str(certificate)]
    argv = [openssl, "req", "-x509", *(kind or ("-newkey", "rsa:2048")), "-nodes", "-days", "2", *subject, *files]
    subprocess.run(argv, check=True, capture_output=True, timeout=live_page.LIMIT_S)
    key.chmod(0o600)
    return certificate, key


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    return make(tmp_path_factory.mktemp("tls"), "one")


class Client:
    """Trusts one certificate and nothing else."""

    def __init__(self, port: int, certificate: Path) -> None:
        self._port = port
        self._tls = ssl.create_default_context(cafile=str(certificate))

    def connected(self) -> socket.socket:
        """Without a handshake."""
        return socket.create_connection((HERE, self._port), timeout=live_page.LIMIT_S)

    def shaken(self, connection: socket.socket) -> ssl.SSLSocket:
        return self._tls.wrap_socket(connection, server_hostname=HERE)

    def get(self, path: str) -> tuple[http.client.HTTPConnection, http.client.HTTPResponse, str]:
        asking = http.client.HTTPSConnection(HERE, self._port, timeout=live_page.LIMIT_S, context=self._tls)
        asking.request("GET", path)
        answer = asking.getresponse()
        return asking, answer, answer.read().decode()


def at_end(connection: socket.socket) -> bool:
    with contextlib.suppress(ConnectionResetError, ssl.SSLEOFError):
        return connection.recv(1) == b""
    return True


def test_with_a_certificate_pages_come_over_https_and_the_cookie_goes_nowhere_else(
    runs: Path, serving: Serving, made: tuple[Path, Path]
) -> None:
    served = serving("--host", "0.0.0.0", "--certificate", made[0], "--key", made[1], runs)
    assert served.address.startswith("https://")
    client = Client(served.port, made[0])
    asking, answer, _ = client.get(f"/?{served.query}")
    cookie = answer.headers["set-cookie"]
    assert answer.status == 303 and "Secure" in cookie
    asking.request("GET", "/", headers={"Cookie": cookie.partition(";")[0]})
    page = asking.getresponse()
    assert page.status == 200 and "<html" in page.read().decode()
    asking.close()
    with pytest.raises((http.client.HTTPException, OSError)):
        served.get("/")
    code, said = served.end()
    assert code == 0 and PLAIN not in said and "Traceback" not in said, said


def test_the_key_may_be_in_the_certificates_file(
    runs: Path, serving: Serving, made: tuple[Path, Path], tmp_path: Path
) -> None:
    both = tmp_path / "both.pem"
    both.touch(0o600)
    both.write_text(made[0].read_text() + made[1].read_text())
    served = serving("--certificate", both, runs)
    asking, answer, page = Client(served.port, made[0]).get("/")
    asking.close()
    assert served.address.startswith("https://127.0.0.1:") and answer.status == 200 and "<html" in page


def test_who_keeps_a_handshake_to_himself_blocks_nobody_and_is_dropped(
    runs: Path, serving: Serving, made: tuple[Path, Path]
) -> None:
    """In order: one without a handshake, one with a late one, and one whose handshake is at once are each dropped the
    same time after they came. A limit of its own for the handshake would let the first two outlive the third."""
    served = serving("--certificate", made[0], "--key", made[1], runs)
    client = Client(served.port, made[0])
    with client.connected() as silent, client.connected() as waits:
        asking, answer, page = client.get("/")
        assert answer.status == 200 and "<html" in page
        # The server closes what is idle after half that time.
        assert asking.sock is not None and at_end(asking.sock)
        asking.close()
        with client.shaken(client.connected()) as prompt:
            client.get("/")[0].close()
            with client.shaken(waits) as late:
                assert at_end(prompt)
                silent.settimeout(0)
                late.settimeout(0)
                assert at_end(silent) and at_end(late)


def test_a_server_in_a_handshake_ends_when_it_is_told(runs: Path, serving: Serving, made: tuple[Path, Path]) -> None:
    served = serving("--certificate", made[0], "--key", made[1], runs)
    client = Client(served.port, made[0])
    with client.connected():
        client.get("/")[0].close()
        code, said = served.end()
    assert code == 0 and said.count("\n") == 1, said


@pytest.mark.parametrize("host, said_so", [("0.0.0.0", 1), ("127.0.0.1", 0)])
def test_plain_text_that_leaves_this_host_is_told(runs: Path, serving: Serving, host: str, said_so: int) -> None:
    served = serving("--host", host, runs)
    assert served.address.startswith("http://")
    code, said = served.end()
    assert code == 0 and [PLAIN in line for line in said.splitlines()].count(True) == said_so, said


def refusal(*words: str | Path) -> str:
    """What it says. Its port is taken: had it come to listen, it would speak of that."""
    with socket.create_server((HERE, 0)) as taken:
        port = str(taken.getsockname()[1])
        done = subprocess.run(
            [*live_page.COMMAND, "serve", "--port", port, *map(str, words)],
            env=live_page.environment(),
            capture_output=True,
            text=True,
            timeout=live_page.LIMIT_S,
            stdin=subprocess.DEVNULL,
        )
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1), done
    return done.stderr


def test_what_cannot_be_read_or_is_none_is_refused(runs: Path, made: tuple[Path, Path], tmp_path: Path) -> None:
    certificate, key = made
    missing, empty = tmp_path / "missing", tmp_path / "empty"
    empty.touch(0o600)
    broken = tmp_path / "broken"
    broken.touch(0o600)
    broken.write_text("-----BEGIN CERTIFICATE-----\nx\n-----END CERTIFICATE-----\n")
    assert f"certificate {missing}: No such file" in refusal("--certificate", missing, runs)
    assert f"private key {missing}: No such file" in refusal("--certificate", certificate, "--key", missing, runs)
    # Nobody writes into it: to open it would last for ever.
    os.mkfifo(pipe := tmp_path / "pipe")
    assert f"{pipe}: it is not a regular file" in refusal("--certificate", pipe, runs)
    assert "holds no certificate" in refusal("--certificate", empty, "--key", key, runs)
    assert "holds no private key" in refusal("--certificate", certificate, runs)
    assert f"https cannot use {broken}" in refusal("--certificate", broken, "--key", key, runs)
    assert "--certificate FILE" in refusal("--key", key, runs)


@pytest.mark.parametrize("kind", [(), ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1")])
def test_a_key_of_another_certificate_is_refused(
    runs: Path, made: tuple[Path, Path], tmp_path: Path, kind: tuple[str, ...]
) -> None:
    other = make(tmp_path, "other", *kind)[1]
    assert "does not belong to the certificate" in refusal("--certificate", made[0], "--key", other, runs)


def test_a_key_with_a_password_is_refused(runs: Path, made: tuple[Path, Path], tmp_path: Path) -> None:
    locked = tmp_path / "locked.key"
    argv = ["openssl", "pkey", "-in", made[1], "-aes128", "-passout", "pass:secret", "-out", locked]
    subprocess.run(argv, check=True, capture_output=True, timeout=live_page.LIMIT_S)
    locked.chmod(0o600)
    assert "needs a password" in refusal("--certificate", made[0], "--key", locked, runs)


@pytest.mark.parametrize("mode", [0o604, 0o640, 0o620])
def test_a_key_that_others_may_read_is_refused(runs: Path, tmp_path: Path, made: tuple[Path, Path], mode: int) -> None:
    certificate, key = (Path(shutil.copy(file, tmp_path)) for file in made)
    key.chmod(mode)
    said = refusal("--certificate", certificate, "--key", key, runs)
    assert f"(mode {mode:o})" in said and str(key) in said
