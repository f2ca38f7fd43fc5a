"""docs/sql.md as the data that the screen's SQL panel shows: its tables, columns and worked questions.

``scripts/sql_guide.py`` writes ``backend/kvarium/sql/guide.json``; with ``--check`` it says whether that is as the page is.
"""

import json
import re
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "sql.md"
GUIDE = ROOT / "backend" / "kvarium" / "sql" / "guide.json"


def plain(text: str) -> str:
    """Markdown as text: links by their words, code without its marks, one line."""
    return " ".join(re.sub(r"\[([^\]]+)\]\([^)]+\)", r"\1", text).replace("`", "").split())


def sections(page: str, title: str) -> list[tuple[str, str]]:
    """The sections of the third level below a title of the second, each with its text."""
    chapter = page.partition(f"\n## {title}\n")[2].partition("\n## ")[0]
    found = [part.partition("\n") for part in chapter.split("\n### ")[1:]]
    return [(name, text) for name, _, text in found]


def table(name: str, text: str) -> dict[str, Any]:
    """A table, what a row of it is, and its columns."""
    columns = []
    for line in text.splitlines():
        row = re.fullmatch(r"\| (`.*?) \| (.*) \|", line)
        if row is not None:
            columns += [{"name": column, "about": plain(row[2])} for column in re.findall(r"`(\w+)`", row[1])]
    return {"name": name, "about": plain(text.partition("\n\n")[0]), "columns": columns}


def question(title: str, text: str) -> dict[str, str]:
    """A worked question: what it asks, what is to be known for it, and its SQL."""
    about, _, rest = text.partition("```sql\n")
    return {"title": title, "about": plain(about), "sql": rest.partition("\n```")[0]}


def main() -> int:
    """Write the guide, or compare it."""
    page = PAGE.read_text()
    told = {
        "tables": [table(*found) for found in sections(page, "Tables")],
        "questions": [question(*found) for found in sections(page, "Worked questions")],
    }
    text = json.dumps(told, indent=1, ensure_ascii=False) + "\n"
    if sys.argv[1:] != ["--check"]:
        GUIDE.write_text(text)
    elif GUIDE.read_text() != text:
        print(f"{GUIDE.relative_to(ROOT)} is not as docs/sql.md is: make types")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
