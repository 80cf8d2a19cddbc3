"""What learn() returns: what a run found, which can also be drawn and reported."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any, Self

from acyclic.data.table import Table
from acyclic.documents import read_text
from acyclic.errors import InputError
from acyclic.findings import Findings
from acyclic.findings.file_format import NO_RESULT
from acyclic.findings.origin import list_versions
from acyclic.judging.alternatives import name_alternatives
from acyclic.learners import DagLearner
from acyclic.report.figure import plot
from acyclic.report.page import report
from acyclic.trust.audit import Audit
from acyclic.trust.bootstrap import Bootstrap
from acyclic.trust.choice import Choice
from acyclic.trust.explaining import Explanation, explain


class Result(Findings):
    """A learned graph and what it rests on; see `Findings` for its attributes.

    Examples
    --------
    >>> import acyclic
    >>> result = acyclic.learn(acyclic.simulate(n_nodes=4, n=500, graph="ER1", random_state=1).X)
    >>> result.verdict.converged, [row["standardised"] is not None for row in result.edges()]
    (True, [True, True, True])
    """

    @classmethod
    def from_json(cls, text: str) -> Self:
        """The inverse of `to_json`; files of format 1 are read too."""
        found = super().from_json(text)
        for name, kind in (("confidence", Bootstrap), ("audit", Audit), ("curve", Choice)):
            part = getattr(found, name)
            if part is not None and "trace" not in part:
                _check_evidence(name, kind, part)
        return found

    def explain(self, target: str) -> Explanation:
        """What drives a column, how much and how sure, and what follows if it is raised.

        Parameters
        ----------
        target : str

        Examples
        --------
        >>> from acyclic import learn, simulate
        >>> result = learn(simulate(n_nodes=6, n=500, random_state=3).X)
        >>> result.explain("x0").causes[0].cause
        'x1'
        """
        return explain(self, target)

    def report(self, path: str | os.PathLike[str], **options: Any) -> None:
        """Write the result as one self-contained HTML page; see `acyclic.report.report` for the options."""
        report(self, path, **options)

    def plot(self, **options: Any) -> Any:
        """Draw the graph as a matplotlib figure; see `acyclic.report.figure.plot` for the options."""
        return plot(self, **options)


def _check_evidence(name: str, kind: type[Bootstrap | Audit | Choice], part: Mapping[str, Any]) -> None:
    """Raise an InputError unless a part of a result file is what its own class wrote, and can be said."""
    try:
        str(kind.from_dict(part))
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
        raise InputError(f"{NO_RESULT}: {name}: {error}") from None


def load(path: str | os.PathLike[str]) -> Result:
    """Read a result that `Result.save` wrote.

    Examples
    --------
    >>> import tempfile, acyclic
    >>> result = acyclic.learn(acyclic.simulate(n_nodes=4, n=500, graph="ER1", random_state=1).X)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     result.save(f"{folder}/mine.json")
    ...     load(f"{folder}/mine.json").graph == result.graph
    True
    """
    try:
        return Result.from_json(read_text(path))
    except InputError as error:
        raise InputError(f"{path} cannot be used: ", *error.parts) from error


def present(model: DagLearner, X: Any = None) -> Result:
    """The result of a fitted learner, with the table that it was fitted to where that is given."""
    described = {"settings": {"method": model.method}, "method_version": model.version}
    if X is not None:
        table = Table.open(X)
        if table.digest != model.digest_:
            raise InputError("X is not the table that the learner was fitted to; leave it out, or fit again")
        return Result.of(model, table, **described)
    graph = model.causal_graph_
    others = name_alternatives(model.rivals_, graph, model.verdict_)
    origin = {**described, "versions": list_versions()}
    return Result(graph, model.verdict_, graph.cpdag(), origin, alternatives=others)


DagLearner.presenter = present
