"""The terms that verdict, page and documents use, each explained once."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Final, NamedTuple

__all__ = ["TERMS", "Term", "mark_terms"]


class Term(NamedTuple):
    """A term: its name, what it means, and the other forms in which texts have it."""

    name: str
    meaning: str
    forms: tuple[str, ...] = ()

    @property
    def anchor(self) -> str:
        """What an address in a page ends in."""
        return "term-" + self.name.replace(" ", "-")


_LISTED = (
    Term(
        "link",
        "Two columns that stay related whatever other columns are taken into account. It says nothing yet of which one "
        "acts on the other.",
        ("links",),
    ),
    Term(
        "direction",
        "Which end of a link acts on the other: a → b says that a change of a would change b, and not the reverse.",
        ("directions",),
    ),
    Term(
        "decided",
        "A direction is decided if the table, an assumption, or prior knowledge fixes it by more than a near-tie. "
        "Only decided directions are drawn with an arrowhead.",
    ),
    Term(
        "open",
        "A direction is open if graphs that fit the table equally well, or nearly so, have it the other way round.",
    ),
    Term(
        "near-tie",
        "Two graphs whose scores differ so little that other rows could reverse it: by no more than log n, n the "
        "number of rows. Two directions are a near-tie up to another limit, which the verdict names: the more weak "
        "links a table has, the larger it is.",
        ("near-ties",),
    ),
    Term(
        "score",
        "What a graph costs, lower is better: how badly it fits the table (−2 log-likelihood) plus a price for each "
        "link (BIC).",
    ),
    Term(
        "margin",
        "How much higher the score is of the best graph that was met with a link turned, or without it. If small it "
        "is a near-tie.",
        ("margins",),
    ),
    Term(
        "likely",
        "How likely it is that a link is there: the share of the draws, made a probability by a rule fitted on "
        "simulated tables.",
    ),
    Term("this way if so", "How likely it is that a link, if it is there, has the direction that is shown."),
    Term(
        "draw",
        "A table of the same size whose rows are drawn at random from those of the table, with repeats. What is found "
        "in most draws does not hang on a few rows (bootstrap).",
        ("draws",),
    ),
    Term("this way", "The share of the draws in which a link is found with the direction that is shown."),
    Term("either way", "The share of the draws in which a link is found, whatever its direction."),
    Term(
        "class",
        "All graphs that imply the same independencies. No table can tell them apart unless something is assumed of "
        "the noise or the mechanisms.",
        ("equivalence class",),
    ),
    Term("compelled", "A direction that all graphs of the class share."),
    Term(
        "audit",
        "Learning again in other units, and testing whether what the parents leave of each column is what the model "
        "says.",
    ),
    Term(
        "prior knowledge",
        "What was stated of the columns before learning: edges that must or must not be there, an order of tiers.",
    ),
    Term(
        "standardised",
        "A weight between columns of standard deviation 1: by how many of its standard deviations the one changes when "
        "the other changes by one of its own. Units do not matter to it.",
        ("standardised weight",),
    ),
    Term(
        "total effect",
        "How much one column changes when another is set one unit higher from outside, along all directed paths "
        "between them.",
        ("total effects",),
    ),
    Term(
        "adjustment set",
        "Columns to hold fixed when the total effect of one column on another is estimated by a regression: with them "
        "in it, what remains is the effect and not a common cause.",
        ("adjustment sets",),
    ),
    Term("standard deviation", "How far the values of a column typically are from their mean."),
)
TERMS: Final[Mapping[str, Term]] = {term.name: term for term in _LISTED}

_FORMS = {form: term for term in _LISTED for form in (term.name, *term.forms)}
_PATTERN = re.compile(r"(?<![\w-])(" + "|".join(sorted(map(re.escape, _FORMS), key=len, reverse=True)) + r")(?![\w-])")


def mark_terms(text: str, mark: Callable[[str, Term], str], plain: Callable[[str], str] = str) -> str:
    """A text in which the first occurrence of each term is marked, for hints in a page or links in documents.

    Parameters
    ----------
    text : str
    mark : callable
        From a term as the text has it, and the `Term`, to what stands there instead.
    plain : callable
        For what is between the terms, such as `html.escape`.

    Examples
    --------
    >>> mark_terms("2 links, 1 link is open", lambda form, term: f"[{form}]")
    '2 [links], 1 link is [open]'
    """
    seen: set[str] = set()
    parts, end = [], 0
    for found in _PATTERN.finditer(text):
        term = _FORMS[found[0]]
        if term.name in seen:
            continue
        seen.add(term.name)
        parts += [plain(text[end : found.start()]), mark(found[0], term)]
        end = found.end()
    return "".join([*parts, plain(text[end:])])
