"""Make the pictures of docs/images: reports of known tables, light and dark, and the command line.

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
from sklearn.datasets import load_breast_cancer, load_diabetes

IMAGES = Path(__file__).parent / "images"
ARGUMENTS = ["--no-sandbox", "--headless", "--disable-gpu", "--disable-background-networking"]
TERMINAL_WIDTH = 100
LARGEST = 450_000


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


def write_tables(folder: Path) -> None:
    """Tables that scikit-learn brings along, in their own units."""
    for name, table in (
        ("diabetes", load_diabetes(as_frame=True, scaled=False)),
        ("breast-cancer", load_breast_cancer(as_frame=True)),
    ):
        table.frame.to_csv(folder / f"{name}.csv", index=False)


def main() -> None:
    """Make every picture."""
    IMAGES.mkdir(exist_ok=True)
    learn = ["learn", "sachs/table.csv", "--log", "all", "--bootstrap", "50", "--audit", "--out", "run"]
    with tempfile.TemporaryDirectory() as scratch, sync_playwright() as driver:
        folder = Path(scratch)
        run(folder, "datasets", "sachs")
        session = [(f"acyclic {' '.join(learn)}", run(folder, *learn, "--title", "Sachs et al. 2005"))]
        compare = ["compare", "sachs/graph-17.json", "run/result.json"]
        session.append((f"acyclic {' '.join(compare)}", run(folder, *compare)))
        (folder / "terminal.html").write_text(terminal_page(session), encoding="utf-8")
        write_tables(folder)
        run(folder, "simulate", "--nodes", "150", "--graph", "ER1", "--rows", "2000", "--seed", "5", "--out", "many")
        asked = ["--bootstrap", "10", "--no-audit"]
        run(folder, "learn", "diabetes.csv", *asked, "--title", "Diabetes", "--out", "diabetes")
        run(folder, "learn", "breast-cancer.csv", "--quick", "--title", "Breast cancer", "--out", "breast-cancer")
        run(folder, "learn", "many/table.csv", "--quick", "--title", "150 simulated variables", "--out", "nodes-150")
        browser = driver.chromium.launch(executable_path=shutil.which("chromium"), args=ARGUMENTS)
        photograph(browser, folder / "run" / "report.html", "report-light", select="PKC")
        photograph(browser, folder / "diabetes" / "report.html", "diabetes", select="bmi")
        photograph(browser, folder / "diabetes" / "report.html", "ask", clip="#ask")
        photograph(browser, folder / "breast-cancer" / "report.html", "breast-cancer", scheme="dark")
        photograph(browser, folder / "nodes-150" / "report.html", "nodes-150")
        photograph(browser, folder / "terminal.html", "terminal", clip="svg")
        browser.close()


if __name__ == "__main__":
    main()
