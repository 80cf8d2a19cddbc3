"""Check a built site without a network: every link and every anchor inside it, and that it loads nothing from outside.

python docs/check_links.py build/docs
"""

import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

# What a browser fetches by itself.
LOADED = {("script", "src"), ("img", "src"), ("img", "srcset"), ("iframe", "src"), ("source", "src"), ("video", "src")}
OF_LINK = ("stylesheet", "icon", "preload", "modulepreload", "shortcut icon")


class Page(HTMLParser):
    """The anchors of a page, where its links lead to, and what it loads."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.anchors: set[str] = set()
        self.links: list[str] = []
        self.loads: list[str] = []
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """See HTMLParser."""
        given = {key: value or "" for key, value in attrs}
        self.anchors |= {given[key] for key in ("id", "name") if key in given}
        if tag == "a" and "href" in given:
            self.links.append(given["href"])
        if tag == "link" and given.get("rel") in OF_LINK:
            self.loads.append(given["href"])
        for key in given:
            if (tag, key) in LOADED:
                self.loads += [part.split()[0] for part in given[key].split(", ")]


def check_site(folder: Path) -> list[str]:
    """What is wrong with a site, one line for each link."""
    pages = {path.resolve(): Page(path) for path in sorted(folder.rglob("*.html")) if "_static" not in path.parts}
    if not pages:
        return [f"{folder} has no pages"]
    problems = []
    for path, page in pages.items():
        said = path.relative_to(folder.resolve())
        for target in dict.fromkeys([*page.links, *page.loads]):
            place = urlsplit(target)
            if place.scheme in ("http", "https") or target.startswith("//"):
                if target in page.loads:
                    problems.append(f"{said}: loads {target} from the network")
                continue
            if place.scheme:
                continue
            reached = (path.parent / unquote(place.path)).resolve() if place.path else path
            if not reached.exists():
                problems.append(f"{said}: no file {target}")
            elif place.fragment and reached in pages and unquote(place.fragment) not in pages[reached].anchors:
                problems.append(f"{said}: no anchor {target}")
    return problems


if __name__ == "__main__":
    found = check_site(Path(sys.argv[1]))
    print("\n".join(found) or "every link inside the site leads somewhere")  # noqa: T201
    sys.exit(bool(found))
