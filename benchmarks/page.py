"""How large a report is, how long it takes to open, and how long it takes to learn again under other knowledge.

Tables are simulated (ER2, noise variances from 0.5 to 4, 1000 rows) and their graphs learned by the search with little
effort; beyond 300 columns by equal variances, as only the page is looked at there. Each page is opened in Chromium from
a file, is asked for its first drawing, and is then told that the strongest edge points the other way. Wall seconds
depend on what else the machine does; processor seconds are those of all processes of the browser, "main thread" is the
part of the page's own thread, which a reader waits for.

    python benchmarks/page.py [--columns 50 150 200 1000]        # needs chromium and playwright
"""

import argparse
import os
import shutil
import tempfile
import time
from pathlib import Path

from playwright.sync_api import sync_playwright

import acyclic
from acyclic.findings.origin import list_versions

ARGUMENTS = ["--no-sandbox", "--headless", "--disable-gpu", "--disable-background-networking"]
# The page's own parts, once more and without a drawing: state knowledge, wait for the worker, give what it found.
LEARN = """
(statements) => new Promise((done) => {
  const data = JSON.parse(document.getElementById("graph-data").textContent);
  const started = performance.now();
  const live = makeLive(makeModel(data), data, () => {
    const { result, fault } = live.outcome();
    if (fault || (result && !result.pending)) done({ fault, seconds: (performance.now() - started) / 1000 });
  });
  live.state(statements);
})
"""


def write_page(d, path):
    """A report of d columns; what to state in it."""
    data = acyclic.simulate(d, 1000 if d < 500 else d + 200, graph="ER2", variances=(0.5, 4.0), random_state=d)
    how = {"method": "order-search", "effort": 0.0} if d <= 300 else {"method": "equal-variance"}
    result = acyclic.learn(acyclic.read_table(data.X), **how)
    result.report(path)
    source, target = (result.edges()[0][end] for end in ("source", "target"))
    return {"required": [[target, source]]}


def processor_seconds(root):
    """Of a process and all that came from it."""
    tick, parents, used = os.sysconf("SC_CLK_TCK"), {}, {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                fields = (entry / "stat").read_text().rpartition(")")[2].split()
            except OSError:
                continue
            parents[int(entry.name)], used[int(entry.name)] = int(fields[1]), sum(map(int, fields[11:15])) / tick
    mine = {root}
    while new := {child for child, parent in parents.items() if parent in mine} - mine:
        mine |= new
    return sum(used.get(process, 0.0) for process in mine)


def measure(browser, d, folder):
    """Print one line."""
    path = folder / f"{d}.html"
    stated = write_page(d, path)
    page = browser.new_page(viewport={"width": 1280, "height": 900})
    session = page.context.new_cdp_session(page)
    session.send("Performance.enable", {"timeDomain": "threadTicks"})
    started, used = time.perf_counter(), processor_seconds(os.getpid())
    page.goto(path.as_uri())
    page.wait_for_selector("html[data-ready=true]", state="attached", timeout=300_000)
    opened, spent = time.perf_counter() - started, processor_seconds(os.getpid()) - used
    told = {entry["name"]: entry["value"] for entry in session.send("Performance.getMetrics")["metrics"]}
    line = f"{d:5d} columns: {path.stat().st_size / 1e6:.2f} MB, opens in {opened:.2f} s ({spent:.2f} processor s, "
    line += f"main thread {told['TaskDuration']:.2f}, of it scripts {told['ScriptDuration']:.2f})"
    used = processor_seconds(os.getpid())
    if page.evaluate("() => 'why' in JSON.parse(document.getElementById('graph-data').textContent).live"):
        print(f"{line}, gives the command to learn again", flush=True)
    else:
        page.set_default_timeout(300_000)
        found = page.evaluate(LEARN, stated)
        spent = processor_seconds(os.getpid()) - used
        print(f"{line}, learns again in {found['seconds']:.2f} s ({spent:.2f} processor s)", found.get("fault") or "")
    page.close()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--columns", type=int, nargs="+", default=[50, 150, 200, 1000])
    args = parser.parse_args()
    print(", ".join(f"{name} {version}" for name, version in list_versions().items()))
    print(f"load of the machine: {os.getloadavg()[0]:.1f}", flush=True)
    with tempfile.TemporaryDirectory() as scratch, sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=shutil.which("chromium"), args=ARGUMENTS)
        for d in args.columns:
            measure(browser, d, Path(scratch))
        browser.close()


if __name__ == "__main__":
    main()
