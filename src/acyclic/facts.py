"""Facts: what happened, as members of enumerations with the columns and numbers that belong to them.

Whoever finds something out makes a `Fact`; whoever decides something asks for its ``kind``; only
`acyclic.judging.words` turns it into a sentence. A new fact is a member here and a line there.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Generic, Self, TypeVar

Value = float | int | str | None


class Ended(StrEnum):
    """How a run ended."""

    CONSTRAINT_MET = "constraint-met"
    PATH_FOLLOWED = "path-followed"
    MINIMUM_REACHED = "minimum-reached"
    NO_BETTER_MOVE = "no-better-move"
    COMPLETE = "complete"
    ROUNDS_SPENT = "rounds-spent"
    PENALTY_SPENT = "penalty-spent"
    STEPS_SPENT = "steps-spent"
    NOT_FINITE = "not-finite"
    EVALUATIONS_SPENT = "evaluations-spent"
    """As many evaluations were made as were allowed, of a constraint or of tests."""
    TIME_LIMIT = "time-limit"
    CALLBACK = "callback"
    INTERRUPTED = "interrupted"
    UNKNOWN = "unknown"
    """A result of format 1 said it in words only."""

    @property
    def converged(self) -> bool:
        """Whether the run came to its own, good end."""
        return self in _CONVERGED

    @property
    def stopped(self) -> bool:
        """Whether somebody wanted it to end: limit, callback or Ctrl-C."""
        return self in _STOPPED


_CONVERGED = {
    Ended.CONSTRAINT_MET,
    Ended.PATH_FOLLOWED,
    Ended.MINIMUM_REACHED,
    Ended.NO_BETTER_MOVE,
    Ended.COMPLETE,
}
_STOPPED = {Ended.EVALUATIONS_SPENT, Ended.TIME_LIMIT, Ended.CALLBACK, Ended.INTERRUPTED}


class Orientation(StrEnum):
    """What orients the edges of a graph, or one of them."""

    KNOWLEDGE = "knowledge"
    INDEPENDENCE = "independence"
    """Conditional independence: of a graph, only its equivalence class is claimed; of an edge, the class compels it."""
    CONTESTED = "contested"
    """Conditional independence in this class, but a class whose score is nearly as good turns the edge."""
    EQUAL_VARIANCES = "equal-variances"
    LOSS = "loss"
    """The direction of the smallest logistic or Poisson loss."""
    CURVATURE = "curvature"
    """Additive noise around mechanisms that are not linear."""
    NOISE_SHAPE = "noise-shape"
    """Noise that is not normal, around linear mechanisms."""
    MEAN_AND_SCALE = "mean-and-scale"
    """Gaussian noise whose mean and scale depend on the parents."""
    GENERATIVE = "generative"
    """The direction in which a variational autoencoder reconstructs best."""
    VARIANCE_ORDER = "variance-order"
    R2_ORDER = "r2-order"
    METHOD = "method"
    """What a method of another package rests on, which it does not say."""
    UNDETERMINED = "undetermined"
    """Nothing: an equivalent graph has the edge the other way round."""
    NEAR_TIE = "near-tie"
    """What the method rests on, by so little that a graph whose score is nearly as good turns the edge."""
    UNSTEADY = "unsteady"
    """What the method rests on, but draws of the rows turn the edge nearly as often as not."""
    UNSETTLED = "unsettled"
    """What the method rests on, but independent searches ended apart, and one of them with the edge turned."""
    NO_EDGE = "no-edge"

    @property
    def is_near_tie(self) -> bool:
        """Whether the direction is the better one by too little; see `acyclic.judging.deciding`."""
        return self in (Orientation.CONTESTED, Orientation.NEAR_TIE)

    @property
    def is_decided(self) -> bool:
        """Whether an edge has a direction that can be defended, so that it is drawn with an arrowhead."""
        loose = (Orientation.UNDETERMINED, Orientation.UNSTEADY, Orientation.UNSETTLED, Orientation.NO_EDGE)
        return not self.is_near_tie and self not in loose

    @property
    def is_claimed(self) -> bool:
        """Whether the data, and not prior knowledge, are said to decide the direction."""
        return self.is_decided and self is not Orientation.KNOWLEDGE


class Standing(StrEnum):
    """How the answer of a search stands against other graphs."""

    PROVED = "proved"
    """No graph has a lower score."""
    CHAINS = "chains"
    """Some of the independent chains of the search ended in the class of the answer."""
    AHEAD = "ahead"
    """The best other class is further than log n behind."""
    NEARLY_TIED = "nearly-tied"
    """The best other class is within log n."""
    PRICED = "priced"
    """What an edge costs in the score, and from which gain on one is likely by what the pairs of columns show."""
    KNOWLEDGE_PRICED = "knowledge-priced"
    """How much lower the best score is without prior knowledge, by a search of bounded time."""
    KNOWLEDGE_UNPRICED = "knowledge-unpriced"
    """The price of prior knowledge was not found: another score than that of lines, or no time."""


class Grade(StrEnum):
    """How far what a result claims can be believed: its links, and the directions that it decides.

    What a result leaves open, it does not claim. From best to worst.
    """

    STRONG = "strong"
    FAIR = "fair"
    WEAK = "weak"
    POOR = "poor"
    NOTHING = "nothing"
    """There is no link that could be believed or not."""

    @property
    def rank(self) -> int:
        """0 for the best."""
        return list(Grade).index(self)


class Ground(StrEnum):
    """What is weighed for a grade; `acyclic.judging.weighing` has the rule."""

    LINKS_REDRAWN = "links-redrawn"
    """How many links came back in most draws of the bootstrap."""
    DIRECTIONS_REDRAWN = "directions-redrawn"
    """Of the decided directions that something else than knowledge decides."""
    LINKS_LIKELY = "links-likely"
    """How many links are expected to be there, where the shares of draws were made probabilities."""
    DIRECTIONS_LIKELY = "directions-likely"
    LINKS_AHEAD = "links-ahead"
    """Without draws: how many links could not be left out at a price within log n."""
    NOT_REDRAWN = "not-redrawn"
    FEW_DRAWS = "few-draws"
    """There were draws, but fewer than tell anything."""
    AUDIT_PASSED = "audit-passed"
    MODEL_DOUBTED = "model-doubted"
    """What parents leave of their children is not what the model says."""
    UNITS_DOUBTED = "units-doubted"
    """Directions rest on units that cannot carry them."""
    UNITS_MATTER = "units-matter"
    """Some links are not there, or point elsewhere, in other units."""
    IMPLICATIONS_HOLD = "implications-hold"
    IMPLICATIONS_BROKEN = "implications-broken"
    """Columns that the graph says to be independent, given others, are not."""
    ENDED_EARLY = "ended-early"
    FEW_ROWS = "few-rows"
    NOT_COMPARED = "not-compared"
    LONE_CHAIN = "lone-chain"
    KNOWLEDGE = "knowledge"
    """What prior knowledge fixed, and its price."""
    KNOWLEDGE_AGAINST_DATA = "knowledge-against-data"
    """Prior knowledge whose price is beyond log n."""


class Step(StrEnum):
    """What a reader may do next."""

    ORIENT = "orient"
    """Find out the direction of an edge, from which others follow."""
    ORIENT_EACH = "orient-each"
    """Directions are open, of which none is known to follow from another."""
    REDRAW = "redraw"
    MORE_DRAWS = "more-draws"
    MORE_TIME = "more-time"
    MORE_ROWS = "more-rows"
    OTHER_MODEL = "other-model"
    LOOK_AT_ROWS = "look-at-rows"
    """Even curves leave something that depends on a parent."""
    HIDDEN_CAUSE = "hidden-cause"
    """Look for what two columns have in common that is not in the table."""
    CHECK_KNOWLEDGE = "check-knowledge"
    CHECK_LINK = "check-link"
    """The link that stands least firm."""
    CHECK_DIRECTION = "check-direction"
    """The decided direction that the fewest draws agree with."""
    ASK = "ask"
    """Nothing is left to decide: ask what drives a column."""


class Empty(StrEnum):
    """Why a graph has no edge."""

    ONE_COLUMN = "one-column"
    ALL_FORBIDDEN = "all-forbidden"
    UNCORRELATED = "uncorrelated"
    BELOW_THRESHOLD = "below-threshold"
    OUT_OF_BOUNDS = "out-of-bounds"
    ENDED_EARLY = "ended-early"
    L1 = "l1"
    """The L1 term outweighs what any edge explains."""
    NO_GAIN = "no-gain"
    """No edge explains more than it costs."""
    NO_ORDER = "no-order"
    """The first stage of NOCURL orders no two nodes."""
    CLAMPED = "clamped"
    UNTESTED = "untested"
    """No parent passed the F-test."""
    UNKNOWN = "unknown"


class Removal(StrEnum):
    """Why an edge was removed beyond the threshold."""

    WEAKEST = "weakest"
    WEAKEST_ON_CYCLES = "weakest-on-cycles"
    OUT_OF_BOUNDS = "out-of-bounds"
    F_TEST = "f-test"
    UNKNOWN = "unknown"


class Note(StrEnum):
    """What was noted about a column, or about the table."""

    CONSTANT = "constant"
    DUPLICATE = "duplicate"
    COLLINEAR = "collinear"
    BOOLEAN = "boolean"
    CODES = "codes"
    """A few whole numbers, which count as a category."""
    LEVELS = "levels"
    """Categories that came as text, or that were told to be some."""
    POOLED = "pooled"
    """Rare levels that count as one."""
    ONE_LEVEL = "one-level"
    """Text that is the same in all rows."""
    MIXED = "mixed"
    """Text among numbers."""
    DROPPED = "dropped"
    LEFT_OUT = "left-out"
    """Columns that hold no numbers; the values say what they hold, by their names."""
    WRITTEN = "written"
    """Numbers with marks: decimal comma, thousands, per cent, currency; the values say which, with an example."""
    RENAMED = "renamed"
    HEADER_OF_NUMBERS = "header-of-numbers"
    NO_HEADER = "no-header"
    COMMENTS = "comments"
    ENCODING = "encoding"
    ZERO_BYTES = "zero-bytes"
    RESCALED = "rescaled"
    """A column near the ends of the range of floats was multiplied by a power of two."""
    LOG = "log"
    WEIGHTS = "weights"
    STANDARDIZED = "standardized"
    OUTLIERS = "outliers"
    """Rows that are far from all others and were set aside; the values count them, and name a column that shows it."""
    FEW_ROWS_COLLINEAR = "few-rows-collinear"
    """There are no more rows than columns, so that some columns have to be determined by others."""
    MISSING = "missing"
    """Of a column, or of the table if no column is named."""
    ROWS_LEFT_OUT = "rows-left-out"
    SAMPLED = "sampled"
    """Some of the rows stand for all."""
    PAIRWISE = "pairwise"
    REPAIRED = "repaired"
    IMPUTED = "imputed"
    """Missing cells were filled from rows that resemble theirs; the values count cells, and the rows used of all."""
    EM = "em"
    EM_NOT_CONVERGED = "em-not-converged"
    UNKNOWN = "unknown"


class NoRows(StrEnum):
    """Why a table cannot give its rows."""

    MOMENTS_ONLY = "moments-only"
    WEIGHTED = "weighted"
    INCOMPLETE = "incomplete"
    """Cells are missing, and the rows that have them were not left out."""
    TOO_LARGE = "too-large"
    ELSEWHERE = "elsewhere"
    """They are in partitions on a cluster, and stay there."""


class Unreached(StrEnum):
    """Why shares of draws were not turned into probabilities: the rule for that was not fitted on such runs."""

    METHOD = "method"
    SETTINGS = "settings"
    """Another penalty than the usual one, or a threshold."""
    KNOWLEDGE = "knowledge"
    WORLD = "world"
    """Categories, curves, or noise whose shape orients edges."""
    VARIANCES = "variances"
    """Directions rest on equal noise variances, which differ beyond chance."""
    ROWS = "rows"
    COLUMNS = "columns"
    DRAWS = "draws"


class Caution(StrEnum):
    """What a reader should know before using a graph."""

    OUT_OF_BOUNDS = "out-of-bounds"
    REQUIRED_WITHOUT_WEIGHT = "required-without-weight"
    CLASS_AGAINST_KNOWLEDGE = "class-against-knowledge"
    BOUNDS_UNUSED = "bounds-unused"
    UNEQUAL_VARIANCES = "unequal-variances"
    CLASS_ONLY = "class-only"
    NEAR_TIES = "near-ties"
    """Graphs whose score is nearly as good turn some of the edges."""
    DISPENSABLE = "dispensable"
    """Graphs whose score is within log n do without some of the edges."""
    NOT_COMPARED = "not-compared"
    """There are so many columns that no other graph was compared with the answer: it has neither margins nor rivals."""
    LINES_FOR_WEIGHTS = "lines-for-weights"
    """Rows have weights: neither curves nor the shape of the noise were looked for, which need plain rows."""
    LINES_FOR_MISSING = "lines-for-missing"
    """The same, for cells are missing."""
    LINES_FOR_BOUNDS = "lines-for-bounds"
    """The same, for prior knowledge bounds the weights of lines."""
    TOGETHER = "together"
    """Columns depend on their parents together: what one of them does depends on the others."""
    STANDARDIZED = "standardized"
    FEW_ROWS = "few-rows"
    TABLE_CHANGED = "table-changed"
    UNKNOWN = "unknown"


class Doubt(StrEnum):
    """What speaks against taking directions as they are."""

    UNEQUAL_VARIANCES = "unequal-variances"
    STANDARDIZED = "standardized"
    BENT = "bent"
    """What a parent leaves of its child bends with the parent."""
    SPREADING = "spreading"
    """What a parent leaves of its child changes its spread with the parent."""
    VIOLATED = "violated"
    """Rows contradict an independence that the graph implies; about the two columns, or none where all do together."""
    CLASS_ONLY = "class-only"
    """Where units say nothing, as of categories, independence leaves directions open."""
    NOT_CONVERGED = "not-converged"
    UNKNOWN = "unknown"


class Remark(StrEnum):
    """What a reader of repeated fits should know."""

    PARAMETRIC = "parametric"
    REDRAWN = "redrawn"
    """The draws were made on a cluster, where the rows are."""
    SAMPLED = "sampled"
    """What needs rows had some of them."""
    CUT_SHORT = "cut-short"
    LOST = "lost"
    NOT_CONVERGED = "not-converged"
    NO_ROWS = "no-rows"
    FIXED_UNITS = "fixed-units"
    """The learner takes the columns in their own units only, as those of 0 and 1."""
    ODD_NOISE = "odd-noise"
    VARIANCE_SORTED = "variance-sorted"
    GRAPH_TAKEN_AS_GIVEN = "graph-taken-as-given"
    SAME_ROWS = "same-rows"
    """A graph is tested on the rows that it was learned from."""
    PARTIAL_CORRELATIONS = "partial-correlations"
    """Independencies were tested without rows."""
    CLAIMS_SAMPLED = "claims-sampled"
    ROWS_SAMPLED = "rows-sampled"
    GRAPH_DRAWN_TOO = "graph-drawn-too"
    FEW_DRAWS = "few-draws"
    """Too few draws for intervals and shares."""
    """Intervals are over graphs that were learned from draws of the rows."""
    AVERAGE_SLOPES = "average-slopes"
    """Effects multiply the average slopes of mechanisms that are not lines."""
    BOUNDED = "bounded"
    """Equivalent graphs disagree on an effect, which is told by its bounds."""
    UNCALIBRATED = "uncalibrated"
    """The shares of draws are no probabilities; why, by a member of `Unreached`."""
    MISSED = "missed"
    """Of the pairs that the answer does not join some are likely joined; about the likeliest of them."""
    CURVES_AS_LINES = "curves-as-lines"
    """Some edges of the result are curves, and these effects those of lines."""
    NONE_STABLE = "none-stable"
    AT_THE_END = "at-the-end"
    UNKNOWN = "unknown"


class Difference(StrEnum):
    """How an estimate differs from the true graph in an edge, which is named as the truth has it where it does."""

    MISSING = "missing"
    """Its ends are not joined in the estimate."""
    EXTRA = "extra"
    """Its ends are not joined in the truth."""
    TURNED = "turned"
    UNDIRECTED = "undirected"
    """The estimate joins its ends without a direction, or both ways."""


Kind = TypeVar("Kind", bound=StrEnum)


@dataclass(frozen=True)
class Fact(Generic[Kind]):
    """Something that happened.

    Attributes
    ----------
    kind : member of an enumeration
        What it is; decisions are made by it.
    about : tuple of str
        The columns that it is about: one, the two ends of an edge, or a column and those that determine it.
    values : tuple of (name, value)
        The numbers and names that its sentence mentions; ``fact["h"]`` is one of them.

    Examples
    --------
    >>> end = Fact.of(Ended.TIME_LIMIT, seconds=3.0)
    >>> end.kind.stopped, end["seconds"]
    (True, 3.0)
    >>> Fact.from_dict(Ended, end.to_dict()) == end
    True
    """

    kind: Kind
    about: tuple[str, ...] = ()
    values: tuple[tuple[str, Value], ...] = ()

    @classmethod
    def of(cls, kind: Kind, *about: str, **values: Value) -> Self:
        """A fact of a kind, about columns, with values by name."""
        return cls(kind, about, tuple(values.items()))

    def __getitem__(self, name: str) -> Any:
        return dict(self.values)[name]

    def get(self, name: str, default: Any = None) -> Any:
        """A value, or the default where the fact has none of that name."""
        return dict(self.values).get(name, default)

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        plain: dict[str, Any] = {"kind": self.kind.value}
        if self.about:
            plain["about"] = list(self.about)
        return {**plain, **({"values": dict(self.values)} if self.values else {})}

    @classmethod
    def from_dict(cls, kinds: type[Kind], plain: Mapping[str, Any]) -> Self:
        """The inverse of `to_dict`, for a member of ``kinds``."""
        about, values = tuple(map(str, plain.get("about", ()))), dict(plain.get("values", {}))
        return cls(kinds(plain["kind"]), about, tuple(values.items()))


def cut_short(end: Fact[Ended] | None, what: str, *, done: int, requested: int) -> Fact[Remark]:
    """That fewer of something were done than asked for, and how the run ended, where that is known."""
    told = {} if end is None else {"end": end.kind.value, **dict(end.values)}
    return Fact.of(Remark.CUT_SHORT, done=done, requested=requested, what=what, **told)


def in_words(kinds: type[Kind], text: str) -> Fact[Kind]:
    """What a file of format 1 said in words: a fact of the kind UNKNOWN that carries them."""
    return Fact.of(kinds("unknown"), text=text)
