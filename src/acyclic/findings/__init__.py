"""What a run found: graph, verdict and what is behind them; its table of edges, its file format and its origin."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Self

import numpy as np

from acyclic.data.model import Model
from acyclic.data.table import Table
from acyclic.discrete.categorical import Distributions
from acyclic.errors import InputError
from acyclic.facts import Doubt, Ended, Fact, Orientation
from acyclic.files import write_text
from acyclic.findings.edge_table import EdgeTable
from acyclic.findings.file_format import NO_RESULT, check_whole, read_result, write_result
from acyclic.findings.origin import list_versions, rows_used
from acyclic.graphs.dag import Dag
from acyclic.graphs.drawing import draw_picture
from acyclic.graphs.equivalence import Cpdag
from acyclic.graphs.showing import make_frame
from acyclic.judging.alternatives import NamedAlternative, name_alternatives
from acyclic.judging.verdict import Pair, Verdict
from acyclic.judging.weighing import Evidence, weigh
from acyclic.learners import DagLearner
from acyclic.learners.edge_effects import EdgeEffect
from acyclic.types import Kind


@dataclass(frozen=True, eq=False)
class Findings:
    """A learned graph and what it rests on.

    Attributes
    ----------
    graph : Dag
        Names, weights and edges.
    verdict : Verdict
        How the run ended, and which assumption orients the edges. ``str()`` is readable prose.
    cpdag : Cpdag
        The equivalence class: what conditional independence alone can say of the graph.
    provenance : dict
        Method, settings, versions, seed, digest of the data, number of rows, seconds.
    confidence, audit, curve : dict, optional
        What `acyclic.bootstrap`, `acyclic.audit` and `acyclic.choose_l1` found, as their ``to_dict`` gives it.
    alternatives : tuple of NamedAlternative
        Classes whose score is within log n of that of the graph, best first, each with its ``excess`` and the edges
        that it would change: ``turned``, ``fixed``, ``removed``, ``added``. Empty where the method compares none.
    deviations : tuple of float
        Standard deviations of the columns, which make weights comparable, or 1 for each where they are so already;
        empty where they are not known.
    table : Table, optional
        What it was learned from, where it is at hand: no file holds it, and a pickle does not either.
    kinds : tuple of Kind
        What each column holds, in the order of ``graph.names``; empty in files that do not tell.
    levels : mapping of str to tuple of str
        The levels of the columns that have some, in the order of their codes.
    fitted : Model, optional
        The functions and the noise behind the edges; `model` is the same, or says that there is none.
    effects : mapping of (str, str) to EdgeEffect
        What each edge does: its slope, the share of its child's variance, its curve or the effects of its levels.
    """

    graph: Dag
    verdict: Verdict
    cpdag: Cpdag
    provenance: Mapping[str, Any] = field(default_factory=dict)
    confidence: Mapping[str, Any] | None = None
    audit: Mapping[str, Any] | None = None
    curve: Mapping[str, Any] | None = None
    alternatives: tuple[NamedAlternative, ...] = ()
    deviations: tuple[float, ...] = ()
    kinds: tuple[Kind, ...] = ()
    levels: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    table: Table | None = field(default=None, repr=False)
    fitted: Model | None = field(default=None, repr=False)
    effects: Mapping[Pair, EdgeEffect] = field(default_factory=dict, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "verdict", replace(self.verdict, assessment=weigh(self.verdict, self._evidence())))

    def _evidence(self) -> Evidence:
        """What is weighed: the rows of the table of edges, and what bootstrap and audit found."""
        audit, draws = self.audit or {}, (self.confidence or {}).get("draws", 0)
        adequacy = audit.get("adequacy") or {}
        # A graph fits the rows that it was learned from too well: those that it has not seen say more.
        p_values = [adequacy.get(name) for name in ("held_out", "p_value")]
        return Evidence(
            rows=self.edges(),
            cpdag=self.cpdag,
            n_rows=self.provenance.get("rows"),
            draws=int(draws),
            audited=bool(audit),
            doubts=tuple(Fact.from_dict(Doubt, fact) for fact in audit.get("reasons", ())),
            unsteady=frozenset((a, b) for fate in ("turning", "vanishing") for a, b in audit.get(fate, ())),
            claims=int(adequacy.get("tested", 0)),
            p_value=next((p for p in p_values if p is not None), None),
            hidden=tuple((pair["node"], pair["other"]) for pair in adequacy.get("hidden", ())),
        )

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "table": None}

    @classmethod
    def of(cls, model: DagLearner, table: Table, **provenance: Any) -> Self:
        """What a fitted learner found, with what it was fitted to."""
        trace = [{"step": point.step, "objective": point.objective, "h": point.h} for point in model.solution_.trace]
        origin = {"versions": list_versions(), "rows": table.moments.n, "data": table.digest}
        used = rows_used(table, model.verdict_)
        return cls(
            graph=model.causal_graph_,
            verdict=model.verdict_,
            cpdag=model.causal_graph_.cpdag(),
            provenance={**provenance, **origin},
            curve={"trace": trace} if trace else None,
            alternatives=name_alternatives(model.rivals_, model.causal_graph_, model.verdict_),
            deviations=_deviations(model, used),
            table=table,
            kinds=table.kinds,
            levels=table.levels,
            **_model_of(model),
        )

    @property
    def model(self) -> Model:
        """The fitted model, which can draw rows, predict, intervene and say how likely other rows are."""
        if self.fitted is None:
            raise InputError("this result holds no fitted model, as files of older versions do not; learn it again")
        return self.fitted

    @property
    def support(self) -> Mapping[Pair, Orientation]:
        """What orients each edge: what the verdict says, unless draws of the rows turn it nearly as often as not."""
        return self.edge_table.support

    @property
    def undecided(self) -> frozenset[Pair]:
        """Edges whose direction cannot be defended: they are drawn without an arrowhead."""
        support = self.support
        pairs = ((source, target) for source, target, _ in self.graph.edges())
        return frozenset(pair for pair in pairs if not support.get(pair, Orientation.UNDETERMINED).is_decided)

    @property
    def ended(self) -> Ended:
        """How the run ended: the first of fit, bootstrap and audit that did not come to its own end says so."""
        parts = [self.verdict.end.kind, *(_end_of(part) for part in (self.confidence, self.audit))]
        return next((end for end in parts if end.stopped), self.verdict.end.kind)

    def interrupted(self) -> Self:
        """The same after Ctrl-C, which ends whatever would follow."""
        if self.ended.stopped:
            return self
        return replace(self, verdict=replace(self.verdict, end=Fact.of(Ended.INTERRUPTED)))

    @property
    def edge_table(self) -> EdgeTable:
        """The edges with what is known of each."""
        return EdgeTable(self.graph, self.verdict, self.confidence, self.deviations, self.effects)

    @property
    def standardised(self) -> Mapping[Pair, float]:
        """The weight of each edge between columns of variance 1; empty where deviations are not known."""
        return self.edge_table.standardised

    def edges(self) -> list[dict[str, Any]]:
        """One row per edge, the strongest first: the one table that terminal, page and CSV show.

        ``standardised`` is the weight between columns of variance 1, which units do not change; None where deviations
        are not known, and then the strongest are those of the largest weights.
        ``effect`` is "line", "curve" or "levels"; ``slope`` is its average slope between columns of variance 1, None
        where an end has more than two levels; ``share`` is how much of the child's variance, or of the deviance of a
        category, is explained by this edge and not by the other parents: see `EdgeEffect`, of which ``effects`` holds
        the curves and the effects of levels.
        ``this_way`` and ``either_way`` are the shares of the bootstrap's draws with the edge in its direction and in
        any; ``lower`` and ``upper`` hold 90 % of its weights there. All are None without a bootstrap. ``probability``
        is how likely an edge joins the two, in any direction, and ``direction_probability`` how likely it points this
        way if so: what the shares amount to; None where `acyclic.trust.calibration` does not reach. ``turned`` and
        ``left_out`` are how much higher the lowest score that was met is with the edge turned, and without it (inf if
        no such graph was met); ``margin`` is the smaller one. They are None where no search looked for it.
        ``decided`` is whether its direction can be defended, ``support`` what orients it, a member of `Orientation`,
        and ``rests_on`` says that in words.
        """
        return self.edge_table.rows()

    def edge_columns(self) -> list[str]:
        """Columns of the table of edges, as files hold them: those of bootstrap and search where there was one."""
        return self.edge_table.columns()

    def shown_columns(self) -> dict[str, str]:
        """Columns of the table of edges that people are shown, with their titles: probabilities rather than shares."""
        return self.edge_table.shown()

    @property
    def is_calibrated(self) -> bool:
        """Whether the shares of a bootstrap were turned into probabilities."""
        return self.edge_table.is_calibrated

    def __str__(self) -> str:
        return str(self.verdict)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.graph!r}, {self.verdict.method})"

    def _repr_html_(self) -> str:
        assumed = [edge for edge, support in self.support.items() if support is not Orientation.INDEPENDENCE]
        # Widths that units do not change, where deviations are known.
        scaled = Dag.from_edges([(*pair, weight) for pair, weight in self.standardised.items()], names=self.graph.names)
        shown = scaled if scaled.n_edges == self.graph.n_edges else self.graph
        return f"<div>{draw_picture(shown, assumed, self.undecided)}{self.verdict._repr_html_()}</div>"

    def to_frame(self) -> Any:
        """The table of edges as a frame of pandas or Polars, whichever there is."""
        columns = self.edge_columns()
        return make_frame([{name: row[name] for name in columns} for row in self.edges()])

    def with_evidence(self, *, confidence: Any = None, audit: Any = None, curve: Any = None) -> Self:
        """The same with what was found on it later; what is None stays as it is.

        Parameters
        ----------
        confidence, audit, curve : optional
            What `acyclic.bootstrap`, `acyclic.audit` and `acyclic.choose_l1` return, or the ``to_dict()`` of it.
        """
        given = {"confidence": confidence, "audit": audit, "curve": curve}
        plain: dict[str, Any] = {name: _as_dict(name, value) for name, value in given.items() if value is not None}
        return replace(self, **plain)

    def with_table(self, table: Table) -> Self:
        """The same with the table that it was learned from, which a file does not hold; another one is refused."""
        if table.names != self.graph.names or self.provenance.get("data") not in (None, table.digest):
            raise InputError("the table is not the one that the result was learned from; its values or columns differ")
        return replace(self, table=table)

    def to_json(self) -> str:
        """All of it as text in the format that `load` reads."""
        return write_result(self)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write it to a JSON file: whole, or not at all."""
        write_text(path, self.to_json())

    @classmethod
    def from_json(cls, text: str) -> Self:
        """The inverse of `to_json`; files of format 1 are read too."""
        held = read_result(text)
        try:
            found = cls(**held)
        except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
            raise InputError(f"{NO_RESULT}: parts of it do not fit each other ({error})") from None
        check_whole(found)
        return found


def _deviations(learner: DagLearner, table: Table) -> tuple[float, ...]:
    # The strength of an edge between categories has no unit: the numbers of their levels mean nothing.
    if isinstance(learner.mechanisms_, Distributions):
        return (1.0,) * len(table.names)
    return tuple(np.sqrt(np.diag(table.moments.covariance)).tolist())


def _model_of(learner: DagLearner) -> dict[str, Any]:
    """The fitted model and what its edges do; neither for columns of several numbers each, which have none."""
    try:
        return {"fitted": learner.model_, "effects": learner.effects_}
    except InputError:
        return {}


def _end_of(part: Mapping[str, Any] | None) -> Ended:
    plain = (part or {}).get("end")
    return Ended(plain["kind"]) if plain else Ended.COMPLETE


def _as_dict(name: str, value: Any) -> Mapping[str, Any]:
    plain = value.to_dict() if hasattr(value, "to_dict") else value
    if not isinstance(plain, Mapping):
        raise InputError(f"{name} is {type(value).__name__}; give what acyclic returned for it, or its to_dict()")
    return plain
