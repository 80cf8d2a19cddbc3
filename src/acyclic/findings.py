"""What a run found: graph, verdict, what is behind them, and one file format for all of it."""

from __future__ import annotations

import json
import math
import os
import platform
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any, Self

import numpy as np
import scipy

from acyclic._version import __version__
from acyclic.data.model import SHAPE as MODEL
from acyclic.data.model import Model
from acyclic.data.table import Table
from acyclic.discrete.categorical import Distributions
from acyclic.documents import parse_json
from acyclic.errors import InputError, show_name
from acyclic.facts import Caution, Doubt, Empty, Ended, Fact, Note, Orientation, Removal, Standing
from acyclic.files import write_text
from acyclic.graphs.dag import Dag
from acyclic.graphs.drawing import draw_picture
from acyclic.graphs.equivalence import Cpdag
from acyclic.graphs.showing import make_frame
from acyclic.judging import words
from acyclic.judging.alternatives import CHANGES, NamedAlternative, name_alternatives
from acyclic.judging.verdict import Margin, Pair, Verdict
from acyclic.judging.weighing import Evidence, weigh
from acyclic.learners import DagLearner
from acyclic.learners.edge_effects import SHAPE as EFFECT
from acyclic.learners.edge_effects import EdgeEffect, Form
from acyclic.ranges import (
    ANYTHING,
    EDGES,
    FLAG,
    MAPPING,
    NONE,
    PAIRS,
    SHARE,
    TEXT,
    Range,
    a_fact,
    check_document,
    each,
    member,
    number,
    one_of,
    record,
    whole,
)
from acyclic.types import Kind

FORMAT, FORMAT_1 = "acyclic result 2", "acyclic result 1"
EVIDENCE = ("confidence", "audit", "curve")
# Columns of the table of edges that come from the bootstrap.
SHARES = ("this_way", "either_way", "lower", "upper")
# Those that the fitted mechanisms tell: the two first where an edge is no line between numbers.
EFFECTS = ("effect", "slope", "share")
# Those that a rule makes of its shares, where that reaches.
PROBABILITIES = ("probability", "direction_probability")
# Those that come from a search which compares graphs.
MARGINS = ("margin", "turned", "left_out")
# The words of format 1 for what orients an edge.
_SUPPORT_1 = {"equal variances": Orientation.EQUAL_VARIANCES, "": Orientation.UNDETERMINED}
NO_RESULT = "this is not a result file of acyclic"
_NO_WEIGHT = Range("a finite number, not 0", lambda value: number().accepts(value) and value != 0)
_SHARES = {"frequency": SHARE, "adjacency": SHARE, "lower": number() | NONE, "upper": number() | NONE}
_COUNTS = {"n_nodes": whole(least=1), "n_edges": whole(least=0), "n_cut": whole(least=0)}
_OF_VERDICT = {**_COUNTS, "method": TEXT, "h": number() | NONE, "threshold": number(least=0), "details": MAPPING}
_FACTS = {"removed": Removal, "notes": Note, "cautions": Caution}
_VERDICT = record(
    {
        **_OF_VERDICT,
        "settings": MAPPING,
        "end": a_fact(Ended),
        "orientation": member(Orientation),
        "empty": a_fact(Empty) | NONE,
        **{name: each(a_fact(kinds)) for name, kinds in _FACTS.items()},
    },
    {**{entry.name: ANYTHING for entry in fields(Verdict)}, "standing": each(a_fact(Standing))},
    closed=True,
)
_VERDICT_1 = record(
    {
        **_OF_VERDICT,
        **dict.fromkeys(("reason", "rule", "empty"), TEXT),
        **dict.fromkeys(("notes", "warnings"), each(TEXT)),
        "converged": FLAG,
        "removed": EDGES,
    }
)
_POINT = record({"step": number(), "objective": number() | NONE, "h": number() | NONE})
_PROVENANCE = record(
    {},
    {
        "versions": MAPPING,
        "settings": MAPPING,
        "run": MAPPING | NONE,
        "rows": number(least=0) | NONE,
        "seconds": number() | NONE,
        **dict.fromkeys(("data", "table_name"), TEXT | NONE),
    },
)


_LEVELS = Range(
    MAPPING.words, MAPPING.accepts, lambda given, at: ((f"{at}.{k}", v, each(TEXT)) for k, v in given.items())
)


def _shape(form: str, support: Range, verdict: Range, remarks: Mapping[str, Range]) -> Range:
    """What a result file of a format holds."""
    margins = dict.fromkeys(Margin._fields, number(least=0) | NONE)
    edge = record({"source": TEXT, "target": TEXT, "weight": _NO_WEIGHT, "support": support}, margins, closed=True)
    other = record({"excess": number(least=0), **dict.fromkeys(("with", "without", *CHANGES), PAIRS)})
    shares = each(record({"source": TEXT, "target": TEXT}, _SHARES | dict.fromkeys(PROBABILITIES, SHARE | NONE)))
    needed = {"format": one_of(form), "names": each(TEXT), "edges": each(edge)}
    needed |= {"undirected": PAIRS, "directed": PAIRS, "verdict": verdict, "provenance": _PROVENANCE}
    evidence = {
        "confidence": record({"edges": shares}, {"unseen": SHARE | NONE, **remarks}),
        "audit": record({}, remarks),
        "curve": record({}, {"trace": each(_POINT), **remarks}),
    }
    optional = {name: part | NONE for name, part in evidence.items()}
    optional |= {"alternatives": each(other), "deviations": each(number(least=0))}
    optional |= {"kinds": each(member(Kind)), "levels": _LEVELS, "model": MODEL, "effects": each(EFFECT)}
    return record(needed, optional, closed=True)


SHAPE = _shape(FORMAT, member(Orientation), _VERDICT, {"notes": each(MAPPING), "end": a_fact(Ended)})
_SENTENCES = dict.fromkeys(("notes", "reasons"), each(TEXT))
SHAPE_1 = _shape(FORMAT_1, member(Orientation) | one_of(*_SUPPORT_1), _VERDICT_1, _SENTENCES)
# What has another name in the provenance since format 1, whose digest was that of the moments, not of the values.
_ORIGIN_1 = {"data": "moments", "table": "table_name"}


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
        """What orients each edge."""
        return self.verdict.support

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
    def standardised(self) -> Mapping[Pair, float]:
        """The weight of each edge between columns of variance 1; empty where deviations are not known."""
        if not self.deviations:
            return {}
        scale = dict(zip(self.graph.names, self.deviations))
        edges = self.graph.edges()
        return {(a, b): weight * scale[a] / scale[b] if scale[b] > 0 else 0.0 for a, b, weight in edges}

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
        ``support`` is what orients the edge, a member of `Orientation`, and ``rests_on`` says it in words.
        """
        found = {(row["source"], row["target"]): row for row in (self.confidence or {}).get("edges", ())}
        strength = self.standardised
        return [
            {
                "source": source,
                "target": target,
                "weight": weight,
                "standardised": strength.get((source, target)),
                **_effect(self.effects.get((source, target))),
                **_confidence(found, source, target, known=self.confidence is not None),
                **_likely(self.confidence or {}, found, source, target),
                **_margins(self.verdict.margins.get((source, target), Margin())),
                **self._rest(source, target),
            }
            for source, target, weight in sorted(
                self.graph.edges(), key=lambda edge: -abs(strength.get(edge[:2], edge[2]))
            )
        ]

    def _rest(self, source: str, target: str) -> dict[str, str]:
        support = self.support.get((source, target), Orientation.UNDETERMINED)
        turned = self.verdict.margins.get((source, target), Margin()).turned
        return {"support": support.value, "rests_on": words.say_support(support, turned)}

    def shown_columns(self) -> dict[str, str]:
        """Columns of the table of edges that people are shown, with their titles: probabilities rather than shares."""
        held = set(self.edge_columns()) - (set(SHARES) if self.is_calibrated else set())
        return {name: title for name, title in words.TITLES.items() if name in held}

    @property
    def is_calibrated(self) -> bool:
        """Whether the shares of a bootstrap were turned into probabilities."""
        return self.confidence is not None and self.confidence.get("unseen") is not None

    def edge_columns(self) -> list[str]:
        """Columns of the table of edges, as files hold them: those of bootstrap and search where there was one."""
        shares, margins, scaled = self.confidence is not None, bool(self.verdict.margins), bool(self.deviations)
        return [
            "source",
            "target",
            "weight",
            *(["standardised"] * scaled),
            *(EFFECTS[:2] * any(one.form is not Form.LINE for one in self.effects.values())),
            *(EFFECTS[2:] * bool(self.effects)),
            *(SHARES * shares),
            *(PROBABILITIES * self.is_calibrated),
            *(MARGINS * margins),
            "support",
            "rests_on",
        ]

    def __str__(self) -> str:
        return str(self.verdict)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.graph!r}, {self.verdict.method})"

    def _repr_html_(self) -> str:
        assumed = [edge for edge, support in self.support.items() if support is not Orientation.INDEPENDENCE]
        return f"<div>{draw_picture(self.graph, assumed)}{self.verdict._repr_html_()}</div>"

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
        pairs = [(source, target) for source, target, _ in self.graph.edges()]
        plain = {
            "format": FORMAT,
            "names": self.graph.names,
            **({"kinds": self.kinds, "levels": self.levels} if self.kinds else {}),
            "edges": [
                {
                    "source": source,
                    "target": target,
                    "weight": weight,
                    "support": self.support.get((source, target), Orientation.UNDETERMINED).value,
                    **_known(self.verdict.margins.get((source, target), Margin())),
                }
                for source, target, weight in self.graph.edges()
            ],
            "undirected": self.cpdag.undirected_edges(),
            "directed": self.cpdag.directed_edges(),
            "verdict": self.verdict.to_dict(),
            "provenance": dict(self.provenance),
            **({"deviations": list(self.deviations)} if self.deviations else {}),
            **({"alternatives": [other.to_dict(pairs) for other in self.alternatives]} if self.alternatives else {}),
            **{name: dict(getattr(self, name)) for name in EVIDENCE if getattr(self, name) is not None},
        }
        text = json.dumps(make_plain(plain), indent=1, allow_nan=False)
        # Long lists of numbers are for programs: each part on a line of its own.
        parts: dict[str, Any] = {} if self.fitted is None else {"model": self.fitted.to_dict()}
        if self.effects:
            parts["effects"] = [self.effects[pair].to_dict() for pair in pairs]
        lines = [f',\n "{name}": {json.dumps(part, separators=(",", ":"))}' for name, part in parts.items()]
        return text.removesuffix("\n}") + "".join(lines) + "\n}"

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write it to a JSON file: whole, or not at all."""
        write_text(path, self.to_json())

    @classmethod
    def from_json(cls, text: str) -> Self:
        """The inverse of `to_json`; files of format 1 are read too."""
        try:
            plain = parse_json(text)
        except InputError as error:
            raise InputError(f"{NO_RESULT}: ", *error.parts) from None
        check_document(plain, record({"format": one_of(FORMAT, FORMAT_1)}), NO_RESULT)
        old = plain["format"] == FORMAT_1
        check_document(plain, SHAPE_1 if old else SHAPE, NO_RESULT)
        names, edges = plain["names"], plain["edges"]
        try:
            graph = Dag.from_edges([(e["source"], e["target"], e["weight"]) for e in edges], names)
            cpdag = Cpdag.from_edges(plain["directed"], plain["undirected"], names)
            pairs = [(e["source"], e["target"]) for e in edges]
            others = [NamedAlternative.from_dict(other, names, pairs) for other in plain.get("alternatives", ())]
        except KeyError as error:
            raise InputError(
                f"{NO_RESULT}: alternatives name the unknown node {show_name(str(error.args[0]))}"
            ) from None
        except InputError as error:
            raise InputError(f"{NO_RESULT}: ", *error.parts) from None
        support = {(e["source"], e["target"]): _support(e["support"], old) for e in edges}
        margins = {pair: _read_margin(e) for pair, e in zip(support, edges) if e.keys() & set(Margin._fields)}
        stated = plain["verdict"]
        verdict = Verdict.from_format_1(stated, support) if old else Verdict.from_dict(stated, support, margins)
        found = {name: plain[name] for name in EVIDENCE if plain.get(name) is not None}
        found = {name: _upgrade(part) if old else part for name, part in found.items()}
        origin = {_ORIGIN_1.get(name, name) if old else name: entry for name, entry in plain["provenance"].items()}
        kinds, levels = tuple(map(Kind, plain.get("kinds", ()))), plain.get("levels", {})
        found |= {"kinds": kinds, "levels": {name: tuple(known) for name, known in levels.items()}}
        scale = tuple(map(float, plain.get("deviations", ())))
        found["fitted"] = _read_model(plain.get("model"), names, graph)
        found["effects"] = _read_effects(plain.get("effects", ()), pairs)
        try:
            result = cls(graph, verdict, cpdag, origin, **found, alternatives=tuple(others), deviations=scale)
        except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
            raise InputError(f"{NO_RESULT}: parts of it do not fit each other ({error})") from None
        result._check_whole()
        return result

    def _check_whole(self) -> None:
        """Raise an InputError where parts of a file, each well-formed, do not belong together."""
        graph, verdict = self.graph, self.verdict
        joined = graph.adjacency | graph.adjacency.T
        if len(self.deviations) not in (0, graph.n_nodes):
            raise InputError(f"{NO_RESULT}: deviations has to hold {graph.n_nodes} numbers; got {len(self.deviations)}")
        if not np.array_equal(joined, self.cpdag.arcs | self.cpdag.arcs.T):
            raise InputError(f"{NO_RESULT}: directed and undirected have to join the nodes that edges join")
        for name, count in (("n_nodes", graph.n_nodes), ("n_edges", graph.n_edges)):
            if getattr(verdict, name) != count:
                raise InputError(f"{NO_RESULT}: verdict.{name} has to be {count}; got {getattr(verdict, name)}")
        if len(self.kinds) not in (0, graph.n_nodes):
            raise InputError(f"{NO_RESULT}: kinds has to have {graph.n_nodes} values; got {len(self.kinds)}")
        if unknown := [name for name in self.levels if name not in graph.names]:
            raise InputError(f"{NO_RESULT}: levels name the unknown node {show_name(unknown[0])}")
        try:
            str(verdict)
        except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
            raise InputError(f"{NO_RESULT}: the values of a fact in verdict do not fit its kind ({error})") from None


def rows_used(table: Table, verdict: Verdict) -> Table:
    """What a graph was learned from: the table, without the rows that were set aside if the verdict says so."""
    return table.inliers if any(note.kind is Note.OUTLIERS for note in verdict.notes) else table


def is_findings(text: str) -> bool:
    """Whether a JSON text says that it is a result, whatever else it holds."""
    return FORMAT in text or FORMAT_1 in text


def list_versions() -> dict[str, str]:
    """Versions of what computed it."""
    return {
        "acyclic": __version__,
        "numpy": np.__version__,
        "scipy": scipy.__version__,
        "python": platform.python_version(),
    }


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


def _read_model(plain: Mapping[str, Any] | None, names: Sequence[str], graph: Dag) -> Model | None:
    if plain is None:
        return None
    try:
        model = Model.from_dict(plain, names)
    except (ArithmeticError, LookupError, TypeError, ValueError) as error:
        raise InputError(f"{NO_RESULT}: model: {error}") from None
    if not np.array_equal(model.adjacency, graph.adjacency):
        raise InputError(f"{NO_RESULT}: model: its parents are not those of edges")
    return model


def _read_effects(plain: Sequence[Mapping[str, Any]], pairs: Sequence[Pair]) -> dict[Pair, EdgeEffect]:
    if len(plain) not in (0, len(pairs)):
        raise InputError(f"{NO_RESULT}: effects has to have {len(pairs)} values; got {len(plain)}")
    try:
        return dict(zip(pairs, map(EdgeEffect.from_dict, plain)))
    except ValueError as error:
        raise InputError(f"{NO_RESULT}: effects: {error}") from None


def _end_of(part: Mapping[str, Any] | None) -> Ended:
    plain = (part or {}).get("end")
    return Ended(plain["kind"]) if plain else Ended.COMPLETE


def _confidence(found: Mapping[Pair, Mapping[str, Any]], source: str, target: str, *, known: bool) -> dict[str, Any]:
    if not known:
        return dict.fromkeys(SHARES)
    own, other = found.get((source, target), {}), found.get((target, source), {})
    return {
        "this_way": float(own.get("frequency", 0.0)),
        "either_way": float((own or other).get("adjacency", 0.0)),
        "lower": own.get("lower"),
        "upper": own.get("upper"),
    }


def _effect(found: EdgeEffect | None) -> dict[str, Any]:
    if found is None:
        return dict.fromkeys(EFFECTS)
    return {"effect": found.form.value, "slope": found.slope, "share": found.share}


def _likely(
    confidence: Mapping[str, Any], found: Mapping[Pair, Mapping[str, Any]], source: str, target: str
) -> dict[str, float | None]:
    """Probabilities of an edge; of one that no draw has, those of a pair that none joins."""
    unseen, own, other = confidence.get("unseen"), found.get((source, target)), found.get((target, source))
    if unseen is None:
        return dict.fromkeys(PROBABILITIES)
    if own is None and other is not None and other.get("direction_probability") is not None:
        own = {**other, "direction_probability": 1 - other["direction_probability"]}
    usual = dict(zip(PROBABILITIES, (unseen, 0.5)))
    return {name: float(usual[name] if own is None or own.get(name) is None else own[name]) for name in PROBABILITIES}


def _margins(margin: Margin) -> dict[str, float | None]:
    return {"margin": margin.least, **margin._asdict()}


def _known(margin: Margin) -> dict[str, float]:
    """The margins that a file holds: one that is infinite becomes null there, one that is not known is left out."""
    return {name: value for name, value in margin._asdict().items() if value is not None}


def _read_margin(edge: Mapping[str, Any]) -> Margin:
    read = {name: math.inf if edge[name] is None else float(edge[name]) for name in Margin._fields if name in edge}
    return Margin(**read)


def _support(word: str, old: bool) -> Orientation:
    return _SUPPORT_1[word] if old and word in _SUPPORT_1 else Orientation(word)


def _upgrade(part: Mapping[str, Any]) -> dict[str, Any]:
    """Evidence of format 1, whose notes and reasons were sentences."""
    plain = {name: value for name, value in part.items() if name != "text"}
    if "format" in plain:
        plain["format"] = str(plain["format"]).replace(" 1", " 2")
    for name in ("notes", "reasons"):
        if name in plain:
            plain[name] = [{"kind": "unknown", "values": {"text": str(text)}} for text in plain[name]]
    return plain


def _as_dict(name: str, value: Any) -> Mapping[str, Any]:
    plain = value.to_dict() if hasattr(value, "to_dict") else value
    if not isinstance(plain, Mapping):
        raise InputError(f"{name} is {type(value).__name__}; give what acyclic returned for it, or its to_dict()")
    return plain


def make_plain(value: Any) -> Any:
    """Values that every reader of JSON takes: numbers that are not finite, which it does not have, become null."""
    if isinstance(value, np.generic | np.ndarray):
        value = value.tolist()
    if isinstance(value, Mapping):
        return {str(key): make_plain(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return [make_plain(entry) for entry in value]
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if value is None or isinstance(value, str | int):
        return value
    raise TypeError(f"{type(value).__name__} cannot be written to a result file")
