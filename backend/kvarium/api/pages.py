"""The built page, from the package's ``static`` folder."""

from importlib.resources import files
from pathlib import Path

from fastapi import APIRouter, HTTPException
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


@router.get("/api/{rest:path}", include_in_schema=False)
async def no_such_route(rest: str) -> Response:
    """Nothing of the page lies under /api."""
    raise HTTPException(404, f"there is no /api/{rest}")


@router.get("/{path:path}", include_in_schema=False)
async def page(path: str) -> Response:
    """The page itself, which reads the rest from its query, or one of its files."""
    if not (STATIC / "index.html").is_file():
        return PlainTextResponse("kvarium: the page is not built; run `make build`\n", status_code=503)
    if path:
        found = _file(path)
        if found is None:
            raise HTTPException(404, f"there is no file {path[:200]}")
        cache = "public, max-age=31536000, immutable" if path.startswith("assets/") else "no-cache"
        return FileResponse(found, headers={"Cache-Control": cache})
    return FileResponse(STATIC / "index.html", headers={"Cache-Control": "no-cache"})
