"""What the neural learners share: rows, seed, device and threads, and residuals that do not need the network."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import replace
from importlib.util import find_spec
from typing import TYPE_CHECKING

import numpy as np
from numpy.random import SeedSequence

from acyclic.data.mask import Mask
from acyclic.data.table import Table
from acyclic.errors import InputError, MissingExtraError
from acyclic.facts import Caution, Fact
from acyclic.judging.judge import Found
from acyclic.learners.base import ContinuousLearner
from acyclic.running import Monitor
from acyclic.scores.additive import AdditiveModel
from acyclic.types import Floats

if TYPE_CHECKING:
    import torch


def require_torch(learner: object) -> None:
    """Say at construction, rather than in the middle of a fit, that the extra is missing."""
    if find_spec("torch") is None:
        raise MissingExtraError(f"acyclic.{type(learner).__name__}", "torch", "neural")


class NeuralLearner(ContinuousLearner):
    """A learner that trains networks on rows.

    ``adjacency_matrix_`` holds strengths, which are not negative, rather than linear coefficients: a subclass says of
    what. Since a network also takes in what the pruning removed, ``transform`` and ``score`` do not use it: residuals
    are those of an additive spline regression of each column on its parents in the graph, fitted at the end.
    """

    standardize: bool
    random_state: int
    device: str

    @property
    def needs_rows(self) -> bool:
        """Networks are trained on rows."""
        return True

    def _check_parameters(self) -> None:
        super()._check_parameters()
        self._torch_device()

    def _torch_device(self) -> torch.device:
        import torch

        try:
            device = torch.device(self.device)
            torch.empty(0, device=device)
        except (RuntimeError, AssertionError, TypeError) as error:
            why = str(error).splitlines()[0]
            raise InputError(
                f"device {self.device!r} cannot be used ({why}); give 'cpu', or 'cuda' with a GPU"
            ) from None
        return device

    def _generators(self) -> tuple[np.random.Generator, torch.Generator]:
        """Random streams of a fit; always on the CPU, so that a device does not change what is drawn."""
        import torch

        children = SeedSequence(self.random_state).spawn(2)
        seed = int(children[1].generate_state(1, np.uint64)[0] >> np.uint64(1))
        return np.random.default_rng(children[0]), torch.Generator().manual_seed(seed)

    def _compile(self, names: tuple[str, ...]) -> Mask:
        """Prior knowledge without signs and bounds, which strengths do not have."""
        mask, free = super()._compile(names), Mask.unrestricted(len(names), names)
        self._bounded = bool(np.isfinite(mask.lower).any() or np.isfinite(mask.upper).any())
        return replace(mask, lower=free.lower, upper=free.upper)

    def _find(self, table: Table, mask: Mask, monitor: Monitor) -> Found:
        with _one_thread():
            found = super()._find(table, mask, monitor)
        unused = (Fact.of(Caution.BOUNDS_UNUSED),) if self._bounded else ()
        return replace(found, cautions=(*found.cautions, *unused))

    def _rows(self, table: Table) -> Floats:
        """The rows as an array (n, d), in units of standard deviations around the mean if so asked."""
        rows = np.array(table.rows(), dtype=float, order="C")
        if not self.standardize:
            return rows
        deviations = np.sqrt(table.moments.covariance.diagonal())
        return np.asarray((rows - table.moments.mean) / np.where(deviations > 0, deviations, 1.0))

    def _fit_noise(self, table: Table) -> Floats:
        rows = table.rows()
        self.mechanisms_ = AdditiveModel.fit(rows, self.adjacency_matrix_ != 0)
        return np.asarray(np.mean(self._residuals(rows) ** 2, axis=0))

    def _residuals(self, rows: Floats) -> Floats:
        return np.asarray(rows - self.mechanisms_.predict(rows))


@contextmanager
def _one_thread() -> Generator[None]:
    """One thread for torch: these networks are too small for more, and the answer must not depend on the number."""
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)
