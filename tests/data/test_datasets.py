import json
import pickle
from importlib.util import find_spec
from types import SimpleNamespace

import numpy as np
import pytest

from acyclic.data import datasets
from acyclic.data.datasets import Dataset, GaussianNetwork, available, load, load_network, load_sachs
from acyclic.errors import InputError, MissingExtraError
from acyclic.graphs.cycles import is_acyclic
from acyclic.graphs.dag import Dag

SIZES = [853, 902, 911, 723, 810, 799, 848, 913, 707]
networks = pytest.mark.skipif(find_spec("pgmpy") is None, reason="networks need the extra handoff")
NETWORKS = {"ecoli70": (46, 70), "magic-niab": (44, 66), "magic-irri": (64, 102), "arth150": (107, 150)}


def edge_set(graph):
    return {(source, target) for source, target, _ in graph.edges()}


@pytest.fixture(scope="module")
def sachs():
    return load_sachs("all")


def test_all_rows_of_sachs(sachs):
    assert sachs.X.shape == (7466, 11) and sachs.X.dtype == np.float64 and sachs.X.flags.c_contiguous
    assert sachs.names == ("Raf", "Mek", "Plcg", "PIP2", "PIP3", "Erk", "Akt", "PKA", "PKC", "P38", "Jnk")
    assert sachs.X[0].tolist() == [26.4, 13.2, 8.82, 18.3, 58.8, 6.61, 17.0, 414.0, 17.0, 44.9, 40.0]
    assert sachs.X[1].tolist() == [35.9, 16.5, 12.3, 16.8, 8.13, 18.6, 32.5, 352.0, 3.37, 16.5, 61.5]
    assert sachs.X.min() == 1.0 and sachs.X.max() == 9058.0


def test_conditions_of_sachs(sachs):
    assert np.array_equal(sachs.conditions, np.repeat(np.arange(9), SIZES))
    assert len(sachs.condition_names) == 9 == len(set(sachs.condition_names))
    assert sachs.condition_names[0] == "anti-CD3/CD28" and sachs.condition_names[5].endswith("U0126")
    assert sachs.condition_names[7:] == ("PMA", "β2cAMP")
    # U0126 inhibits Mek: Erk, its target, has to be lower than without it.
    assert np.median(sachs.X[sachs.conditions == 5, 5]) < np.median(sachs.X[sachs.conditions == 0, 5])


def test_observational_rows_are_the_first_853(sachs):
    observational = load_sachs()
    assert np.array_equal(observational.X, sachs.X[:853])
    assert not observational.conditions.any() and len(observational.conditions) == 853
    assert np.array_equal(load("sachs").X, observational.X)


def test_reference_graphs_of_sachs(sachs):
    assert list(sachs.graphs) == ["17", "20"]
    smaller, larger = edge_set(sachs.graphs["17"]), edge_set(sachs.graphs["20"])
    assert (len(smaller), len(larger)) == (17, 20)
    assert smaller - larger == {("Plcg", "PIP3")}
    assert larger - smaller == {("PIP3", "Plcg"), ("PIP2", "PKC"), ("PIP3", "Akt"), ("Plcg", "PKC")}
    for graph in sachs.graphs.values():
        assert graph.names == sachs.names and is_acyclic(graph.weights)


def test_the_graph_with_17_edges_is_the_published_list(sachs):
    children = {"Raf": "Mek", "Mek": "Erk", "Erk": "Akt", "Plcg": "PIP2 PIP3", "PIP3": "PIP2"}
    children |= {"PKA": "Raf Mek Erk Akt P38 Jnk", "PKC": "Raf Mek PKA P38 Jnk"}
    expected = {(source, target) for source, targets in children.items() for target in targets.split()}
    assert edge_set(sachs.graphs["17"]) == expected


def test_no_edge_of_the_17_is_oriented_by_conditional_independence(sachs):
    cpdag = sachs.graphs["17"].cpdag()
    assert not cpdag.directed.any()
    assert cpdag.undirected.sum() == 2 * 17


@networks
@pytest.mark.parametrize(("name", "size"), NETWORKS.items())
def test_networks_have_the_published_size(name, size):
    network = load_network(name)
    assert (network.graph.n_nodes, network.graph.n_edges) == size
    assert network.names == network.graph.names and network.name == name
    assert network.intercepts.shape == network.variances.shape == (size[0],)
    assert (network.variances > 0).all()
    assert f"{size[0]} nodes, {size[1]} edges" in network.description == available()[name]


@networks
def test_parameters_of_one_node_are_the_published_ones():
    ecoli = load_network("ecoli70")
    node = ecoli.names.index("aceB")
    assert ecoli.graph.parents("aceB") == ("icdA",)
    assert ecoli.graph.weights[ecoli.names.index("icdA"), node] == 1.0464
    assert (ecoli.intercepts[node], ecoli.variances[node]) == (0.1324, 0.0853)


@networks
@pytest.mark.parametrize("name", NETWORKS)
def test_moments_solve_the_equations_of_the_network(name):
    network = load_network(name)
    W, mean, covariance = network.graph.weights, network.mean(), network.covariance()
    assert np.allclose(mean, network.intercepts + mean @ W)
    remainder = np.eye(len(W)) - W
    assert np.allclose(remainder.T @ covariance @ remainder, np.diag(network.variances), atol=1e-9)


@networks
@pytest.mark.parametrize("name", NETWORKS)
def test_samples_have_the_moments_of_the_network(name):
    network = load_network(name)
    X = network.sample(20_000, random_state=1)
    deviation = np.sqrt(np.diag(network.covariance()))
    assert np.abs((X.mean(axis=0) - network.mean()) / deviation).max() < 4.5 / np.sqrt(20_000)
    difference = (np.cov(X.T) - network.covariance()) / np.outer(deviation, deviation)
    assert np.abs(difference).max() < 5 * np.sqrt(2 / 20_000)


@networks
def test_samples_are_repeatable_and_prefixes():
    network = load_network("magic-niab")
    assert np.array_equal(network.sample(30, 4), network.sample(100, 4)[:30])
    assert not np.array_equal(network.sample(30, 4), network.sample(30, 5))


@networks
def test_everything_available_loads_with_source_and_licence():
    assert list(available()) == ["sachs", *NETWORKS]
    for name, line in available().items():
        loaded = load(name)
        assert isinstance(loaded, Dataset if name == "sachs" else GaussianNetwork)
        assert loaded.name == name and loaded.description == line
        assert loaded.source and loaded.licence


@networks
def test_arrays_are_read_only(sachs):
    network = load_network("ecoli70")
    for array in (sachs.X, sachs.conditions, network.intercepts, network.variances, network.graph.weights):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 0


@networks
def test_loaded_objects_can_be_pickled(sachs):
    again = pickle.loads(pickle.dumps(sachs))
    assert np.array_equal(again.X, sachs.X) and again.graphs["17"] == sachs.graphs["17"]
    assert pickle.loads(pickle.dumps(load_network("ecoli70"))).graph.n_edges == 70


@pytest.mark.parametrize("name", ["asia", "", None, 3])
def test_unknown_names_are_refused_with_the_known_ones(name):
    with pytest.raises(InputError, match="'sachs', 'ecoli70', 'magic-niab', 'magic-irri', 'arth150'"):
        load(name)
    with pytest.raises(InputError, match="'ecoli70', 'magic-niab', 'magic-irri', 'arth150'"):
        load_network(name)


def test_sachs_is_not_a_network_and_its_rows_have_two_selections():
    with pytest.raises(InputError, match="no data set 'sachs'"):
        load_network("sachs")
    with pytest.raises(InputError, match="'observational'"):
        load_sachs("interventional")


def test_networks_come_from_the_files_of_pgmpy(tmp_path, monkeypatch):
    folder = tmp_path / "pgmpy" / "utils" / "example_models"
    folder.mkdir(parents=True)
    spec = SimpleNamespace(submodule_search_locations=[str(tmp_path / "pgmpy")])
    monkeypatch.setattr(datasets, "find_spec", {"pgmpy": spec}.get)
    with pytest.raises(InputError, match=r"no file ecoli70\.json; install pgmpy 1\.1\.2"):
        load_network("ecoli70")
    tables = {
        "b": {"coefficients": {"(Intercept)": [1.5], "a": [-2.0]}, "variance": [0.25]},
        "a": {"coefficients": {"(Intercept)": [0.0]}, "variance": [4.0]},
    }
    (folder / "ecoli70.json").write_text(json.dumps({"nodes": ["b", "a"], "arcs": [], "cpds": tables}))
    network = load_network("ecoli70")
    assert network.graph == Dag.from_edges([("a", "b", -2.0)], names=["b", "a"])
    assert network.intercepts.tolist() == [1.5, 0.0] and network.variances.tolist() == [0.25, 4.0]
    monkeypatch.setattr(datasets, "find_spec", lambda name: None)
    with pytest.raises(MissingExtraError, match=r"pip install 'acyclic\[handoff\]'"):
        load_network("ecoli70")
