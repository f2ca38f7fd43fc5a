"""The built page, from the package's ``static`` folder."""

import gzip
import mimetypes
from functools import lru_cache
from importlib.resources import files
from pathlib import Path

from fastapi import APIRouter, HTTPException, Request
from fastapi.responses import FileResponse, PlainTextResponse, Response

router = APIRouter()

STATIC = Path(str(files("kvarium") / "static"))


def _file(path: str) -> Path | None:
    try:
        found = (STATIC / path).resolve()
        return found if found.is_relative_to(STATIC.resolve()) and found.is_file() else None
    except (OSError, ValueError):
        # Too long for a name, or with a NUL in it.
        return None


@lru_cache(maxsize=16)
def _compressed(file: Path, changed_ns: int) -> bytes:
    return gzip.compress(file.read_bytes(), mtime=0)


def _answer(file: Path, cache: str, encodings: str) -> Response:
    """A file; script and style compressed where whoever asks takes that, each once in the life of the server."""
    headers = {"Cache-Control": cache, "Vary": "Accept-Encoding"}
    if file.suffix not in (".js", ".css") or "gzip" not in encodings:
        return FileResponse(file, headers=headers)
    return Response(
        _compressed(file, file.stat().st_mtime_ns),
        headers=headers | {"Content-Encoding": "gzip"},
        media_type=mimetypes.guess_type(file.name)[0],
    )


@router.get("/api/{rest:path}", include_in_schema=False)
async def no_such_route(rest: str) -> Response:
    """Nothing of the page lies under /api."""
    raise HTTPException(404, f"there is no /api/{rest}")


@router.get("/{path:path}", include_in_schema=False)
def page(path: str, request: Request) -> Response:
    """The page itself, which reads the rest from its query, or one of its files."""
    if not (STATIC / "index.html").is_file():
        return PlainTextResponse("kvarium: the page is not built; run `make build`\n", status_code=503)
    if path:
        found = _file(path)
        if found is None:
            raise HTTPException(404, f"there is no file {path[:200]}")
        cache = "public, max-age=31536000, immutable" if path.startswith("assets/") else "no-cache"
        return _answer(found, cache, request.headers.get("accept-encoding", ""))
    return _answer(STATIC / "index.html", "no-cache", "")
