"""Fits of benchmarks/honest.py: environments of the peers, processes that fit their methods, what was found."""

import hashlib
import json
import os
import signal
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path

import numpy as np

import acyclic
from acyclic.data.moments import Moments
from acyclic.errors import AcyclicError
from acyclic.graphs.equivalence import extend_consistently
from acyclic.scores.local import gaussian_bic, price_of_parent

HERE = Path(__file__).resolve().parent
PLAN = tomllib.loads((HERE / "peers.toml").read_text())
THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "RAYON_NUM_THREADS", "NUMBA_NUM_THREADS")
PATIENCE = 20
ONE_THREAD = dict.fromkeys(THREADS, "1")


class Method:
    """A method of peers.toml with further options, which are part of its name."""

    def __init__(self, name, **more):
        entry = dict(PLAN["methods"][name])
        self.function, self.environment = entry.pop("function"), entry.pop("environment", None)
        self.options = entry | more
        self.name = name + "".join(f", {key}={value}" for key, value in more.items())
        # What the answer depends on beside data and options: the peer's versions, or our sources.
        packages = PLAN["environments"].get(self.environment)
        self.made_by = " ".join(packages) if packages else digest_of_sources()


# The rooms that an answer of a linear learner is made in: other words, pages or commands change none.
ROOMS = ("_native", "continuous", "data", "discrete", "judging", "learners", "scores")


def digest_of_sources(known={}):  # noqa: B006 - a run has one answer
    if not known:
        folder, total = Path(acyclic.__file__).parent, hashlib.sha256()
        for path in sorted(path for room in ROOMS for path in (folder / room).rglob("*")):
            if path.suffix in (".py", ".c", ".h") and not {"words", "neural", "wasm"} & set(path.parts):
                total.update(path.read_bytes())
        known["digest"] = f"acyclic {acyclic.__version__} {total.hexdigest()[:12]}"
    return known["digest"]


class Peers:
    """Their environments, in a folder; made when they are first needed."""

    def __init__(self, folder):
        self.folder, self.failed = Path(folder), {}

    def python(self, environment):
        """The interpreter of an environment; raises OSError where it cannot be made."""
        if environment is None:
            return sys.executable
        home = self.folder / environment
        ready, packages = home / "ready", "\n".join(PLAN["environments"][environment])
        if environment in self.failed:
            raise OSError(self.failed[environment])
        if not ready.exists() or ready.read_text() != packages:
            try:
                self._install(home, packages.split())
            except subprocess.CalledProcessError as error:
                self.failed[environment] = f"cannot be installed: {last_line(error.stderr)}"
                raise OSError(self.failed[environment]) from error
            ready.write_text(packages)
        return home / "bin" / "python"

    def _install(self, home, packages):
        """Make an environment; one package after the other, since the second may be built with the first."""
        print(f"installing {', '.join(packages)} into {home}", flush=True)
        subprocess.run([sys.executable, "-m", "venv", "--clear", home], check=True)
        env = os.environ | {"PEER_HOME": str(home), "CMAKE_ARGS": f"-DFETCHCONTENT_SOURCE_DIR_EIGEN={HERE / 'eigen'}"}
        for package in packages:
            install = [home / "bin" / "python", "-m", "pip", "install", "--quiet", package]
            subprocess.run(install, check=True, capture_output=True, text=True, env=env)

    def networks(self):
        """The folder of the published networks, from the wheel of pgmpy."""
        target = self.folder / "networks"
        if not (target / PLAN["networks"]["folder"]).exists():
            pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--target", target]
            subprocess.run([*pip, PLAN["networks"]["package"]], check=True)
        return target / PLAN["networks"]["folder"]

    def fit(self, method, X, timeout):
        """Arcs and processor seconds of one fit, or an error."""
        return self.fit_all(method, [X], timeout)[0]

    def fit_all(self, method, tables, timeout):
        """The answers of one process to one table after the other, or errors, up to the first that takes too long."""
        try:
            python = self.python(method.environment)
        except OSError as error:
            return [{"error": str(error)}] * len(tables)
        with tempfile.TemporaryDirectory() as folder:
            job, answers = write_job(Path(folder), method, tables, timeout)
            # The peers must not find our packages, nor we theirs.
            env = {key: value for key, value in os.environ.items() if key != "PYTHONPATH" or not method.environment}
            # The worker ends itself by its processor time; the wall is for one that waits for ever.
            patience = PATIENCE * (timeout * len(tables) + 60)
            command = [python, HERE / "honest_worker.py", job]
            try:
                done = subprocess.run(command, env=env | ONE_THREAD, capture_output=True, text=True, timeout=patience)
                late, told = done.returncode == -signal.SIGXCPU, last_line(done.stderr)
            except subprocess.TimeoutExpired:
                late, told = True, ""
            known = [json.loads(answer.read_text()) for answer in answers if answer.exists()]
        if late:
            return [*known, {"error": f"more than {timeout:g} s", "timeout": timeout}]
        return known + [{"error": told}] * (len(tables) - len(known))


def write_job(folder, method, tables, timeout):
    """The files of a job; returns its own and those of the answers."""
    tasks = []
    for k, X in enumerate(tables):
        np.save(folder / f"{k}.npy", X)
        files = {"rows": str(folder / f"{k}.npy"), "answer": str(folder / f"{k}.json")}
        tasks.append(files | {"price": price_of_parent("ebic", *X.shape)})
    job = folder / "job.json"
    asked = {"function": method.function, "options": method.options, "tasks": tasks, "timeout": timeout}
    job.write_text(json.dumps(asked))
    return job, [Path(task["answer"]) for task in tasks]


def last_line(text):
    lines = (text or "").strip().splitlines()
    return lines[-1][:120] if lines else "failed without a word"


def as_class(arcs, d):
    """A DAG and its class from a list of arcs, both ways for an undirected edge; None where there is no such DAG."""
    matrix = np.zeros((d, d), dtype=bool)
    if arcs:
        matrix[tuple(np.transpose(arcs))] = True
    try:
        dag = acyclic.Dag(extend_consistently(acyclic.Cpdag.from_arcs(matrix, edge_direction="from row to column")))
    except AcyclicError:
        return matrix, None
    return matrix, dag


def measure(answer, truth, X, columns):
    """What can be said of an answer; columns says which column of the table the j-th of X is."""
    d = X.shape[1]
    arcs = [[int(columns[i]), int(columns[j])] for i, j in answer.pop("arcs")]
    matrix, dag = as_class(arcs, d)
    values = {"edges": int(np.count_nonzero(np.triu(matrix | matrix.T)))}
    if dag is None:
        values["problem"] = "no DAG has these edges"
    else:
        there = np.argsort(columns)
        values["score"] = gaussian_bic(Moments.from_array(X[:, there]), dag.adjacency, "ebic")
        values["class"] = hashlib.sha256(np.packbits(dag.cpdag().arcs).tobytes()).hexdigest()[:16]
    return answer | values | (compare(truth, matrix, dag) if truth is not None else {})


def compare(truth, matrix, dag):
    """Distances to the true graph; of the estimate's class, or of its edges alone where it has none."""
    joined, true = matrix | matrix.T, truth.adjacency | truth.adjacency.T
    right, found, there = (np.count_nonzero(np.triu(pairs)) for pairs in (joined & true, joined, true))
    values = {"precision": right / found if found else None, "recall": right / there if there else None}
    values["shd"] = acyclic.compare(truth, matrix, edge_direction="from row to column").shd
    if dag is None:
        return values
    d = truth.n_nodes
    estimate, wanted = acyclic.Dag(dag.adjacency, truth.names).cpdag(), truth.cpdag()
    found = acyclic.compare(truth, estimate)
    values |= {"shd_cpdag": found.shd_cpdag, "exact": estimate == wanted}
    if found.parent_aid is not None:
        values["aid"] = found.parent_aid / max(d * (d - 1), 1)
    return values


def check(peers, method, timeout):
    """Whether a method pays the price that it was given and points its edges the right way; in words.

    Two columns whose correlation gains a little more, or a little less, than the price; and x0 → x2 ← x1, x2 → x3.
    """
    n, d = 1000, 2
    drawn = np.random.default_rng(0).standard_normal((n, d))
    base = np.linalg.qr(drawn - drawn.mean(axis=0))[0] * np.sqrt(n)
    edges = []
    for gain in (price_of_parent("ebic", n, d) + beyond for beyond in (-0.3, 0.3)):
        r = np.sqrt(1 - np.exp(-gain / n))
        pair = np.column_stack([base[:, 0], r * base[:, 0] + np.sqrt(1 - r**2) * base[:, 1]])
        edges.append(peers.fit(method, pair, timeout))
    collider = acyclic.Dag.from_edges([("x0", "x2"), ("x1", "x2"), ("x2", "x3")], names=["x0", "x1", "x2", "x3"])
    found = peers.fit(method, acyclic.simulate(n=2000, graph=collider, random_state=1).X, timeout)
    if "error" in found or any("error" in answer for answer in edges):
        return found.get("error") or next(answer["error"] for answer in edges if "error" in answer)
    paid = "pays the price" if not edges[0]["arcs"] and edges[1]["arcs"] else "has a price of its own"
    right = sorted(found["arcs"]) == np.argwhere(collider.adjacency).tolist()
    return f"{paid}; {'finds' if right else 'does not find'} x0 → x2 ← x1, x2 → x3"
