"""weigh(): from a verdict, the table of edges, the bootstrap and the audit to one grade and what to do next.

This is the only place where a grade is decided. It is about what a result claims: its links, and the directions that it
decides. What it leaves open is told, and lowers no grade. Every ground has a best grade that it allows (`allow`), and
the grade is the worst of these.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from acyclic.facts import Caution, Doubt, Fact, Grade, Ground, Orientation, Standing, Step
from acyclic.graphs.equivalence import Cpdag, apply_meek_rules, count_consequences
from acyclic.judging.assessment import Assessment, Pair
from acyclic.judging.verdict import Verdict
from acyclic.types import Bools

__all__ = ["Evidence", "allow", "weigh"]

# A link or direction is firm that this share of the draws has; fewer draws tell nothing of either.
FIRM, ENOUGH_DRAWS = 0.8, 10
# The grade that the share of firm links or directions allows, from this share on.
BY_SHARE = ((0.9, Grade.STRONG), (2 / 3, Grade.FAIR), (1 / 3, Grade.WEAK), (0.0, Grade.POOR))
# The best grade that a ground allows where it is not a matter of a share; grounds that are not here allow any.
BEST = {
    **dict.fromkeys((Ground.NOT_REDRAWN, Ground.FEW_DRAWS), Grade.FAIR),
    Ground.MODEL_DOUBTED: Grade.WEAK,
    Ground.UNITS_DOUBTED: Grade.POOR,
    Ground.ENDED_EARLY: Grade.WEAK,
    Ground.FEW_ROWS: Grade.WEAK,
    Ground.NOT_COMPARED: Grade.FAIR,
    Ground.LONE_CHAIN: Grade.FAIR,
    Ground.KNOWLEDGE_AGAINST_DATA: Grade.FAIR,
}
SHARED = (
    *(Ground.LINKS_REDRAWN, Ground.DIRECTIONS_REDRAWN, Ground.LINKS_AHEAD),
    *(Ground.LINKS_LIKELY, Ground.DIRECTIONS_LIKELY),
)
# Directions that another unit for a column can turn, and those that rest on nothing but an order.
UNIT_BOUND = (Orientation.EQUAL_VARIANCES, Orientation.VARIANCE_ORDER, Orientation.LOSS, Orientation.GENERATIVE)
BARE_ORDERS = (Orientation.VARIANCE_ORDER, Orientation.R2_ORDER)
MOST_STEPS, MOST_STRONGEST = 3, 3


@dataclass(frozen=True)
class Evidence:
    """What is weighed beside a verdict.

    Attributes
    ----------
    rows : sequence of mapping
        The table of edges, as `Findings.edges` gives it: what is said above it and what stands in it are the same.
    cpdag : Cpdag
    n_rows : float or None
        Of the table that was learned from.
    draws : int
        Of the bootstrap; 0 where there was none.
    audited : bool
    doubts : tuple of Fact of Doubt
        What the audit has against the directions.
    unsteady : collection of (source, target)
        Edges that the audit found otherwise, or not at all, in other units.
    claims : int
        Independencies that the graph implies and that were tested; 0 where none was.
    p_value : float or None
        Of all of them together.
    hidden : sequence of (one, other)
        Pairs that something hidden may act on.
    """

    rows: Sequence[Mapping[str, Any]]
    cpdag: Cpdag
    n_rows: float | None = None
    draws: int = 0
    audited: bool = False
    doubts: tuple[Fact[Doubt], ...] = ()
    unsteady: frozenset[Pair] = frozenset()
    claims: int = 0
    p_value: float | None = None
    hidden: tuple[Pair, ...] = ()

    @property
    def near(self) -> float:
        """A difference of scores that is a near-tie: log n."""
        return math.log(max(self.n_rows or 0.0, 3.0))


def weigh(verdict: Verdict, evidence: Evidence) -> Assessment:
    """What all that is known of a result amounts to."""
    rows = evidence.rows
    grounds = [] if not rows else sorted(_find_grounds(verdict, evidence), key=lambda fact: -allow(fact).rank)
    worst = max((allow(fact) for fact in grounds), key=lambda grade: grade.rank, default=Grade.STRONG)
    decided = [Orientation(row["support"]).is_decided for row in rows]
    linked = {row[end] for row in rows for end in ("source", "target")}
    return Assessment(
        grade=worst if rows else Grade.NOTHING,
        grounds=tuple(grounds),
        steps=tuple(_find_steps(verdict, evidence, grounds)),
        links=len(rows),
        decided=sum(decided),
        strongest=tuple((row["source"], row["target"], sure) for row, sure in zip(rows[:MOST_STRONGEST], decided)),
        apart=tuple(name for name in evidence.cpdag.names if name not in linked),
        rows=evidence.n_rows,
    )


def allow(ground: Fact[Ground]) -> Grade:
    """The best grade that a ground allows.

    Examples
    --------
    >>> str(allow(Fact.of(Ground.LINKS_REDRAWN, firm=7, of=10, draws=100)))
    'fair'
    """
    if ground.kind in SHARED:
        share = ground.get("expected", ground.get("firm")) / ground["of"]
        return next(grade for least, grade in BY_SHARE if share >= least)
    if ground.kind is Ground.UNITS_MATTER:
        return Grade.FAIR if ground["count"] > 0.1 * ground["of"] else Grade.STRONG
    if ground.kind is Ground.IMPLICATIONS_BROKEN:
        return Grade.WEAK if ground["broken"] > 0.1 * ground["claims"] else Grade.FAIR
    return BEST.get(ground.kind, Grade.STRONG)


def _find_grounds(verdict: Verdict, evidence: Evidence) -> list[Fact[Ground]]:
    return [
        *_weigh_edges(evidence),
        *_weigh_audit(verdict, evidence),
        *_weigh_search(verdict),
        *_weigh_knowledge(verdict, evidence),
    ]


def _weigh_edges(evidence: Evidence) -> list[Fact[Ground]]:
    """How many links and directions are firm."""
    rows = evidence.rows
    if evidence.draws >= ENOUGH_DRAWS:
        claimed = [row for row in rows if Orientation(row["support"]).is_claimed]
        if all(row.get("probability") is not None for row in rows):
            return _expect(rows, claimed, evidence.draws)
        links = sum(row["either_way"] >= FIRM for row in rows)
        said = [Fact.of(Ground.LINKS_REDRAWN, firm=links, of=len(rows), draws=evidence.draws, least=FIRM)]
        if claimed:
            firm = sum(row["this_way"] >= FIRM * row["either_way"] > 0 for row in claimed)
            told = {"firm": firm, "of": len(claimed), "draws": evidence.draws, "least": FIRM}
            said.append(Fact.of(Ground.DIRECTIONS_REDRAWN, **told))
        return said
    known = [row["left_out"] for row in rows if row["left_out"] is not None]
    firm = sum(margin > evidence.near for margin in known)
    ahead = [Fact.of(Ground.LINKS_AHEAD, firm=firm, of=len(known), limit=evidence.near)] if known else []
    few = Fact.of(Ground.FEW_DRAWS, draws=evidence.draws) if evidence.draws else Fact.of(Ground.NOT_REDRAWN)
    return [*ahead, few]


def _expect(rows: Sequence[Mapping[str, Any]], claimed: Sequence[Mapping[str, Any]], draws: int) -> list[Fact[Ground]]:
    """How many links and directions are expected to be right, where their probabilities are known."""
    expected = sum(row["probability"] for row in rows)
    said = [Fact.of(Ground.LINKS_LIKELY, expected=expected, of=len(rows), draws=draws)]
    if claimed:
        right = sum(row["direction_probability"] for row in claimed)
        said.append(Fact.of(Ground.DIRECTIONS_LIKELY, expected=right, of=len(claimed)))
    return said


def _weigh_audit(verdict: Verdict, evidence: Evidence) -> list[Fact[Ground]]:
    """What units and residuals say against what is claimed; doubts about directions that are left open say nothing."""
    said = []
    supports = [Orientation(row["support"]) for row in evidence.rows]
    kinds = {doubt.kind for doubt in evidence.doubts}
    bare = sum(support in BARE_ORDERS for support in supports)
    bound = sum(support in UNIT_BOUND for support in supports)
    if bare or (bound and kinds & {Doubt.UNEQUAL_VARIANCES, Doubt.STANDARDIZED}):
        said.append(Fact.of(Ground.UNITS_DOUBTED, count=bare or bound))
    said += [
        Fact.of(Ground.MODEL_DOUBTED, *doubt.about, count=doubt["count"]) for doubt in _find_misfits(verdict, evidence)
    ]
    free = [row for row, support in zip(evidence.rows, supports) if support not in UNIT_BOUND]
    if moved := sum((row["source"], row["target"]) in evidence.unsteady for row in free):
        said.append(Fact.of(Ground.UNITS_MATTER, count=moved, of=len(evidence.rows)))
    said += _weigh_claims(evidence)
    if evidence.audited and all(allow(ground) is Grade.STRONG for ground in said):
        said.append(Fact.of(Ground.AUDIT_PASSED))
    return said


def _weigh_claims(evidence: Evidence) -> list[Fact[Ground]]:
    """Whether the rows bear out the independencies that the graph implies."""
    broken = [doubt for doubt in evidence.doubts if doubt.kind is Doubt.VIOLATED]
    if broken:
        counts = {"broken": broken[0]["count"], "claims": broken[0]["tested"], "p": broken[0]["p_value"]}
        return [Fact.of(Ground.IMPLICATIONS_BROKEN, *broken[0].about, **counts)]
    if not evidence.claims or evidence.p_value is None:
        return []
    return [Fact.of(Ground.IMPLICATIONS_HOLD, claims=evidence.claims, p=evidence.p_value)]


def _find_misfits(verdict: Verdict, evidence: Evidence) -> list[Fact[Doubt]]:
    """What residuals have against the learned mechanisms; that a spread changes is no news where it is learned too."""
    spreads = verdict.orientation is Orientation.MEAN_AND_SCALE
    kinds = (Doubt.BENT,) if spreads else (Doubt.BENT, Doubt.SPREADING)
    return [doubt for doubt in evidence.doubts if doubt.kind in kinds]


def _is_linear(verdict: Verdict) -> bool:
    """Whether all mechanisms were taken to be lines."""
    curved = verdict.orientation in (Orientation.CURVATURE, Orientation.MEAN_AND_SCALE)
    return not curved and verdict.settings.get("mechanisms", "linear") == "linear"


def _weigh_search(verdict: Verdict) -> list[Fact[Ground]]:
    said = [] if verdict.converged else [Fact(Ground.ENDED_EARLY, (), (("end", verdict.end.kind.value),))]
    for caution in verdict.cautions:
        if caution.kind is Caution.FEW_ROWS:
            said.append(Fact(Ground.FEW_ROWS, (), caution.values))
        elif caution.kind is Caution.NOT_COMPARED:
            said.append(Fact(Ground.NOT_COMPARED, (), caution.values))
    lone = [fact for fact in verdict.standing if fact.kind is Standing.CHAINS and (fact.get("agreeing") or 0) < 2]
    return [*said, *(Fact(Ground.LONE_CHAIN, (), fact.values) for fact in lone)]


def _weigh_knowledge(verdict: Verdict, evidence: Evidence) -> list[Fact[Ground]]:
    fixed = sum(row["support"] == Orientation.KNOWLEDGE for row in evidence.rows)
    priced = [fact for fact in verdict.standing if fact.kind is Standing.KNOWLEDGE_PRICED]
    asked = [fact for fact in verdict.standing if fact.kind is Standing.KNOWLEDGE_UNPRICED]
    if not (fixed or priced or asked):
        return []
    price = priced[0]["price"] if priced else None
    against = price is not None and price > evidence.near
    kind = Ground.KNOWLEDGE_AGAINST_DATA if against else Ground.KNOWLEDGE
    return [Fact.of(kind, fixed=fixed, of=len(evidence.rows), price=price, limit=evidence.near)]


def _find_steps(verdict: Verdict, evidence: Evidence, grounds: Sequence[Fact[Ground]]) -> list[Fact[Step]]:
    kinds = {ground.kind: ground for ground in grounds}
    said = _find_orienting(evidence, doubted=Ground.UNITS_DOUBTED in kinds)
    if Ground.ENDED_EARLY in kinds:
        said.insert(0, Fact.of(Step.MORE_TIME))
    if Ground.KNOWLEDGE_AGAINST_DATA in kinds:
        said.append(Fact.of(Step.CHECK_KNOWLEDGE))
    if Ground.MODEL_DOUBTED in kinds:
        step = Step.OTHER_MODEL if _is_linear(verdict) else Step.LOOK_AT_ROWS
        said.append(Fact(step, kinds[Ground.MODEL_DOUBTED].about))
    if Ground.IMPLICATIONS_BROKEN in kinds and evidence.hidden:
        said.append(Fact.of(Step.HIDDEN_CAUSE, *evidence.hidden[0]))
    if Ground.FEW_ROWS in kinds:
        said.append(Fact.of(Step.MORE_ROWS))
    if Ground.NOT_REDRAWN in kinds:
        said.append(Fact.of(Step.REDRAW))
    if Ground.FEW_DRAWS in kinds:
        said.append(Fact.of(Step.MORE_DRAWS))
    said += _find_weakest(evidence)
    return said or ([Fact.of(Step.ASK)] if evidence.rows else [])


def _find_orienting(evidence: Evidence, *, doubted: bool) -> list[Fact[Step]]:
    """Open edges by how many others follow from their direction, on the average of both; the most useful first."""
    nodes, directed, undirected = _mark_open(evidence, doubted=doubted)
    names = [evidence.cpdag.names[node] for node in nodes]
    counts = count_consequences(*apply_meek_rules(directed, undirected)) if nodes else {}
    pairs = [(i, j) for i, j in counts if i < j]
    useful = sorted((pair for pair in pairs if _gain(counts, pair)), key=lambda pair: (-_gain(counts, pair), pair))
    said = [
        Fact.of(Step.ORIENT, names[i], names[j], forward=counts[i, j], backward=counts[j, i])
        for i, j in useful[:MOST_STEPS]
    ]
    loose = [(row["source"], row["target"]) for row in evidence.rows if not Orientation(row["support"]).is_decided]
    if loose and not said:
        said.append(Fact.of(Step.ORIENT_EACH, *loose[0], count=len(loose)))
    return said


def _gain(counts: Mapping[tuple[int, int], int], pair: tuple[int, int]) -> int:
    return counts[pair] + counts[pair[::-1]]


def _mark_open(evidence: Evidence, *, doubted: bool) -> tuple[list[int], Bools, Bools]:
    """Nodes with open edges, and the edges between these with and without a direction.

    Where units cannot carry directions, those that rest on them are open too. Nothing follows for other nodes: by each
    of Meek's rules all nodes around an edge that becomes directed are joined to it by open edges.
    """
    at, undirected = {name: place for place, name in enumerate(evidence.cpdag.names)}, evidence.cpdag.undirected
    loose = (Orientation.UNDETERMINED, *(UNIT_BOUND + BARE_ORDERS if doubted else ()))
    pairs = [(at[row["source"]], at[row["target"]], row["support"] in loose) for row in evidence.rows]
    free = {(i, j) for i, j, is_loose in pairs if is_loose and undirected[i, j]}
    nodes = sorted({node for pair in free for node in pair})
    place = {node: k for k, node in enumerate(nodes)}
    marks = np.zeros((2, len(nodes), len(nodes)), dtype=bool)
    for i, j, _ in pairs:
        if i in place and j in place:
            marks[int((i, j) in free), place[i], place[j]] = True
    return nodes, marks[0], marks[1] | marks[1].T


def _find_weakest(evidence: Evidence) -> list[Fact[Step]]:
    """The link, and the decided direction, that stand least firm, if they are not firm."""
    rows = evidence.rows
    if evidence.draws < ENOUGH_DRAWS:
        known = [row for row in rows if row["left_out"] is not None and row["left_out"] <= evidence.near]
        weak = sorted(known, key=lambda row: row["left_out"])[:1]
        return [Fact.of(Step.CHECK_LINK, row["source"], row["target"], margin=row["left_out"]) for row in weak]
    links = sorted((row["either_way"], row["source"], row["target"]) for row in rows)
    claimed = [row for row in rows if Orientation(row["support"]).is_claimed and row["either_way"] > 0]
    ways = sorted((row["this_way"] / row["either_way"], row["source"], row["target"]) for row in claimed)
    return [
        Fact.of(kind, *ends, share=share)
        for kind, found in ((Step.CHECK_DIRECTION, ways[:1]), (Step.CHECK_LINK, links[:1]))
        for share, *ends in found
        if share < FIRM
    ]
