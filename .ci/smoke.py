"""Try an installed acyclic as a new user would: the README's Python, every extra that is there, the command.

Usage: python smoke.py README.md. Files are written to the current folder.
"""

import io
import re
import subprocess
import sys
from contextlib import redirect_stdout
from importlib.util import find_spec
from pathlib import Path

import acyclic

NEEDS_TORCH = "import DagGnn"


def run_readme(text: str) -> None:
    """Run its Python blocks in order, in one namespace."""
    blocks = re.findall(r"```python\n(.*?)```", text, flags=re.DOTALL)
    if not find_spec("torch"):
        blocks = [block for block in blocks if NEEDS_TORCH not in block]
    with redirect_stdout(io.StringIO()):
        exec(compile("\n".join(blocks), "README.md", "exec"), {})


def try_extras() -> None:
    """A figure, other packages' graphs, distances, a cluster: what is not installed is left out."""
    data = acyclic.simulate(n_nodes=5, n=200, random_state=0)
    result = acyclic.learn(data.X)
    if find_spec("matplotlib"):
        result.plot().savefig("graph.png")
    if find_spec("networkx"):
        assert result.graph.to_networkx().number_of_edges() == result.graph.n_edges
    if find_spec("gadjid"):
        assert acyclic.compare(data.graph, data.graph).sid == 0
    if find_spec("distributed"):
        from distributed import Client

        with Client(n_workers=1, threads_per_worker=1, dashboard_address=None) as client:
            assert acyclic.bootstrap(acyclic.learn, data.X, draws=3, cluster=client).draws == 3


def run(*arguments: str) -> str:
    """Run the command; what it prints."""
    command = [sys.executable, "-m", "acyclic", *arguments]
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout


def try_command() -> None:
    """The version, the bundled data, and a run with a bootstrap in two processes."""
    assert acyclic.__version__ in run("--version")
    assert "sachs" in run("datasets")
    run("datasets", "sachs", "--out", "sachs", "--force", "--quiet")
    run(
        "learn", "sachs/table.csv", "--log", "all", "--bootstrap", "5", "--jobs", "2", "--out", "run", "--force",
        "--quiet",
    )  # fmt: skip
    assert Path("run/report.html").stat().st_size > 0


if __name__ == "__main__":
    readme = Path(sys.argv[1])
    assert not Path(acyclic.__file__).is_relative_to(readme.resolve().parent / "src"), "not an installed one"
    run_readme(readme.read_text())
    try_extras()
    if find_spec("cyclopts"):
        try_command()
    print(f"acyclic {acyclic.__version__} works as installed in {Path(acyclic.__file__).parent}")
