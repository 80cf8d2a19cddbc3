"""Real data that come with the package, and published networks that come with pgmpy: nothing is downloaded.

`files/SOURCES.md` says where the bundled file comes from, how it was made and under which licence it stands. The
networks are not bundled: those who collected them state no terms under which they may be passed on.
"""

import gzip
import json
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.resources import files
from importlib.util import find_spec
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final, Literal, TypeVar

import numpy as np
from numpy.typing import NDArray

from acyclic.data.simulate import RandomState, linear_sem, population_covariance
from acyclic.errors import InputError, MissingExtraError, suggest
from acyclic.graphs.dag import Dag
from acyclic.types import Floats

Scalar = TypeVar("Scalar", np.float64, np.int64)

_SACHS_LINE: Final = "7466 rows, 11 columns: proteins and lipids in human T cells under nine conditions"
_NETWORK_LINES: Final = MappingProxyType(
    {
        "ecoli70": "Gaussian network (needs pgmpy), 46 nodes, 70 edges: gene expression in Escherichia coli",
        "magic-niab": "Gaussian network (needs pgmpy), 44 nodes, 66 edges: traits and markers of winter wheat",
        "magic-irri": "Gaussian network (needs pgmpy), 64 nodes, 102 edges: traits and markers of rice",
        "arth150": "Gaussian network (needs pgmpy), 107 nodes, 150 edges: gene expression in Arabidopsis thaliana",
    }
)
_NETWORK_SOURCES: Final = MappingProxyType(
    {
        "ecoli70": "J. Schäfer and K. Strimmer, Stat. Appl. Genet. Mol. Biol. 4 (2005) 32",
        "magic-niab": "M. Scutari, P. Howell, D. J. Balding and I. Mackay, Genetics 198 (2014) 129–137",
        "magic-irri": "M. Scutari, talk at the 5th International Conference on Quantitative Genetics (2016)",
        "arth150": "R. Opgen-Rhein and K. Strimmer, BMC Systems Biology 1 (2007) 37",
    }
)
_NETWORK_LICENCE: Final = "read from the installed pgmpy, which is under MIT; the bnlearn repository states no terms"

_CONDITIONS: Final = (
    "anti-CD3/CD28",
    "anti-CD3/CD28 + ICAM-2",
    "anti-CD3/CD28 + Akt inhibitor",
    "anti-CD3/CD28 + G0076",
    "anti-CD3/CD28 + psitectorigenin",
    "anti-CD3/CD28 + U0126",
    "anti-CD3/CD28 + LY294002",
    "PMA",
    "β2cAMP",
)
_IN_BOTH_GRAPHS: Final = (
    *(("Raf", "Mek"), ("Mek", "Erk"), ("Erk", "Akt"), ("Plcg", "PIP2"), ("PIP3", "PIP2")),
    *(("PKC", target) for target in ("PKA", "Raf", "Mek", "Jnk", "P38")),
    *(("PKA", target) for target in ("Raf", "Mek", "Erk", "Akt", "Jnk", "P38")),
)
_SACHS_GRAPHS: Final = MappingProxyType(
    {
        "17": (*_IN_BOTH_GRAPHS, ("Plcg", "PIP3")),
        "20": (*_IN_BOTH_GRAPHS, ("PIP3", "Plcg"), ("PIP2", "PKC"), ("PIP3", "Akt"), ("Plcg", "PKC")),
    }
)


@dataclass(frozen=True, eq=False)
class Dataset:
    """A table of measurements with the reference graphs that circulate for it.

    Attributes
    ----------
    name, description, source, licence : str
        What it is, whom to cite, and under which terms the rows may be passed on.
    X : ndarray of shape (n, d), read-only
        Raw values: neither transformed nor centred.
    names : tuple of str
        The columns.
    conditions : ndarray of int, shape (n,), read-only
        The experimental condition of each row, an index into `condition_names`.
    condition_names : tuple of str
        All conditions of the experiment, also those that no row of this selection has.
    graphs : mapping of str to Dag
        The reference graphs, each edge with weight 1.
    """

    name: str
    X: Floats
    names: tuple[str, ...]
    conditions: NDArray[np.int64]
    condition_names: tuple[str, ...]
    graphs: Mapping[str, Dag]
    source: str
    licence: str
    description: str


@dataclass(frozen=True, eq=False)
class GaussianNetwork:
    """A published linear Gaussian network, x_j = intercept_j + Σ_i W_ij x_i + N(0, variance_j).

    Attributes
    ----------
    name, description, source, licence : str
        What it is, whom to cite, and under which terms the parameters may be passed on.
    graph : Dag
        The network; its weights W are the published coefficients, rounded to four decimals.
    intercepts, variances : ndarrays of shape (d,), read-only
        Of each node given its parents.
    """

    name: str
    graph: Dag
    intercepts: Floats
    variances: Floats
    source: str
    licence: str
    description: str

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the nodes."""
        return self.graph.names

    def mean(self) -> Floats:
        """Return the mean of each node, (I − W)⁻ᵀ times the intercepts."""
        return self.intercepts + self.intercepts @ self.graph.total_effects()

    def covariance(self) -> Floats:
        """Return the covariance (d, d) of the nodes."""
        return population_covariance(self.graph, np.sqrt(self.variances))

    def sample(self, n: int, random_state: RandomState = 0) -> Floats:
        """Draw n rows (n, d); the first rows are the same for every n."""
        rows = linear_sem(self.graph, n, scale=np.sqrt(self.variances), random_state=random_state)
        return self.mean() + rows


def available() -> dict[str, str]:
    """Name everything that `load` takes, with one line on each; the networks need pgmpy."""
    return {"sachs": _SACHS_LINE, **_NETWORK_LINES}


def load(name: str) -> Dataset | GaussianNetwork:
    """Load by name what `available` lists: ``"sachs"`` as by `load_sachs()`, or a network.

    Examples
    --------
    >>> load("sachs").graphs["17"].n_edges
    17
    """
    _check_name(name, tuple(available()))
    return load_sachs() if name == "sachs" else load_network(name)


def load_sachs(rows: Literal["observational", "all"] = "observational") -> Dataset:
    """Load the flow cytometry of Sachs et al. (2005): 11 proteins and lipids in single human T cells.

    Parameters
    ----------
    rows : "observational" or "all"
        The 853 rows of the first condition, on which the papers' tables rest, or all 7466, which mix nine
        conditions, seven of them interventions.

    Returns
    -------
    Dataset
        With two reference graphs. ``"17"``, the one in most papers, has no v-structure: conditional
        independence alone orients none of its edges. ``"20"`` follows Fig. 2 of the article: it has
        PIP3 → Plcg for Plcg → PIP3, and PIP2 → PKC, PIP3 → Akt and Plcg → PKC besides. A graph with 18 edges
        that circulates too is left out, for it has a cycle.

    Examples
    --------
    >>> sachs = load_sachs()
    >>> sachs.X.shape, sachs.graphs["17"].n_edges
    ((853, 11), 17)
    """
    if rows not in ("observational", "all"):
        raise InputError(f"rows is {rows!r}; give 'observational' (853 rows) or 'all' (7466 rows)")
    lines = gzip.decompress(_file("sachs.csv.gz")).decode().splitlines()
    names = tuple(lines[0].split(",")[:-1])
    table = np.loadtxt(lines[1:], delimiter=",")
    if rows == "observational":
        table = table[table[:, -1] == 0]
    return Dataset(
        name="sachs",
        X=_read_only(table[:, :-1]),
        names=names,
        conditions=_read_only(table[:, -1].astype(np.int64)),
        condition_names=_CONDITIONS,
        graphs={key: Dag.from_edges(edges, names) for key, edges in _SACHS_GRAPHS.items()},
        source="K. Sachs, O. Perez, D. Pe'er, D. Lauffenburger and G. Nolan, Science 308 (2005) 523–529",
        licence="CC0-1.0 in cmu-phil/example-causal-datasets, MIT in the Causal Discovery Toolbox; same rows",
        description=_SACHS_LINE,
    )


def load_network(name: str) -> GaussianNetwork:
    """Load one of the four Gaussian networks that `available` names, from the files of pgmpy.

    Needs ``pip install 'acyclic[handoff]'``; pgmpy itself is not imported.

    Examples
    --------
    >>> load_network("arth150").sample(5).shape
    (5, 107)
    """
    _check_name(name, tuple(_NETWORK_LINES))
    stored = _read_network(name)
    weights = np.zeros((len(stored["nodes"]),) * 2)
    for source, target, coefficient in stored["edges"]:
        weights[source, target] = coefficient
    return GaussianNetwork(
        name=name,
        graph=Dag(weights, stored["nodes"]),
        intercepts=_read_only(np.array(stored["intercepts"])),
        variances=_read_only(np.array(stored["variances"])),
        source=_NETWORK_SOURCES[name],
        licence=_NETWORK_LICENCE,
        description=_NETWORK_LINES[name],
    )


def _read_network(name: str) -> dict[str, Any]:
    """Nodes, intercepts, variances and edges by position, from the file that pgmpy has of the network."""
    found = find_spec("pgmpy")
    if found is None or not found.submodule_search_locations:
        raise MissingExtraError(f"the network {name}", "pgmpy", "handoff")
    file = Path(found.submodule_search_locations[0]) / "utils" / "example_models" / f"{name}.json"
    if not file.exists():
        raise InputError(f"the installed pgmpy has no file {file.name}; install pgmpy 1.1.2, which has it")
    theirs = json.loads(file.read_text(encoding="utf-8"))
    nodes, tables = theirs["nodes"], theirs["cpds"]
    at = {node: position for position, node in enumerate(nodes)}
    slopes = {node: tables[node]["coefficients"] for node in nodes}
    return {
        "nodes": nodes,
        "intercepts": [slopes[node]["(Intercept)"][0] for node in nodes],
        "variances": [tables[node]["variance"][0] for node in nodes],
        "edges": [(at[a], at[b], slopes[b][a][0]) for b in nodes for a in slopes[b] if a != "(Intercept)"],
    }


def _check_name(name: object, accepted: tuple[str, ...]) -> None:
    if name not in accepted:
        listed = f"{suggest(str(name), accepted)}; give one of {', '.join(map(repr, accepted))}"
        raise InputError(f"there is no data set {name!r}{listed}")


def _file(name: str) -> bytes:
    return (files("acyclic.data") / "files" / name).read_bytes()


def _read_only(array: NDArray[Scalar]) -> NDArray[Scalar]:
    fixed = np.ascontiguousarray(array)
    fixed.setflags(write=False)
    return fixed
