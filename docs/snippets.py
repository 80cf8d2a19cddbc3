"""The code on a page: which blocks it has, what they do when they are run, and what they print.

    python docs/snippets.py PAGE.md

runs a page as its reader would: the blocks of Python in order in one namespace, the blocks of shell commands in the
same scratch folder, and prints what each wrote, as JSON. A block with the line ``<!-- not run: why -->`` before it is
left alone: code of other packages, installation. A line ``<!-- prints -->`` after a block stands for what it prints.
"""

import contextlib
import io
import json
import os
import re
import subprocess
import sys
import tempfile
import textwrap
from dataclasses import dataclass
from pathlib import Path

LANGUAGES = ("python", "sh", "console")
WIDTH = 92
PRINTS = "<!-- prints -->"
# Inside of a card or a tab a block is indented, or stands between longer fences.
BLOCK = re.compile(
    r"(?:<!-- not run: (?P<why>[^\n]*?) -->\n\s*)?^(?P<indent> *)```(?P<language>\w*)\n(?P<text>.*?)^ *```$"
    rf"(?P<prints>\n+ *{PRINTS})?",
    flags=re.DOTALL | re.MULTILINE,
)


@dataclass(frozen=True)
class Block:
    """One fenced block: its language, its text, why it is not run if so, and whether its output is shown."""

    language: str
    text: str
    why: str | None
    prints: bool
    span: tuple[int, int]

    @property
    def runs(self) -> bool:
        """Whether it is to be run."""
        return self.language in LANGUAGES and self.why is None


def find_blocks(page: str) -> list[Block]:
    """All fenced blocks of a page, in order."""
    return [
        Block(found["language"], textwrap.dedent(found["text"]), found["why"], bool(found["prints"]), found.span())
        for found in BLOCK.finditer(page)
    ]


def run_block(block: Block, namespace: dict[str, object], name: str) -> str:
    """Run one block in the current folder; what it printed."""
    if block.language == "python":
        shown = io.StringIO()
        with contextlib.redirect_stdout(shown):
            exec(compile(block.text, name, "exec"), namespace)
        return shown.getvalue()
    lines = [line.removeprefix("$ ") for line in block.text.splitlines()]
    command = f'acyclic() {{ "{sys.executable}" -m acyclic "$@"; }}\nset -e\n' + "\n".join(lines)
    done = subprocess.run(["sh", "-c", command], capture_output=True, text=True, env={**os.environ, "COLUMNS": "100"})
    if done.returncode:
        raise RuntimeError(f"{block.text}ended with {done.returncode}:\n{done.stdout}{done.stderr}")
    return done.stdout


def run_page(path: Path) -> list[str]:
    """Run the blocks of a page in a scratch folder; what each printed."""
    page = path.read_text(encoding="utf-8")
    before, namespace = Path.cwd(), {"__name__": "__main__"}
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        try:
            return [
                run_block(block, namespace, f"{path.name}:{page.count(chr(10), 0, block.span[0]) + 1}")
                for block in find_blocks(page)
                if block.runs
            ]
        finally:
            os.chdir(before)


def show(answer: str) -> str:
    """What was printed, as a block: sentences may be broken anywhere; beside a table they are, and it stays whole."""
    lines = [line.rstrip() for line in answer.rstrip().splitlines()]
    if not any("  " in line.strip() for line in lines):
        return "\n".join(["```text", *lines, "```"])
    short = [line if "  " in line.strip() else textwrap.fill(line, WIDTH, subsequent_indent="  ") for line in lines]
    return "\n".join(["```none", *short, "```"])


def fill(page: str, printed: list[str]) -> str:
    """The page with what its blocks print in the place of the marks for it."""
    parts, end, answers = [], 0, iter(printed)
    for block in find_blocks(page):
        if not block.runs:
            continue
        answer = next(answers)
        if block.prints:
            start = page.rindex(PRINTS, *block.span)
            indent = " " * (start - page.rindex("\n", 0, start) - 1)
            shown = textwrap.indent(show(answer), indent)
            parts += [page[end : start - len(indent)], shown]
            end = start + len(PRINTS)
    return "".join([*parts, page[end:]])


if __name__ == "__main__":
    answers = run_page(Path(sys.argv[1]).resolve())
    json.dump(answers, sys.stdout)
