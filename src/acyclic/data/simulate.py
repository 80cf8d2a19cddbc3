"""Random DAGs and structural equation models.

Graph, weights, noise scales, mechanisms and noise have a random stream each: changing one leaves the others
as they were, all methods see the same graph, and a larger n adds rows below the ones already there.
"""

import re
from copy import deepcopy
from dataclasses import dataclass
from typing import Any, Final, Literal, NamedTuple, TypeAlias, get_args

import numpy as np
from numpy.random import Generator, SeedSequence
from numpy.typing import ArrayLike, NDArray

from acyclic.data.categories import add_effects, draw_from_logits, draw_from_table, draw_levels
from acyclic.data.mechanisms import ADDITIVE, BLOCK, Nonlinear, lift_shares, respond, respond_apart, signed_uniform
from acyclic.data.noises import Noise, noise_deviation, standard_noise
from acyclic.data.schemes import draw_onion, standardize_after, standardize_inside
from acyclic.errors import InputError
from acyclic.graphs.cycles import sort_topologically
from acyclic.graphs.dag import Dag
from acyclic.ranges import ARRAY, FLAG, NONE, SEEDS, TEXT, an_instance, each, number, one_of, takes, whole
from acyclic.types import Bools, Floats, Integers

RandomState: TypeAlias = int | SeedSequence | Generator
Sem: TypeAlias = Literal["linear", Nonlinear, "mixed", "categorical"]
Scheme: TypeAlias = Literal["raw", "standardized", "iscm", "dao"]

_COUNT: Final = whole(least=1, most=10**9)
_NOISE: Final = one_of(*get_args(Noise))
_STREAMS: Final = SEEDS | an_instance("a Generator", Generator)
_WEIGHT_RANGE: Final = (0.5, 2.0)
_SHARE: Final = number(least=0, most=1)
# By what a row that is an outlier is multiplied.
_WILD: Final = 20.0


@takes(n_nodes=_COUNT, random_state=_STREAMS)
def random_dag(n_nodes: int, kind: str = "ER2", random_state: RandomState = 0) -> NDArray[np.bool_]:
    """Draw a random DAG, its nodes in random order, as a boolean matrix (d, d): ``[i, j]`` is the edge i → j.

    Parameters
    ----------
    n_nodes : int
        The number d of nodes.
    kind : str
        ``"ERk"``: Erdős–Rényi, each of the d(d−1)/2 pairs is an edge with probability 2k/(d−1), hence k·d
        edges on average; k ≤ (d−1)/2. Some papers write ER2k for this.
        ``"SFk"``: scale-free after Barabási and Albert. Each new node points to k draws from a bag that holds
        every earlier node once, and once more for every edge drawn to it. Draws are with replacement and
        duplicates merge: fewer than k·d edges (about 88 for SF2 on 50 nodes). Hubs have many parents; k < d.
        ``"SFk-distinct"``: the same, but a node draws until it has k different targets, or all earlier nodes,
        hence exactly k·d − k(k+1)/2 edges.
    random_state : int, SeedSequence or Generator
        A Generator is consumed: each call spawns new streams from it. A SeedSequence is left as it was.

    Examples
    --------
    >>> int(random_dag(50, "SF2-distinct").sum())
    97
    """
    (rng,) = _streams(random_state, 1)
    d = int(n_nodes)
    family, k = _parse_kind(kind)
    triangle = _erdos_renyi(d, k, rng) if family == "ER" else _scale_free(d, k, family == "SF-distinct", rng)
    place = rng.permutation(d)
    return triangle[np.ix_(place, place)]


@takes(low=number(), high=number(), random_state=_STREAMS)
def random_weights(adjacency: ArrayLike, low: float = 0.5, high: float = 2.0, random_state: RandomState = 0) -> Floats:
    """Draw a weight for each edge, uniform on [−high, −low] ∪ [low, high]; other entries are 0.

    The weight of i → j depends on the random state and the number of nodes, not on the other edges. It is not 0, also
    where low is.
    """
    present = np.asarray(adjacency) != 0
    if present.ndim != 2 or present.shape[0] != present.shape[1]:
        raise InputError(f"adjacency has shape {present.shape}; give a square matrix, [i, j] true for i → j")
    if not 0 <= low <= high < np.inf or not high > 0:
        raise InputError(f"the weights are to lie between low={low} and high={high}; give 0 <= low <= high, high > 0")
    (rng,) = _streams(random_state, 1)
    return np.where(present, signed_uniform(low, high, present.shape, rng), 0.0)


@takes(n=_COUNT, noise=_NOISE, random_state=_STREAMS)
def linear_sem(
    weights: Dag | ArrayLike,
    n: int,
    noise: Noise = "gaussian",
    scale: ArrayLike = 1.0,
    random_state: RandomState = 0,
) -> Floats:
    """Draw n rows of the linear model x_j = Σ_i W_ij x_i + e_j.

    Parameters
    ----------
    weights : Dag or array of shape (d, d)
        ``weights[i, j]`` is the coefficient of the edge i → j; the graph has to be acyclic.
    n : int
        The number of rows; the first rows are the same bytes for every n.
    noise : "gaussian", "exponential", "gumbel", "laplace", "uniform", "t3" or "t5"
        The law of e_j / scale_j: N(0, 1); Exponential(1) with mean 1 and variance 1; Gumbel(0, 1) with mean
        0.577 and variance π²/6. It is not centred: learners centre their data. Laplace, uniform and Student's t with
        three or five degrees of freedom have mean 0 and variance 1.
    scale : float or array of shape (d,)
        The factor on each node's noise: its standard deviation, or for Gumbel noise √6/π ≈ 0.78 times that.
    random_state : int, SeedSequence or Generator
        As in `random_dag`.
    """
    return _rows(_as_dag(weights), n, "linear", noise, scale, *_streams(random_state, 2)).rows


@takes(n=_COUNT, kind=one_of(*get_args(Nonlinear)), noise=_NOISE, random_state=_STREAMS)
def nonlinear_sem(
    weights: Dag | ArrayLike,
    n: int,
    kind: Nonlinear = "mlp",
    noise: Noise = "gaussian",
    scale: ArrayLike = 1.0,
    random_state: RandomState = 0,
) -> Floats:
    """Draw n rows of x_j = f_j(parents of j) + e_j; a node without parents is its noise e_j.

    Parameters
    ----------
    weights : Dag or array of shape (d, d)
        The graph. ``"cos"`` and ``"sin"`` use its weights, the other kinds only its edges.
    n : int
        The number of rows. The first rows are the same for every n: to the byte, or to 1e-8 for the
        ``"gp"`` kinds, whose time grows with n³ and memory with n².
    kind : str
        ``"cos"``: Σ W_ij cos(x_i + 1). ``"sin"``: 2 sin η + η with η = Σ W_ij (x_i + 0.5).
        ``"mlp"``: w₂ᵀ σ(W₁ x_pa), 100 hidden units, logistic σ. ``"mim"``: tanh(w₁ᵀ x_pa) + cos(w₂ᵀ x_pa) +
        sin(w₃ᵀ x_pa). Entries of these w are uniform on ±[0.5, 2].
        ``"gp"``: one draw from a Gaussian process with mean 0 and covariance exp(−|x_pa − x'_pa|²/2), 1e-8
        more on the diagonal (Zhang et al. 2015; Lachapelle et al. 2020). ``"gp-add"``: the sum of one such draw for
        each parent (Bühlmann, Peters & Ernest 2014). ``"mlp"`` and ``"mim"`` are those of Zheng et al. (2020).
    noise, scale, random_state
        As in `linear_sem`, which draws the same noise from the same random state.
    """
    return _rows(_as_dag(weights), n, kind, noise, scale, *_streams(random_state, 2)).rows


@takes(noise=_NOISE)
def population_covariance(weights: Dag | ArrayLike, scale: ArrayLike = 1.0, noise: Noise = "gaussian") -> Floats:
    """Return the covariance of the rows of `linear_sem`, (I − W)⁻ᵀ D (I − W)⁻¹ with D the noise variances.

    Examples
    --------
    >>> population_covariance([[0, 2], [0, 0]])
    array([[1., 2.],
           [2., 5.]])
    """
    dag = _as_dag(weights)
    deviation = _scales(scale, dag.n_nodes) * noise_deviation(noise)
    spread = deviation[:, None] * (np.eye(dag.n_nodes) + dag.total_effects())
    return np.asarray(spread.T @ spread)


@dataclass(frozen=True, eq=False)
class Simulation:
    """Rows with the model that made them.

    Attributes
    ----------
    graph : Dag
        The true graph. Its weights are the coefficients of the model, or 1 on each edge that has none: of mlp, mim and
        gp, and where an end is a category.
    X, scale : ndarrays of shape (n, d) and (d,), read-only
        The rows, and the scale of each node's noise as in `linear_sem`.
    noise, sem, scheme : str
        The law of the noise, the kind of mechanism, and what was done about the units.
    linear : ndarray of bool, shape (d, d), read-only
        The edges that are linear.
    levels : tuple of int
        How many levels a column has that is a category, whose rows are codes 0, 1, …; 0 for a number.
    """

    graph: Dag
    X: Floats
    scale: Floats
    noise: Noise
    sem: Sem
    scheme: Scheme
    linear: Bools
    levels: tuple[int, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the columns."""
        return self.graph.names


@takes(
    n_nodes=_COUNT | NONE,
    n=_COUNT,
    graph=TEXT | an_instance("a Dag", Dag) | ARRAY,
    sem=one_of(*get_args(Sem)),
    noise=_NOISE,
    scheme=one_of(*get_args(Scheme)),
    weight_range=each(number(least=0), size=2) | NONE,
    linear_share=_SHARE,
    least_share=_SHARE,
    outliers=_SHARE,
    standardize=FLAG,
    random_state=_STREAMS,
)
def simulate(
    n_nodes: int | None = None,
    n: int = 1000,
    *,
    graph: str | Dag | ArrayLike = "ER2",
    sem: Sem = "linear",
    noise: Noise = "gaussian",
    scheme: Scheme = "raw",
    variances: Literal["equal"] | tuple[float, float] | ArrayLike = "equal",
    weight_range: tuple[float, float] | None = None,
    linear_share: float = 0.0,
    least_share: float = 0.0,
    outliers: float = 0.0,
    standardize: bool = False,
    random_state: RandomState = 0,
) -> Simulation:
    """Draw a graph, weights and n rows of a structural equation model.

    Parameters
    ----------
    n_nodes, n : int
        Columns and rows; 10 columns by default, or those of the graph that is given.
    graph : str, Dag or array of shape (d, d)
        A kind of random graph as in `random_dag`, or a graph of your own, of which the edges are taken and not the
        weights (`linear_sem` takes those too).
    sem, noise : str
        ``"linear"`` or `kind` of `nonlinear_sem`, and `noise` of `linear_sem`; "t3" has heavy tails (no fourth moment;
        Student's t as in Lange, Little & Taylor 1989). Or with categories of two to four
        levels, `levels` of the result, whose rows are codes:

        ``"categorical"``: all columns are. Given each combination of its parents' levels, the probabilities of a node's
        levels are a draw of Dirichlet(1, …, 1): all of them are equally likely (Heckerman, Geiger & Chickering 1995).
        There is no noise besides.
        ``"mixed"``: a random half of them is (d/2, rounded down). A number is the sum of its parents, lines of numbers
        and effects of levels, and noise; a category has log-odds that are such sums (additive multinomial logit, as the
        conditionals of Lee & Hastie 2015). Intercepts are uniform on ±0.5, effects and slopes on ±[0.5, 2]. With
        ``scheme="iscm"`` log-odds do not grow along the order.
    scheme : {"raw", "standardized", "iscm", "dao"}
        What is done about the units, in which raw rows nearly give the causal order away. All but ``"raw"`` are for
        linear models, in which every column then has variance 1 in the population; `graph` and `scale` of the result
        are those of that model. ``"iscm"`` takes the other kinds of `sem` too.

        ``"raw"``: weights from `weight_range`, noise of these `variances`.
        ``"standardized"``: the same model, then each column divided by its standard deviation. Correlations, and R²,
        still tend to grow along the order.
        ``"iscm"``: each column is divided by its standard deviation before its children use it (internally
        standardised, Ormaniec et al. 2025). Where `sem` is not linear, it is brought to sample mean 0 and variance 1:
        the first rows then depend on n, and `scale` is that of the noise before.
        ``"dao"``: correlations uniform among all that are Markov to the graph (DAG adaptation of the onion method,
        Andrews & Kummerfeld 2024). It draws weights and variances itself; small effects are frequent.
    variances : "equal", tuple (low, high) or array of shape (d,)
        The squares of the noise scales: all 1, drawn uniformly from a range (a tuple), or given by node.
    weight_range : tuple (low, high), optional
        As in `random_weights`; (0.5, 2) by default.
    linear_share : float
        With which probability an edge of a curved `sem` is linear, its coefficient from `weight_range`, and added to
        what the other parents do (as Xu et al. 2024, CaPS). The edges that are linear at one share also are at larger
        ones.
    least_share : float
        Which share of the variance of its child each parent explains at least: the parts of weaker ones are multiplied
        by what is needed. For parents that add up: linear, cos and gp-add. The first rows then depend on n.
    outliers : float
        The probability of a row to be multiplied by 20, but for categories (gross errors, Tukey 1960).
    standardize : bool
        Bring each column to sample mean 0 and variance 1. Graph and scale stay those of the rows before, and the first
        rows then depend on n.
    random_state
        As in `random_dag`.

    Examples
    --------
    >>> simulate(n_nodes=20, n=500, graph="SF2", random_state=1).X.shape
    (500, 20)
    >>> honest = simulate(n_nodes=20, graph="ER4", scheme="dao")
    >>> bool(np.allclose(population_covariance(honest.graph, honest.scale).diagonal(), 1))
    True
    >>> half = simulate(8, 100, graph="ER1", sem="gp-add", linear_share=0.5, least_share=0.05, random_state=3)
    >>> int(half.linear.sum()), half.graph.n_edges
    (6, 9)
    >>> simulate(4, 100, graph="ER1", sem="mixed", random_state=1).levels
    (3, 2, 0, 0)
    """
    graph_rng, weight_rng, scale_rng, mechanism_rng, noise_rng = _streams(random_state, 5)
    _check_scheme(scheme, sem, variances, weight_range)
    _check_shares(scheme, sem, linear_share, least_share)
    adjacency, names = _edges(graph, n_nodes, graph_rng)
    if scheme == "dao":
        weights, shares = draw_onion(adjacency, weight_rng)
        scale = np.sqrt(shares) / noise_deviation(noise)
    else:
        span = _WEIGHT_RANGE if weight_range is None else weight_range
        weights = random_weights(adjacency, *span, weight_rng)
        scale = _draw_scales(variances, len(adjacency), scale_rng)
    linear = _draw_linear(adjacency, sem, linear_share, weight_rng.spawn(1)[0])
    if sem == "linear" and scheme in ("iscm", "standardized"):
        weights, scale = _to_unit_variance(scheme, weights, scale, noise)
    if sem not in ("linear", "cos", "sin", "mixed"):
        weights = np.where(linear, weights, adjacency)
    inside = scheme == "iscm" and sem != "linear"
    if (standardize or inside) and n < 2:
        raise InputError("standardising needs at least 2 rows; give a larger n")
    how = {"linear": linear, "least_share": least_share, "inside": inside}
    X, weights, levels = _rows(Dag(weights, names), n, sem, noise, scale, mechanism_rng, noise_rng, **how)
    numbers = np.array(levels) == 0
    if outliers:
        X[np.ix_(noise_rng.spawn(1)[0].random(int(n)) < outliers, numbers)] *= _WILD
    if standardize:
        X[:, numbers] = (X[:, numbers] - X[:, numbers].mean(axis=0)) / X[:, numbers].std(axis=0)
    if sem == "mixed":
        linear = adjacency & numbers & numbers[:, None]
        weights = np.where(linear, weights, adjacency)
    for array in (X, scale, linear):
        array.setflags(write=False)
    return Simulation(Dag(weights, names), X, scale, noise, sem, scheme, linear, levels)


def _draw_linear(adjacency: Bools, sem: Sem, share: float, rng: Generator) -> Bools:
    """Which edges are linear."""
    if sem == "linear":
        return np.array(adjacency)
    if not share:
        return np.zeros_like(adjacency)
    return adjacency & (rng.random(adjacency.shape) < share)


def _check_shares(scheme: str, sem: str, linear_share: float, least_share: float) -> None:
    if linear_share and sem in ("mixed", "categorical"):
        raise InputError(f"linear_share is for curved models, and sem is {sem!r}; leave it out, or give sem='gp-add'")
    if least_share and sem not in ADDITIVE:
        raise InputError(
            f"least_share is for parents that add up, and sem is {sem!r}; give one of {', '.join(map(repr, ADDITIVE))}"
        )
    if least_share and sem == "linear" and scheme != "raw":
        raise InputError(f"least_share changes weights, and scheme={scheme!r} sets them; give scheme='raw'")


def _check_scheme(scheme: str, sem: str, variances: object, weight_range: object) -> None:
    if scheme in ("dao", "standardized") and sem != "linear":
        raise InputError(
            f"scheme={scheme!r} is for linear models, and sem is {sem!r}; give scheme='iscm' or standardize=True"
        )
    if scheme == "dao" and (weight_range is not None or not isinstance(variances, str)):
        raise InputError("scheme='dao' draws weights and variances itself; leave weight_range and variances out")


def _edges(graph: str | Dag | ArrayLike, n_nodes: int | None, rng: Generator) -> tuple[Bools, tuple[str, ...] | None]:
    if isinstance(graph, str):
        return random_dag(10 if n_nodes is None else n_nodes, graph, rng), None
    dag = _as_dag(graph)
    if n_nodes not in (None, dag.n_nodes):
        raise InputError(f"n_nodes is {n_nodes!r}, but the graph has {dag.n_nodes} nodes; leave n_nodes out")
    return dag.adjacency, dag.names


def _to_unit_variance(scheme: str, weights: Floats, scale: Floats, noise: Noise) -> tuple[Floats, Floats]:
    """Weights and noise scales of the model in which each column has variance 1: made so at once, or at the end."""
    variances = (scale * noise_deviation(noise)) ** 2
    if scheme == "iscm":
        weights, variances = standardize_inside(weights, variances)
    else:
        weights, variances = standardize_after(weights, variances, population_covariance(weights, scale, noise))
    return weights, np.sqrt(variances) / noise_deviation(noise)


def _streams(random_state: RandomState, count: int) -> list[Generator]:
    if isinstance(random_state, Generator):
        return random_state.spawn(count)
    if isinstance(random_state, SeedSequence):
        seed = deepcopy(random_state)
    else:
        seed = SeedSequence(int(random_state))
    return [np.random.default_rng(child) for child in seed.spawn(count)]


def _parse_kind(kind: str) -> tuple[str, int]:
    match = re.fullmatch(r"(ER(?!.*-)|SF)([1-9][0-9]*)(-distinct)?", str(kind))
    if match is None:
        raise InputError(f"unknown kind of graph {kind!r}; give 'ERk', 'SFk' or 'SFk-distinct', k = 1, 2, …")
    return match[1] + (match[3] or ""), int(match[2])


def _erdos_renyi(d: int, k: int, rng: Generator) -> NDArray[np.bool_]:
    if 2 * k > d - 1:
        raise InputError(
            f"ER{k} asks for {k * d} edges, but a DAG on {d} nodes has at most {d * (d - 1) // 2}; "
            f"the largest k for {d} nodes is {(d - 1) // 2}, and ER{k} needs at least {2 * k + 1} nodes"
        )
    return np.tril(rng.random((d, d)) < 2 * k / (d - 1), -1)


def _scale_free(d: int, k: int, distinct: bool, rng: Generator) -> NDArray[np.bool_]:
    if k >= d:
        raise InputError(f"SF{k} asks each node for {k} earlier nodes; {d} nodes allow k up to {d - 1}")
    triangle = np.zeros((d, d), dtype=np.bool_)
    bag = [0]
    for new in range(1, d):
        targets = [bag[draw] for draw in rng.integers(len(bag), size=k)]
        while distinct and len(set(targets)) < min(k, new):
            targets.append(bag[rng.integers(len(bag))])
        triangle[new, targets] = True
        bag += [new, *(sorted(set(targets)) if distinct else targets)]
    return triangle


def _as_dag(weights: Dag | ArrayLike) -> Dag:
    return weights if isinstance(weights, Dag) else Dag(weights)


def _scales(scale: ArrayLike, d: int) -> Floats:
    given = np.asarray(scale, dtype=np.float64)
    if given.shape not in ((), (d,)) or not np.all((given > 0) & np.isfinite(given)):
        raise InputError(f"scale is {scale!r}; give one positive number, or {d} of them, one for each node")
    return np.full(d, given)


def _draw_scales(variances: str | tuple[float, float] | ArrayLike, d: int, rng: Generator) -> Floats:
    if isinstance(variances, str) and variances == "equal":
        return np.ones(d)
    given = np.asarray(variances, dtype=np.float64) if ARRAY.accepts(variances) else np.zeros(0)
    is_range = isinstance(variances, tuple)
    fits = given.shape == (2,) and given[0] <= given[1] if is_range else given.shape == (d,)
    if not fits or not np.all((given > 0) & np.isfinite(given)):
        raise InputError(f"variances is {variances!r}; give 'equal', a tuple (low, high) or {d} numbers > 0")
    return np.sqrt(rng.uniform(given[0], given[1], d) if is_range else given)


class _Drawn(NamedTuple):
    rows: Floats
    weights: Floats
    levels: tuple[int, ...]


def _rows(
    dag: Dag,
    n: int,
    sem: Sem,
    noise: Noise,
    scale: ArrayLike,
    mechanism_rng: Generator,
    noise_rng: Generator,
    **how: Any,
) -> _Drawn:
    """Rows of a model, and its weights and levels."""
    n, d = int(n), dag.n_nodes
    shape = (-(-n // BLOCK) * BLOCK, d)
    noises = np.ascontiguousarray((_scales(scale, d) * standard_noise(noise, shape, noise_rng)).T)
    model = _Model(np.array(dag.weights), sem, noises, n, mechanism_rng.spawn(d), **how)
    if sem in ("mixed", "categorical"):
        kind_rng, uniform_rng = noise_rng.spawn(2)
        place = kind_rng.permutation(d)
        model.levels = draw_levels(place < (d // 2 if sem == "mixed" else d), kind_rng)
        model.uniform = np.ascontiguousarray(uniform_rng.random(shape).T)
    for j in sort_topologically(dag.weights):
        model.add_column(j)
    return _Drawn(np.ascontiguousarray(model.columns[:, :n].T), model.weights, tuple(model.levels.tolist()))


class _Model:
    """A model whose columns (d, n) are computed one after the other, causes first.

    inside: each number has sample mean 0 and variance 1 before its children use it. least_share: each parent explains
    at least this share of the variance of its child.
    """

    def __init__(
        self,
        weights: Floats,
        sem: Sem,
        noises: Floats,
        n: int,
        streams: list[Generator],
        *,
        linear: Bools | None = None,
        least_share: float = 0.0,
        inside: bool = False,
    ) -> None:
        self.weights, self.sem, self.columns, self.n, self.streams = weights, sem, noises, n, streams
        self.linear = np.zeros(weights.shape, dtype=np.bool_) if linear is None else linear
        self.least_share, self.inside = least_share, inside
        self.levels: Integers = np.zeros(len(weights), dtype=np.intp)
        self.uniform = np.empty((0, 0))

    def add_column(self, j: int) -> None:
        parents = np.flatnonzero(self.weights[:, j])
        if self.levels[j]:
            self.columns[j] = self._category(j, parents)
            return
        if parents.size:
            self.columns[j] += self._signal(j, parents)
        if self.inside:
            column = self.columns[j, : self.n]
            self.columns[j] = (self.columns[j] - column.mean()) / column.std()

    def _signal(self, j: int, parents: Integers) -> Floats:
        given = self.weights[parents, j], self.columns[parents], self.linear[parents, j]
        if self.sem == "mixed":
            weights, inputs, _ = given
            return np.asarray(add_effects(1, weights, self.levels[parents], inputs, self.streams[j])[0])
        if not self.least_share:
            return respond(self.sem, *given, self.streams[j])
        parts = respond_apart(self.sem, *given, self.streams[j])
        factors = lift_shares(parts[:, : self.n], self.columns[j, : self.n], self.least_share)
        if self.sem != "gp-add":
            self.weights[parents, j] *= factors
        else:
            self.weights[parents, j] *= np.where(self.linear[parents, j], factors, 1.0)
        return np.asarray((factors[:, None] * parts).sum(axis=0))

    def _category(self, j: int, parents: Integers) -> Floats:
        levels, rng, inputs, uniform = int(self.levels[j]), self.streams[j], self.columns[parents], self.uniform[j]
        if self.sem == "categorical":
            return draw_from_table(levels, self.levels[parents], inputs, uniform, rng)
        base = rng.uniform(-0.5, 0.5, (levels, 1))
        logits = base + add_effects(levels, self.weights[parents, j], self.levels[parents], inputs, rng)
        return draw_from_logits(np.broadcast_to(logits, (levels, len(uniform))), uniform)
