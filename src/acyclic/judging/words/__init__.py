"""The words for facts: the only place where what happened becomes a sentence.

Every member of every enumeration of `acyclic.facts` has its words here; nothing is ever read back from them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from math import isnan
from typing import TYPE_CHECKING, Any, NamedTuple

from acyclic.errors import show_name
from acyclic.facts import (
    Caution,
    Doubt,
    Empty,
    Ended,
    Fact,
    Kind,
    NoRows,
    Orientation,
    Remark,
    Removal,
    Standing,
    Unreached,
)
from acyclic.judging.words.assessing import say_belief, say_found, say_next
from acyclic.judging.words.assessing import say_ground as say_ground
from acyclic.judging.words.assessing import say_step as say_step
from acyclic.judging.words.columns import say_kinds as say_kinds
from acyclic.judging.words.columns import say_note as say_note
from acyclic.judging.words.columns import say_notes as say_notes
from acyclic.judging.words.edges import TITLES as TITLES
from acyclic.judging.words.edges import show_cell as show_cell
from acyclic.judging.words.effects import EFFECTS as EFFECTS
from acyclic.judging.words.effects import say_effect as say_effect
from acyclic.judging.words.effects import say_explanation as _say_explanation
from acyclic.judging.words.filling import FORMATTER, Values
from acyclic.judging.words.terms import TERMS as TERMS
from acyclic.judging.words.terms import Term as Term
from acyclic.judging.words.terms import mark_terms as mark_terms

if TYPE_CHECKING:
    from acyclic.judging.assessment import Assessment
    from acyclic.judging.verdict import Verdict


class Line(NamedTuple):
    """One sentence, and whether it is a warning that should stand out."""

    text: str
    warns: bool = False


METHODS = {
    "auto": "learn()",
    "equal-variance": "Equal-variance order",
    "order-search": "Order search (Gaussian BIC)",
    "lingam": "DirectLiNGAM",
    "cam": "CAM",
    "notears": "NOTEARS",
    "golem": "GOLEM",
    "nocurl": "NOCURL",
    "ges": "GES",
    "mmhc": "MMHC",
    "sortnregress": "sortnregress",
    "notears-mlp": "NOTEARS-MLP",
    "dag-gnn": "DAG-GNN",
    "gran-dag": "GraN-DAG",
}

ENDS = {
    Ended.CONSTRAINT_MET: "the constraint fell to {h:.1e}, at most {h_tol:g}",
    Ended.PATH_FOLLOWED: "the path was followed to μ = {mu:g}",
    Ended.MINIMUM_REACHED: "the minimum of the penalised score was reached",
    Ended.NO_BETTER_MOVE: "no further move improves the score",
    Ended.COMPLETE: "every stage was completed",
    Ended.ROUNDS_SPENT: "round {round} was the last, with the constraint at {h:.1e}, above {h_tol:g}",
    Ended.PENALTY_SPENT: "penalty {rho:g} was the last, with the constraint at {h:.1e}, above {h_tol:g}",
    Ended.STEPS_SPENT: "{minimiser} made its {steps} steps without reaching a minimum",
    Ended.NOT_FINITE: "the loss left the range of numbers after {steps} steps; rescale or standardise the columns",
    Ended.EVALUATIONS_SPENT: "{evaluations} evaluations were made, as many as were allowed",
    Ended.TIME_LIMIT: "the time limit of {seconds:g} s was reached",
    Ended.CALLBACK: "the callback asked for the end",
    Ended.INTERRUPTED: "it was interrupted",
    Ended.UNKNOWN: "{text}",
}

ORIENTATIONS = {
    Orientation.KNOWLEDGE: "they rest on prior knowledge",
    Orientation.INDEPENDENCE: (
        "they rest on conditional independence, which fixes only the compelled edges; "
        "reversible edges are drawn in one of their possible directions"
    ),
    Orientation.CONTESTED: ("they are compelled in this class; another class whose score is nearly as good turns them"),
    Orientation.EQUAL_VARIANCES: (
        "they rest on equal noise variances in the units given; another unit for a column can turn its edges"
    ),
    Orientation.LOSS: "they are those under which the loss of all columns together is smallest",
    Orientation.CURVATURE: (
        "they rest on additive noise around curved mechanisms, for which one direction fits better; "
        "where a mechanism is close to linear, its direction is a matter of scale or chance"
    ),
    Orientation.NOISE_SHAPE: (
        "they rest on noise that is not normal and does not depend on the parents, for which one direction fits better"
    ),
    Orientation.MEAN_AND_SCALE: (
        "they rest on Gaussian noise whose mean and scale are functions of the parents; "
        "where the mean is close to linear and the scale to constant, the direction is a matter of chance"
    ),
    Orientation.GENERATIVE: (
        "they rest on a linear model with equal noise variances between features, one learned function for all "
        "columns; unless these were standardised, another unit for a column can turn its edges"
    ),
    Orientation.VARIANCE_ORDER: (
        "they follow the order of the columns' variances and nothing else; another unit for a column can turn its edges"
    ),
    Orientation.R2_ORDER: "they follow the order of the columns' R² given all others and nothing else",
    Orientation.METHOD: "they rest on what the method assumes, which acyclic does not know",
    Orientation.UNDETERMINED: "nothing fixes them: each could point the other way",
    Orientation.NEAR_TIE: "they are near-ties: another graph whose score is nearly as good turns them",
    Orientation.UNSTEADY: "draws of the rows turn them nearly as often as not",
    Orientation.UNSETTLED: "independent searches ended apart, and one of them turns them",
    Orientation.NO_EDGE: "there is no edge to orient",
}
# What one edge rests on, in a table.
SUPPORTS = {
    Orientation.KNOWLEDGE: "prior knowledge",
    Orientation.INDEPENDENCE: "independence",
    Orientation.CONTESTED: "compelled in this class; another class within {turned:.2g} turns it",
    Orientation.EQUAL_VARIANCES: "equal variances",
    Orientation.LOSS: "the smallest loss",
    Orientation.CURVATURE: "curvature",
    Orientation.NOISE_SHAPE: "noise shape",
    Orientation.MEAN_AND_SCALE: "mean and scale",
    Orientation.GENERATIVE: "equal variances of features",
    Orientation.VARIANCE_ORDER: "the order of variances",
    Orientation.R2_ORDER: "the order of R²",
    Orientation.METHOD: "the method's own assumptions",
    Orientation.UNDETERMINED: "nothing (reversible)",
    Orientation.NEAR_TIE: "a near-tie; another graph within {turned:.2g} turns it",
    Orientation.UNSTEADY: "too little: draws turn it",
    Orientation.UNSETTLED: "too little: another search turns it",
    Orientation.NO_EDGE: "",
}

STANDINGS = {
    Standing.PROVED: "none that is allowed has a lower score, which is proved",
    Standing.CHAINS: "{agreeing} of {chains} independent chains of the search ended in this class",
    Standing.AHEAD: "the best one of another class that was met scores {gap:.3g} more, beyond log n = {limit:.2g}",
    Standing.NEARLY_TIED: (
        "the best one of another class scores only {gap:.2g} more; alternatives that were kept within "
        "log n = {limit:.2g}: {kept}"
    ),
    Standing.PRICED: (
        "an edge costs {price:.3g} in the score, and a pair of columns that gains {worth:.3g} by one is as likely to "
        "have it as not"
    ),
    Standing.KNOWLEDGE_PRICED: "the best one that ignores prior knowledge scores {price:.3g} less",
    Standing.KNOWLEDGE_UNPRICED: "what prior knowledge costs in score was not found",
}

EMPTIES = {
    Empty.ONE_COLUMN: "there is one column",
    Empty.ALL_FORBIDDEN: "prior knowledge forbids every edge",
    Empty.UNCORRELATED: "no two columns vary together",
    Empty.BELOW_THRESHOLD: (
        "the largest weight is {largest:.3g}, below the threshold of {threshold:g}; lower it or rescale"
    ),
    Empty.OUT_OF_BOUNDS: "every weight is outside of its bounds in prior knowledge",
    Empty.ENDED_EARLY: "the run ended before its first edge",
    Empty.L1: "the L1 penalty outweighs what any edge explains; lower l1, or rescale the columns",
    Empty.NO_GAIN: "no column explains another by more than an edge costs at this number of rows",
    Empty.NO_ORDER: (
        "first-stage weights of at least {threshold:g} order no two nodes: there are none, or all are on one cycle"
    ),
    Empty.CLAMPED: "training clamped every edge; lower clamp",
    Empty.UNTESTED: "no parent passed the F-test; raise cam_cutoff to keep more",
    Empty.UNKNOWN: "{text}",
}

REMOVALS = {
    Removal.WEAKEST: "the weakest edges of the graph, until no cycle is left",
    Removal.WEAKEST_ON_CYCLES: "the weakest edges on cycles, until none is left",
    Removal.OUT_OF_BOUNDS: "weights outside of their bounds",
    Removal.F_TEST: "the parent explains nothing beside the others, by an F-test at {cutoff:g}",
    Removal.UNKNOWN: "{rule}",
}

CAUTIONS = {
    Caution.OUT_OF_BOUNDS: "{0} → {1} was left out: its weight {weight:.3g} is outside of its bounds",
    Caution.REQUIRED_WITHOUT_WEIGHT: "{0} → {1} is there because it is required; the data give it no weight",
    Caution.CLASS_AGAINST_KNOWLEDGE: (
        "the best equivalence class contradicts prior knowledge; its nearest obedient graph was improved instead"
    ),
    Caution.BOUNDS_UNUSED: (
        "signs and bounds of weights in prior knowledge were not used: strengths in networks have neither"
    ),
    Caution.UNEQUAL_VARIANCES: (
        "equal noise variances are rejected (the largest is {spread:.3g} times the smallest), so that units orient "
        "nothing"
    ),
    Caution.CLASS_ONLY: (
        "orientation rests on conditional independence alone: {compelled} of {edges} edges are compelled by it, "
        "{open} could point the other way"
    ),
    Caution.NEAR_TIES: (
        "the direction of {count} of {edges} edges is a near-tie: another class whose score is within "
        "{limit:.2g} turns it"
    ),
    Caution.DISPENSABLE: "{count} of {edges} edges are missing in some class whose score is within {limit:.2g} (log n)",
    Caution.NOT_COMPARED: (
        "beyond {limit} columns, here {columns}, no other graphs are compared with the answer: it has no margins and "
        "no alternatives, and near-ties are not told"
    ),
    Caution.STANDARDIZED: "all columns have the same variance, as after standardising: their units can orient no edge",
    Caution.LINES_FOR_WEIGHTS: (
        "rows have weights, which only moments can express: neither curves nor the shape of the noise were looked for"
    ),
    Caution.LINES_FOR_MISSING: (
        "cells are missing: neither curves nor the shape of the noise were looked for, which need complete rows, as "
        "those that were imputed are"
    ),
    Caution.LINES_FOR_BOUNDS: (
        "bounds and signs are of the weights of lines: neither curves nor the shape of the noise were looked for"
    ),
    Caution.TOGETHER: (
        "in {count} of {columns} columns what one parent does depends on the others; the curve of such an edge is that "
        "with the other parents at their means"
    ),
    Caution.FEW_ROWS: "there are {rows:g} rows for {columns} columns: weak edges cannot be told from chance",
    Caution.TABLE_CHANGED: "the table is no longer the one of the run that was to be repeated",
    Caution.UNKNOWN: "{text}",
}

DOUBTS = {
    Doubt.UNEQUAL_VARIANCES: (
        "the noise variances are not equal in the units given (the largest is {spread:.3g} times the smallest), and "
        "conditional independence leaves {open} of {edges} directions open"
    ),
    Doubt.STANDARDIZED: (
        "all columns have the same variance, as after standardising: the units that could orient are gone"
    ),
    Doubt.BENT: (
        "the learned mechanisms, without hidden causes, do not fit: what {0} leaves of {1} bends with {0} "
        "(the first of {count} such edges)"
    ),
    Doubt.SPREADING: (
        "the learned mechanisms, without hidden causes, do not fit: what {0} leaves of {1} changes its spread with {0} "
        "(the first of {count} such edges)"
    ),
    Doubt.VIOLATED: (
        "the rows contradict independencies that the graph implies (p = {p_value:.2g} of all together; by themselves "
        "{count} of {tested} fail beyond chance){such}"
    ),
    Doubt.CLASS_ONLY: (
        "conditional independence leaves {open} of {edges} directions open, and nothing else decides them"
    ),
    Doubt.NOT_CONVERGED: "the learner did not converge",
    Doubt.UNKNOWN: "{text}",
}

REMARKS = {
    Remark.PARAMETRIC: (
        "the draws are parametric, since {because}: each takes mean and covariance from their sampling distribution "
        "under Gaussian rows (Wishart)"
    ),
    Remark.REDRAWN: (
        "the draws were made where the rows are: each of the {what} comes a Poisson number of times, 1 on average"
    ),
    Remark.SAMPLED: "what was tested on rows was tested on {rows} of {of}",
    Remark.CUT_SHORT: "{done} of {requested} {what} were done when {how}",
    Remark.LOST: "{count} draws were lost; the first because of {reason}",
    Remark.NOT_CONVERGED: "the learner did not converge in {count} of the draws, which count as they are",
    Remark.NO_ROWS: "there are no rows, so the shape of the noise could not be tested",
    Remark.FIXED_UNITS: "the learner takes the columns in their own units only, so that no others were tried",
    Remark.ODD_NOISE: (
        "the noise of {count} of {columns} columns is not Gaussian ({which}); methods for non-Gaussian noise could "
        "orient more"
    ),
    Remark.VARIANCE_SORTED: "the learned order is nearly that of the variances, which are a matter of units",
    Remark.CURVES_AS_LINES: (
        "some edges of the result are curves, and these are the effects of lines through them: model.total_effect of "
        "the result gives those of the curves"
    ),
    Remark.GRAPH_TAKEN_AS_GIVEN: "the intervals take the graph as given: that it may be wrong is not in them",
    Remark.SAME_ROWS: (
        "the graph was learned from these rows, which it therefore fits better than others: small p-values count, "
        "large ones say little"
    ),
    Remark.PARTIAL_CORRELATIONS: "there are no rows, so that partial correlations were tested, as of normal rows",
    Remark.CLAIMS_SAMPLED: "{chosen} of {implied} independencies were tested, drawn at random",
    Remark.ROWS_SAMPLED: "the tests are of {rows} of {of} rows, drawn at random",
    Remark.GRAPH_DRAWN_TOO: (
        "intervals hold {level:.0%} of {draws} draws of the rows, from each of which the graph was learned again"
    ),
    Remark.FEW_DRAWS: "{draws} draws of the rows are too few for intervals and shares, which take {fewest}",
    Remark.AVERAGE_SLOPES: (
        "some mechanisms are curved or have categories: effects multiply their average slopes, which is rough away "
        "from the middle"
    ),
    Remark.BOUNDED: (
        "graphs that fit equally well disagree on {count} of these effects: their bounds over all such graphs are told"
    ),
    Remark.UNCALIBRATED: "the shares of draws are not turned into probabilities: {because}",
    Remark.MISSED: (
        "of the edges that were left out some {expected:.2g} are expected to be there; likeliest is one between {0} "
        "and {1}, with a probability of {probability:.0%}"
    ),
    Remark.NONE_STABLE: "no penalty is stable to {accepted:g}; the largest was taken",
    Remark.AT_THE_END: "the chosen penalty is the {which} that was tried; a better one may lie beyond",
    Remark.UNKNOWN: "{text}",
}

# Why draws are not of rows.
_NO_ROWS = {
    NoRows.MOMENTS_ONLY: "there are no rows behind moments",
    NoRows.WEIGHTED: "rows that have weights cannot be drawn",
    NoRows.INCOMPLETE: "the rows have missing cells",
    NoRows.TOO_LARGE: "the rows are too many to be kept",
    NoRows.ELSEWHERE: "the rows are on a cluster",
}

# Why shares of draws are not probabilities.
_UNREACHED = {
    Unreached.METHOD: "the rule for that was fitted on what learn() finds by itself",
    Unreached.SETTINGS: "the rule for that was fitted on runs with the usual penalty and no threshold",
    Unreached.KNOWLEDGE: "the rule for that was fitted on runs without prior knowledge",
    Unreached.WORLD: "the rule for that was fitted on linear models of numbers whose noise is normal",
    Unreached.VARIANCES: "directions rest on equal noise variances, and these differ by more than chance",
    Unreached.ROWS: "the rule for that was fitted on {least:g} to {most:g} rows, and there are {value:g}",
    Unreached.COLUMNS: "the rule for that was fitted on {least:g} to {most:g} columns, and there are {value:g}",
    Unreached.DRAWS: "that takes {least:g} draws at least, and there are {value:g}",
}

_WORDS: dict[Any, str] = {
    (type(kind), kind): text
    for table in (ENDS, STANDINGS, EMPTIES, REMOVALS, CAUTIONS, DOUBTS, REMARKS)
    for kind, text in table.items()
}


def say(fact: Fact[Kind]) -> str:
    """The sentence of a fact, without capital and full stop.

    Examples
    --------
    >>> say(Fact.of(Ended.TIME_LIMIT, seconds=2.5))
    'the time limit of 2.5 s was reached'
    """
    template = "{text}" if fact.get("text") is not None else _WORDS[(type(fact.kind), fact.kind)]
    return FORMATTER.vformat(template, [*map(show_name, fact.about)], Values((*_spell(fact), *fact.values)))


def _spell(fact: Fact[Any]) -> Iterable[tuple[str, str]]:
    """Words for what a remark says by members of enumerations and names; those of an older file count instead."""
    if fact.kind is Remark.CUT_SHORT:
        end = fact.get("end")
        yield "how", "the run ended" if end is None else say(Fact(Ended(end), (), fact.values))
    elif fact.kind is Remark.PARAMETRIC:
        why = fact.get("why")
        yield "because", "there are no rows to draw from" if why is None else _NO_ROWS[NoRows(why)]
    elif fact.kind is Remark.UNCALIBRATED:
        why = _UNREACHED[Unreached(fact.get("why", Unreached.METHOD))]
        yield "because", FORMATTER.vformat(why, (), Values(fact.values))
    elif fact.kind is Doubt.VIOLATED:
        yield "such", f", as that of {' and '.join(map(show_name, fact.about))}" if fact.about else ""
    elif fact.kind is Remark.ODD_NOISE:
        yield "which", ", ".join(map(show_name, fact.about[:4])) + (", …" if len(fact.about) > 4 else "")


def say_assessment(assessment: Assessment, verdict: Verdict) -> list[str]:
    """The verdict in three short paragraphs: what was found, how far it can be believed, what to do next."""
    why = "" if verdict.empty is None else say(verdict.empty)
    said = say_found(assessment, verdict.n_nodes, why), say_belief(assessment), say_next(assessment)
    return [paragraph for paragraph in said if paragraph]


def say_verdict(verdict: Verdict) -> list[Line]:
    """The sentences of a verdict, in order."""
    method = say_method(verdict.method, verdict.settings)
    found = f"{_count(verdict.n_edges, 'edge')} between {_count(verdict.n_nodes, 'variable')}"
    end = "It converged" if verdict.converged else "It did NOT converge"
    lines = [
        Line(f"{method} found {found}; the graph is acyclic (checked edge by edge)."),
        Line(f"{end}: {say(verdict.end)}.", warns=not verdict.converged),
    ]
    if verdict.empty is not None:
        lines.append(Line(f"The graph is empty because {say(verdict.empty)}.", warns=True))
    if verdict.threshold > 0:
        cut = f"{_count(verdict.n_cut, 'weight')} below {verdict.threshold:g} in absolute value"
        lines.append(Line(f"{cut} {'was' if verdict.n_cut == 1 else 'were'} cut."))
    lines += [Line(text) for text in _say_removed(verdict.removed)]
    if verdict.standing:
        said = "; ".join(map(say, verdict.standing))
        lines.append(Line(f"Against other graphs: {said}.", warns=any(map(_is_lone, verdict.standing))))
    lines.append(Line(f"Directions: {ORIENTATIONS[verdict.orientation]}."))
    lines += [Line(f"Note: {text}.") for text in say_notes(verdict.notes)]
    return lines + [Line(f"Warning: {say(caution)}.", warns=True) for caution in verdict.cautions]


def say_method(method: str, settings: Mapping[str, Any]) -> str:
    """The title of a method with the settings that make it what it is."""
    listed = ", ".join(f"{name} {_show(value)}" for name, value in settings.items())
    title = METHODS.get(method, method)
    return f"{title} ({listed})" if listed else title


def say_support(orientation: Orientation, turned: float | None = None) -> str:
    """What one edge rests on, in a few words for a table; with its margin against being turned, if that is known."""
    return FORMATTER.vformat(SUPPORTS[orientation], (), {"turned": turned})


def say_alternative(other: Any) -> str:
    """By how much a `NamedAlternative` is behind, and what it would change."""
    changes = {"turns": other.turned, "leaves out": other.removed, "adds": other.added, "fixes": other.fixed}
    said = "; ".join(f"{verb} {_list_some(pairs)}" for verb, pairs in changes.items() if pairs)
    return f"{other.excess:.2g} behind: {said}"


def say_audit(audit: Any, *, conclude: bool = True) -> str:
    """An `Audit` in prose: the conclusion first, then why, then what other units change.

    Without a conclusion where it stands under a verdict, which weighs it against what is claimed.
    """
    notes = [f"Note: {say(note)}." for note in audit.notes]
    if not audit.graph.n_edges:
        return "\n".join(["There is no edge to audit.", *notes])
    conclusion = "can be taken as they are" if audit.sound else "should NOT be taken as they are"
    lines = [
        *([f"The directions of these {audit.graph.n_edges} edges {conclusion}."] if conclude else []),
        *(f"{'Because' if conclude else 'Found'}: {say(reason)}." for reason in audit.reasons),
        _say_units(audit),
        # The numbers of levels have no variances that could grow.
        *([] if isnan(audit.varsortability) else [_say_order(audit)]),
        *(_say_claims(audit.adequacy) if audit.adequacy is not None and audit.adequacy.tested else ()),
        *notes,
    ]
    return "\n".join(lines)


def say_claim(claim: Any) -> str:
    """A `Claim` and its numbers, without a full stop."""
    given = (
        f" given {', '.join(map(show_name, claim.given[:4]))}{', …' * (len(claim.given) > 4)}" if claim.given else ""
    )
    ends = f"{show_name(claim.node)} and {show_name(claim.other)}"
    return f"{ends} should be independent{given}: p = {claim.p_value:.2g}, strength {claim.strength:.2g}"


def say_adequacy(found: Any) -> str:
    """An `Adequacy` in prose: the conclusion first, then the worst claims, then hints of hidden causes."""
    notes = [f"Note: {say(note)}." for note in found.notes]
    if not found.tested:
        none = (
            "The graph implies no independence that could be tested." if not found.implied else "No claim was tested."
        )
        return "\n".join([none, *notes])
    lines = _say_claims(found)
    lines += [f"Violated: {say_claim(claim)}." for claim in found.violated[:5]]
    if found.hidden:
        pairs = ", ".join(f"{show_name(pair.node)} and {show_name(pair.other)}" for pair in found.hidden[:5])
        more = f" and {len(found.hidden) - 5} more" if len(found.hidden) > 5 else ""
        lines.append(
            f"A hidden common cause, or an edge that was left out, would explain why what their parents leave of these "
            f"depends on each other: {pairs}{more}."
        )
    return "\n".join([*lines, *notes])


def say_explanation(explanation: Any) -> str:
    """An `Explanation` in prose."""
    return _say_explanation(explanation, say)


def _say_claims(found: Any) -> list[str]:
    borne = "bear out" if found.fits else "do NOT bear out"
    lines = [
        f"The rows {borne} the independencies that the graph implies: p = {found.p_value:.2g} of all together, "
        f"violated beyond chance: {found.violations} of {found.tested} tested."
    ]
    if found.held_out is not None:
        lines.append(f"Learned from one half of the rows and tested on the other half: p = {found.held_out:.2g}.")
    return lines


def _say_units(audit: Any) -> str:
    if not audit.refits:
        return "No refit under other units was done."
    total = audit.graph.n_edges
    parts = [f"{len(audit.surviving)} of {total} edges keep their direction"]
    if audit.turning:
        parts.append(f"{len(audit.turning)} only while the units are kept ({_list_some(audit.turning)})")
    if audit.undetermined:
        parts.append(f"{len(audit.undetermined)} have no determined direction ({_list_some(audit.undetermined)})")
    if audit.vanishing:
        count = len(audit.vanishing)
        parts.append(f"in some refit no edge joins the ends of {count} ({_list_some(audit.vanishing)})")
    if len(audit.surviving) == total:
        parts = [f"all {total} edges keep their direction"]
    return f"In {audit.refits} refits under other units, the standardised among them, {'; '.join(parts)}."


def _say_order(audit: Any) -> str:
    grows = f"Variances grow along {audit.varsortability:.0%} of the learned paths, R² along {audit.r2sortability:.0%}"
    alone = "the same graph" if not audit.sorting_alone else f"a graph {audit.sorting_alone} edges away"
    return f"{grows}; sorting the columns by variance and regressing, which learns nothing, gives {alone}."


def _list_some(pairs: Any) -> str:
    return ", ".join(" → ".join(map(show_name, pair)) for pair in list(pairs)[:4]) + (", …" if len(pairs) > 4 else "")


def _say_removed(removed: Iterable[Fact[Removal]]) -> list[str]:
    by_rule: dict[str, list[str]] = {}
    for fact in removed:
        source, target = map(show_name, fact.about)
        weight = f" ({fact['weight']:.3g})" if fact.get("weight") is not None else ""
        by_rule.setdefault(say(fact), []).append(f"{source} → {target}{weight}")
    return [
        f"{_count(len(edges), 'edge').capitalize()} had to go ({rule}): {', '.join(edges[:5])}"
        f"{f' and {len(edges) - 5} more' if len(edges) > 5 else ''}."
        for rule, edges in by_rule.items()
    ]


def _is_lone(fact: Fact[Standing]) -> bool:
    """Whether no second chain came to the answer, so that nothing speaks for its being the best."""
    return fact.kind is Standing.CHAINS and (fact.get("agreeing") or 0) < 2


def _count(number: int, noun: str) -> str:
    return f"{number or 'no'} {noun}{'' if number == 1 else 's'}"


def _show(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)
