"""Wrappers hand a kernel only what it can read: another type, shape or layout is an error, never memory corruption."""

import numpy as np
import pytest

from acyclic._native import (
    EXACT_NODES,
    ExactTables,
    OrderChain,
    elastic_net,
    elastic_nets,
    polish_order,
    select_parents,
    strong_components,
)
from acyclic._native.build import FOLDER

D = 4


def nets(d=D):
    zero, limit = np.zeros((d, d)), np.broadcast_to(np.inf, (d, d))
    names = ("Q", "c", "linear", "l1", "ridge", "lower", "upper", "start")
    return dict(zip(names, (np.eye(d), np.ones(d), -np.eye(d), zero, zero, -limit, limit, zero))) | {"tolerance": 1e-8}


def net(d=D):
    zero, limit = np.zeros(d), np.full(d, np.inf)
    names = ("Q", "linear", "l1", "ridge", "lower", "upper", "start")
    return dict(zip(names, (np.eye(d), -np.ones(d), zero, zero, -limit, limit, zero))) | {"tolerance": 1e-8}


def selection(d=D):
    rules = {"allowed": np.ones((d, d), np.uint8), "required": np.zeros((d, d), np.uint8)}
    numbers = {"n": 50.0, "cost": 4.0, "max_parents": 3, "detours": 1}
    return {"R": np.eye(d), "unit": np.ones(d)} | rules | numbers


def exact(d=D):
    given = selection(d)
    del given["detours"]
    return given


def chain(d=D):
    return selection(d) | {"precede": np.zeros((d, d), np.uint8), "most_branches": 1000, "seed": 0}


def polishing(d=D):
    numbers = {"reach": 3, "max_sweeps": 9, "tolerance": 1e-9}
    return {"L": np.eye(d), "weight": np.ones(d), "precede": np.zeros((d, d), np.uint8)} | numbers


def components(d=D):
    return {"support": np.ones((d, d), np.uint8)}


KERNELS = [
    (elastic_nets, nets),
    (elastic_net, net),
    (select_parents, selection),
    (OrderChain, chain),
    (ExactTables, exact),
    (polish_order, polishing),
    (strong_components, components),
]
ARRAYS = [
    (kernel, given, name)
    for kernel, given in KERNELS
    for name, value in given().items()
    if isinstance(value, np.ndarray)
]


def identify(value):
    return getattr(value, "__name__", str(value))


@pytest.mark.parametrize(("kernel", "given"), KERNELS, ids=identify)
def test_fitting_arguments_are_taken(kernel, given):
    kernel(**given())
    kernel(**given(1))


@pytest.mark.parametrize(("kernel", "given"), KERNELS, ids=identify)
def test_no_node_is_refused(kernel, given):
    with pytest.raises(ValueError, match="1 to 46340 nodes; got 0"):
        kernel(**given(0))


@pytest.mark.parametrize(("kernel", "given", "name"), ARRAYS, ids=identify)
@pytest.mark.parametrize("dtype", [np.float32, np.int64, np.bool_, ">f8"])
def test_another_type_is_refused(kernel, given, name, dtype):
    arguments = given()
    arguments[name] = np.zeros(arguments[name].shape, dtype)
    with pytest.raises(ValueError, match="the kernel reads"):
        kernel(**arguments)


@pytest.mark.parametrize(("kernel", "given", "name"), ARRAYS, ids=identify)
def test_another_shape_is_refused(kernel, given, name):
    for shorter in (np.s_[:-1], np.s_[..., :-1], np.s_[None]):
        arguments = given()
        arguments[name] = np.ascontiguousarray(arguments[name][shorter])
        with pytest.raises(ValueError, match="the kernel reads"):
            kernel(**arguments)


# Matrices of the many columns are transposed on the way, whatever their layout.
@pytest.mark.parametrize(
    ("kernel", "given", "name"), [row for row in ARRAYS if row[0] is not elastic_nets or row[2] in "Qc"], ids=identify
)
def test_an_array_with_gaps_is_refused(kernel, given, name):
    arguments = given()
    arguments[name] = np.repeat(arguments[name], 2, axis=-1)[..., ::2]
    with pytest.raises(ValueError, match="not C-contiguous"):
        kernel(**arguments)


@pytest.mark.parametrize("name", ["linear", "l1", "ridge", "lower", "upper", "start"])
def test_the_layout_of_many_columns_does_not_matter(name):
    rng = np.random.default_rng(0)
    arguments = nets() | {"linear": rng.standard_normal((D, D)), "start": rng.standard_normal((D, D))}
    expected = elastic_nets(**arguments)
    arguments[name] = np.asfortranarray(arguments[name])
    assert elastic_nets(**arguments).tobytes() == expected.tobytes()


@pytest.mark.parametrize(("kernel", "given"), [(select_parents, selection), (OrderChain, chain), (ExactTables, exact)])
@pytest.mark.parametrize("change", [{"n": 0.0}, {"n": np.nan}, {"cost": -1.0}, {"cost": np.nan}])
def test_numbers_without_meaning_are_refused(kernel, given, change):
    with pytest.raises(ValueError, match="n > 0 and a cost"):
        kernel(**given() | change)


@pytest.mark.parametrize(("kernel", "given"), [(select_parents, selection), (OrderChain, chain), (ExactTables, exact)])
@pytest.mark.parametrize("odd", [0.0, -1.0, np.nan, np.inf])
def test_noise_shares_that_are_not_positive_are_refused(kernel, given, odd):
    arguments = given()
    arguments["unit"][1] = odd
    with pytest.raises(ValueError, match="positive numbers"):
        kernel(**arguments)


def test_more_nodes_than_the_exact_search_has_room_for_are_refused():
    with pytest.raises(ValueError, match=f"up to {EXACT_NODES} nodes; got {EXACT_NODES + 1}"):
        ExactTables(**exact(EXACT_NODES + 1))


def test_the_header_says_how_many_nodes_the_exact_search_takes():
    assert f"#define EXACT_NODES {EXACT_NODES}\n" in (FOLDER / "kernels.h").read_text()


def test_a_factor_that_cannot_be_written_is_refused():
    arguments = polishing()
    arguments["L"].flags.writeable = False
    with pytest.raises(ValueError, match="read-only"):
        polish_order(**arguments)


def test_an_order_is_a_permutation_of_the_nodes():
    with OrderChain(**chain()) as search:
        for order in ([0, 1, 2, 2], [0, 1, 2, 4], [-1, 0, 1, 2]):
            with pytest.raises(ValueError, match="each of 0 to 3 once"):
                search.start(np.array(order, dtype=np.int32))
        with pytest.raises(ValueError, match="the kernel reads"):
            search.start(np.arange(D))


def test_a_closed_chain_is_refused():
    order = np.arange(D, dtype=np.int32)
    with OrderChain(**chain()) as search:
        search.start(order)
    for step in (lambda: search.start(order), search.best, search.parents, lambda: search.descend(1, 1e-6)):
        with pytest.raises(ValueError, match="closed"):
            step()
    search.close()


def test_one_column_is_the_same_as_many():
    rng = np.random.default_rng(1)
    d = 9
    Q, arguments = np.cov(rng.standard_normal((30, d)).T), nets(d)
    arguments |= {"Q": Q, "linear": -Q @ rng.standard_normal((d, d)), "l1": np.full((d, d), 0.2)}
    together = elastic_nets(**arguments)
    for j in range(d):
        names = ("linear", "l1", "ridge", "lower", "upper", "start")
        columns = {name: np.ascontiguousarray(arguments[name][:, j]) for name in names}
        assert elastic_net(Q, **columns, tolerance=1e-8).tobytes() == together[:, j].tobytes()
