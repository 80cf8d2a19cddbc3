"""Make the pictures of docs/images: the report, light and dark, and the command line.

Needs the extras cli and files, playwright, and Debian's chromium: ``python docs/make_screenshots.py``.
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from playwright.sync_api import Browser, sync_playwright
from rich.console import Console
from rich.text import Text

IMAGES = Path(__file__).parent / "images"
ARGUMENTS = ["--no-sandbox", "--headless", "--disable-gpu", "--disable-background-networking"]
TERMINAL_WIDTH = 100
LARGEST = 300_000


def run(folder: Path, *arguments: str) -> str:
    """Run one command as on a terminal; what it shows on the standard output, with colours."""
    environment = {**os.environ, "FORCE_COLOR": "1", "COLUMNS": str(TERMINAL_WIDTH)}
    command = [sys.executable, "-m", "acyclic", *arguments]
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=True)
    return done.stdout


def terminal_page(session: list[tuple[str, str]]) -> str:
    """Commands and what they printed as a page that looks like a terminal."""
    console = Console(record=True, width=TERMINAL_WIDTH, file=open(os.devnull, "w"), force_terminal=True)  # noqa: SIM115
    for command, shown in session:
        console.print(Text(f"$ {command}", style="bold green"))
        console.print(Text.from_ansi(shown))
    svg = console.export_svg(title="acyclic")
    # The fonts are addresses on the network; the machine has its own.
    local = re.sub(r"@font-face \{.*?\}", "", svg, flags=re.DOTALL).replace("Fira Code", "DejaVu Sans Mono")
    return f"<!DOCTYPE html><style>body{{margin:0}}svg{{display:block;width:1100px}}</style>{local}"


def photograph(
    browser: Browser, page: Path, name: str, *, scheme: str = "light", select: str = "", clip: str = ""
) -> None:
    """Save what a reader of the page sees first, or one element of it."""
    view = browser.new_page(viewport={"width": 1240, "height": 1180}, color_scheme=scheme)
    view.goto(page.as_uri())
    if select:
        view.fill("#search", select)
        view.evaluate("document.activeElement.blur(); scrollTo(0, 0)")
    view.wait_for_timeout(400)
    target = IMAGES / f"{name}.png"
    (view.locator(clip) if clip else view).screenshot(path=target)
    view.close()
    if target.stat().st_size > LARGEST:
        raise SystemExit(f"{target} has {target.stat().st_size} bytes, more than {LARGEST}")


def main() -> None:
    """Make every picture."""
    IMAGES.mkdir(exist_ok=True)
    learn = ["learn", "sachs/table.csv", "--log", "all", "--bootstrap", "50", "--audit", "--out", "run"]
    with tempfile.TemporaryDirectory() as scratch, sync_playwright() as driver:
        folder = Path(scratch)
        run(folder, "datasets", "sachs")
        session = [(f"acyclic {' '.join(learn)}", run(folder, *learn))]
        compare = ["compare", "sachs/graph-17.json", "run/result.json"]
        session.append((f"acyclic {' '.join(compare)}", run(folder, *compare)))
        run(folder, "report", "run/result.json", "--out", "sachs.html", "--title", "Sachs et al. 2005")
        run(folder, "simulate", "--nodes", "40", "--rows", "2000", "--seed", "5")
        run(folder, "learn", "simulated/table.csv", "--bootstrap", "30", "--out", "forty")
        run(folder, "report", "forty/result.json", "--title", "Forty simulated variables")
        (folder / "terminal.html").write_text(terminal_page(session), encoding="utf-8")
        browser = driver.chromium.launch(executable_path=shutil.which("chromium"), args=ARGUMENTS)
        photograph(browser, folder / "sachs.html", "report-light", select="PKC")
        photograph(browser, folder / "forty" / "result.html", "report-dark", scheme="dark", select="x16")
        photograph(browser, folder / "terminal.html", "terminal", clip="svg")
        browser.close()


if __name__ == "__main__":
    main()
