"""Build the site: gather its pages, run what stands on them, make the reference, run Sphinx, check every link.

    python docs/site_builder.py [--no-gallery]

Pages are gathered under build/site and the site is written to build/docs. Nothing is asked of the network. What was
run for an earlier build is not run again while page and package are the same.
"""

import argparse
import functools
import hashlib
import inspect
import json
import os
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

DOCS = Path(__file__).resolve().parent
ROOT = DOCS.parent
sys.path[:0] = [str(DOCS), str(ROOT / "src")]

from check_links import check_site  # noqa: E402
from snippets import fill, find_blocks  # noqa: E402

import acyclic  # noqa: E402
from acyclic.files import write_text  # noqa: E402

SOURCE, OUTPUT = ROOT / "build" / "site", ROOT / "build" / "docs"
ANSWERS, FIGURES = ROOT / "build" / "snippets", ROOT / "build" / "figures" / "figures"
# Files beside docs/ that are pages too.
PAGES = {"CONTRIBUTING.md": "contributing.md", "CHANGELOG.md": "changelog.md", "SECURITY.md": "security.md"}
# Folders of pages that are made: links into them stay as they are, and Sphinx checks them.
MADE = ("gallery", "reference")
# Sections of the reference: titles, and the rooms whose public names they hold.
SECTIONS = {
    "Learn": ("learning", "result", "findings", "judging"),
    "Learners": ("learners",),
    "Tables and knowledge": ("data",),
    "Graphs": ("graphs",),
    "How far to believe it": ("trust",),
    "Constraints and scores": ("constraints", "torch", "scores"),
    "Searches": ("discrete",),
}
OTHER = "Further"


def main() -> None:
    """Build all of it; the exit code is 1 if there is any warning or any link that leads nowhere."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--no-gallery", action="store_true", help="leave out the examples, which take longest")
    options = parser.parse_args()
    gather()
    sphinx = [sys.executable, "-m", "sphinx", "-W", "--keep-going", "-n", "-q", "-a", "-j", "2", "-b", "html"]
    left_out = ["-D", "plot_gallery=0"] if options.no_gallery else []
    done = subprocess.run([*sphinx, *left_out, "-c", DOCS, SOURCE, OUTPUT], env=environment())
    problems = check_site(OUTPUT)
    for problem in problems:
        print(problem, file=sys.stderr)  # noqa: T201
    sys.exit(1 if done.returncode or problems else 0)


def environment() -> dict[str, str]:
    """What Sphinx and the pages run with: this tree, and one thread for each process."""
    path = os.pathsep.join([str(ROOT / "src"), *filter(None, [os.environ.get("PYTHONPATH")])])
    threads = dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"), "1")
    return {**os.environ, "PYTHONPATH": path, **threads}


def gather() -> None:
    """Bring the folder of sources up to date; a file that would stay the same is not touched."""
    pages, files = sorted(DOCS.rglob("*.md")), [*DOCS.glob("images/*"), *DOCS.glob("static/*")]
    with ThreadPoolExecutor(2) as workers:
        made = list(workers.map(page_of, pages))
    wanted = dict(zip([path.relative_to(DOCS) for path in pages], made, strict=True))
    wanted |= {path.relative_to(DOCS): path.read_bytes() for path in files}
    for name, target in PAGES.items():
        if (ROOT / name).exists():
            wanted[Path(target)] = relink((ROOT / name).read_text(encoding="utf-8"), ROOT).encode()
    for name, text in reference().items():
        wanted[Path("reference", name)] = text.encode()
    for figure in FIGURES.glob("*.svg"):
        wanted[Path("reproduction", "figures", figure.name)] = figure.read_bytes()
    for path, content in wanted.items():
        target = SOURCE / path
        if not target.exists() or target.read_bytes() != content:
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(content)
    for path in SOURCE.rglob("*"):
        inside = path.relative_to(SOURCE)
        if path.is_file() and inside not in wanted and inside.parts[0] != "gallery":
            path.unlink()


def page_of(path: Path) -> bytes:
    """A page with its links mended and the output of its blocks filled in."""
    text = path.read_text(encoding="utf-8")
    if any(block.prints for block in find_blocks(text)):
        text = fill(text, answers(path, text))
    if path.parent == DOCS / "reproduction":
        # Figures are drawn from the stored rows by `make figures`; without them their tables stand alone.
        text = re.sub(
            r"!\[[^]]*\]\(figures/([\w-]+\.svg)\)\n", lambda m: m[0] if (FIGURES / m[1]).exists() else "", text
        )
    return relink(text, path.parent).encode()


def answers(path: Path, text: str) -> list[str]:
    """What the blocks of a page print; run unless the same page was run with the same package before."""
    key = hashlib.sha256(f"{text}{digest_of_package()}".encode()).hexdigest()
    stored = ANSWERS / f"{path.stem}-{key[:16]}.json"
    if not stored.exists():
        command = [sys.executable, DOCS / "snippets.py", path]
        done = subprocess.run(command, env=environment(), capture_output=True, text=True)
        if done.returncode:
            raise SystemExit(f"{path} does not run:\n{done.stderr}")
        ANSWERS.mkdir(parents=True, exist_ok=True)
        write_text(stored, done.stdout)
    return json.loads(stored.read_text())


@functools.cache
def digest_of_package() -> str:
    """What the output of a page depends on beside its text: the package and the versions of others."""
    total = hashlib.sha256((ROOT / "pins.txt").read_bytes())
    for path in sorted((ROOT / "src").rglob("*")):
        if path.suffix in (".py", ".c", ".h"):
            total.update(path.read_bytes())
    return total.hexdigest()


def relink(text: str, folder: Path) -> str:
    """Links to files that are pages of the site, as links between pages; other files of the tree are named only."""

    def mend(found: re.Match[str]) -> str:
        label, target, anchor = found[1], found[2], found[3] or ""
        if "://" in target or target.startswith(("mailto:", "#")):
            return found[0]
        path = (folder / target).resolve()
        if path.parent == ROOT and path.name in PAGES:
            place = DOCS / PAGES[path.name]
        elif path.is_relative_to(DOCS) and path.suffix == ".md" and path.exists():
            place = path
        elif path.is_relative_to(DOCS) and path.relative_to(DOCS).parts[0] in MADE:
            return found[0]
        else:
            return f"`{label.strip('`')}`"
        start = DOCS if folder == ROOT else folder
        return f"[{label}]({os.path.relpath(place, start)}{anchor})"

    return re.sub(r"(?<!!)\[([^]\n]+)\]\(([^)#\s]+)(#[^)\s]*)?\)", mend, text)


def section_of(home: str) -> str:
    """The section of the reference for names that live in a module."""
    room = home.split(".")[1]
    return next((title for title, rooms in SECTIONS.items() if room in rooms), OTHER)


def public_names() -> dict[str, str]:
    """Every public name with its module, those of acyclic.torch included."""
    names = {f"acyclic.{name}": acyclic._HOMES[name] for name in acyclic.__all__}
    return names | {f"acyclic.torch.{name}": "acyclic.torch" for name in acyclic.torch.__all__}


def reference() -> dict[str, str]:
    """The pages of the reference by file name: one for each public name, and the list of them."""
    pages = {f"{name}.rst": page_of_name(name) for name in public_names()}
    groups: dict[str, list[str]] = {title: [] for title in [*SECTIONS, OTHER]}
    for name, home in public_names().items():
        groups[section_of(home)].append(name)
    lines = ["# API reference", "", f"Everything public in `acyclic` {acyclic.__version__}, by what it is for.", ""]
    for title, names in groups.items():
        if names:
            lines += [f"## {title}", "", "| name | what it is |", "|---|---|"]
            lines += [f"| [`{name.removeprefix('acyclic.')}`]({name}.rst) | {summary(name)} |" for name in names]
            lines += ["", "```{toctree}", ":hidden:", f":caption: {title}", "", *names, "```", ""]
    return pages | {"index.md": "\n".join(lines)}


def find(name: str) -> object:
    """The object of a public name."""
    value: object = acyclic
    for part in name.split(".")[1:]:
        value = getattr(value, part)
    return value


def summary(name: str) -> str:
    """The first sentence of a docstring, for a cell of a table."""
    first = inspect.getdoc(find(name)).split("\n\n")[0].replace("\n", " ")
    return re.sub(r"(?<!`)`([^`]+)`(?!`)", r"`\1`", first.replace("``", "`")).replace("|", "\\|")


def page_of_name(name: str) -> str:
    """The page of one name; of a class, with its public methods that have words of their own."""
    value, title = find(name), name.removeprefix("acyclic.")
    # Sphinx does not see that its own configuration reads docstrings in another way: the page has to be another one.
    conf = hashlib.sha256((DOCS / "conf.py").read_bytes()).hexdigest()[:8]
    head = [f".. conf.py {conf}", "", title, "=" * len(title), "", f".. currentmodule:: {name.rpartition('.')[0]}", ""]
    if not isinstance(value, type):
        return "\n".join([*head, f".. autofunction:: {name}", ""])
    own = [part for part in value.__mro__ if part.__module__.startswith("acyclic")]
    members = {member: part for part in reversed(own) for member in vars(part)}
    lines = [*head, f".. autoclass:: {name}", "   :show-inheritance:", ""]
    for member in sorted(members):
        found = inspect.getattr_static(value, member)
        kind = "autoproperty" if isinstance(found, property | functools.cached_property) else "automethod"
        called = inspect.isroutine(found) or isinstance(found, classmethod | staticmethod | property)
        if not member.startswith("_") and called and (getattr(value, member).__doc__ or kind == "autoproperty"):
            lines += [f"   .. {kind}:: {member}", ""]
    return "\n".join(lines)


if __name__ == "__main__":
    main()
