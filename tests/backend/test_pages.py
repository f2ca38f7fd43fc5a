"""The built page as it is served: compressed for who takes that, and as it lies for everybody else."""

import gzip
from pathlib import Path

import pytest

from kvarium.api import pages
from tests.backend.running_server import running


def test_script_and_style_are_compressed_for_who_takes_that(
    db: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    static = tmp_path / "static"
    (static / "assets").mkdir(parents=True)
    files = {
        "index.html": b"<p>",
        "assets/a.js": b"let a;\n" * 999,
        "assets/a.css": b"a{}\n" * 999,
        "icon.png": b"x",
    }
    for name, content in files.items():
        (static / name).write_bytes(content)
    monkeypatch.setattr(pages, "STATIC", static)
    with running(db) as server:

        def get(name: str, encodings: str) -> tuple[bytes, str | None, str]:
            with server.http.stream("GET", f"/{name}", headers={"Accept-Encoding": encodings}) as answer:
                assert answer.status_code == 200
                assert answer.headers["vary"] == "Accept-Encoding"
                body = b"".join(answer.iter_raw())
                return body, answer.headers.get("content-encoding"), answer.headers["content-type"]

        for name, content in files.items():
            assert get(name, "identity")[:2] == (content, None)
            body, encoding, kind = get(name, "br, gzip")
            if name.startswith("assets/"):
                assert encoding == "gzip" and len(body) < len(content) / 5
                assert gzip.decompress(body) == content
                assert kind.startswith(("text/javascript", "text/css"))
            else:
                assert (body, encoding) == (content, None)
        (static / "assets/a.js").write_bytes(b"let b;\n" * 99)
        assert gzip.decompress(get("assets/a.js", "gzip")[0]) == b"let b;\n" * 99
