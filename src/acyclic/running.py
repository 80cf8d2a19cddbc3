"""What every solver shares: its answer, its stopping rules, and the checkpoint from which it can go on."""

from __future__ import annotations

import hashlib
import json
import os
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from acyclic.errors import InputError
from acyclic.types import Callback, Floats, Progress


@dataclass(frozen=True, eq=False)
class Solution:
    """Where a solver ended.

    Attributes
    ----------
    weights : ndarray (d, d)
        Before any threshold; not necessarily acyclic.
    converged : bool
    reason : str
        Why it stopped, in words.
    objective, h : float
        Score plus L1 term, and the constraint's value, at the weights.
    steps : int
        Steps of the inner minimiser in all.
    trace : tuple of Progress
        The end of each inner minimisation.
    stopped : bool
        Whether time limit, callback or Ctrl-C ended it.
    """

    weights: Floats
    converged: bool
    reason: str
    objective: float
    h: float
    steps: int
    seconds: float
    trace: tuple[Progress, ...] = ()
    stopped: bool = False


@dataclass
class State:
    """Where an outer loop stands: all that a checkpoint has to hold.

    ``inner`` is the point that the running inner minimisation has reached after ``inner_steps``, with whatever else it
    needs to go on in ``memory``; without it the minimisation starts from ``weights``. ``shortfall`` says why the last
    one ended before a minimum, if it did. Each method changes everything at once, so that Ctrl-C finds the state as it
    was before or after.
    """

    weights: Floats
    rho: float = 1.0
    alpha: float = 0.0
    h: float = np.inf
    round: int = 0
    steps: int = 0
    seconds: float = 0.0
    inner: Floats | None = None
    inner_steps: int = 0
    memory: dict[str, Floats] = field(default_factory=dict)
    shortfall: str = ""
    trace: list[Progress] = field(default_factory=list)
    done: bool = False
    converged: bool = False
    reason: str = ""

    def step(self, inner: Floats, **memory: Floats) -> None:
        """Count a step of the inner minimisation, which led to ``inner``."""
        vars(self).update(inner=inner, memory=memory, inner_steps=self.inner_steps + 1, steps=self.steps + 1)

    def accept(self, **changes: Any) -> None:
        """Forget the inner minimisation, which has ended, and make the changes that follow from it."""
        vars(self).update(changes, inner=None, inner_steps=0, memory={})

    def finish(self, converged: bool, reason: str) -> None:
        """Note that the outer loop has come to its own end."""
        vars(self).update(done=True, converged=converged, reason=reason)

    @property
    def reached(self) -> Floats:
        """The latest weights."""
        return self.weights if self.inner is None else self.inner

    def solution(self, objective: float, h: float) -> Solution:
        """The answer, given the objective and the constraint at the latest weights."""
        end = self.converged, self.reason, objective, h, self.steps, self.seconds, tuple(self.trace)
        return Solution(self.reached, *end, stopped=not self.done)


class Stopped(Exception):  # noqa: N818 - not an error: it carries the reason of a wanted stop to the outer loop
    """Raised inside a solver when its time is up or its callback asks for the end."""


class Checkpoint:
    """A file that holds a State, written atomically.

    ``key`` names data and settings: a file with another key is refused rather than continued.
    """

    FORMAT = "acyclic checkpoint 1"

    def __init__(self, path: str | os.PathLike[str], key: str) -> None:
        self.path, self.key = Path(path), key
        if not self.path.absolute().parent.is_dir():
            raise InputError(f"there is no folder for the checkpoint {self.path}; make it, or name another")

    def save(self, state: State) -> None:
        """Write the state beside the path, then move it there."""
        arrays = {"weights": state.weights, **{f"memory.{name}": value for name, value in state.memory.items()}}
        if state.inner is not None:
            arrays["inner"] = state.inner
        plain = {f.name: getattr(state, f.name) for f in fields(State)}
        for name in ("weights", "inner", "memory", "trace"):
            del plain[name]
        header = {"format": self.FORMAT, "key": self.key, **plain, "trace": [asdict(p) for p in state.trace]}
        scratch = self.path.with_name(f"{self.path.name}.{os.getpid()}.part")
        try:
            with scratch.open("wb") as file:
                np.savez(file, header=np.array(json.dumps(header)), **arrays)  # type: ignore[arg-type]
                file.flush()
                os.fsync(file.fileno())
            os.replace(scratch, self.path)
        finally:
            scratch.unlink(missing_ok=True)

    def load(self) -> State | None:
        """The state on disk, or None where there is none yet."""
        if not self.path.exists():
            return None
        try:
            with self.path.open("rb") as file, np.load(file, allow_pickle=False) as stored:
                header = json.loads(str(stored["header"]))
                arrays = {name: stored[name] for name in stored.files if name != "header"}
            if header.pop("format") != self.FORMAT:
                raise ValueError("another format")
            key = header.pop("key")
            trace = [Progress(**row) for row in header.pop("trace")]
            memory = {name.removeprefix("memory."): a for name, a in arrays.items() if name.startswith("memory.")}
            state = State(weights=arrays["weights"], inner=arrays.get("inner"), memory=memory, trace=trace, **header)
        except Exception as error:  # a broken archive can fail in any way
            raise InputError(
                f"{self.path} is not a checkpoint of acyclic ({error}); delete it or name another"
            ) from error
        if key != self.key:
            raise InputError(f"{self.path} belongs to other data or settings; delete it or name another checkpoint")
        return state


class Monitor:
    """Watches a run: time limit, callback, checkpoint, trace.

    Parameters
    ----------
    time_limit : float, optional
        Seconds, counted from the creation of the monitor; a resumed run starts a new count.
    callback : callable, optional
        Called with a Progress after every step; a true answer ends the run.
    checkpoint : Checkpoint, optional
        Written every few seconds and at the end.

    Attributes
    ----------
    edges : callable
        Counts the edges in the variables of a state, for which weights are taken unless a learner says otherwise.
    """

    every: ClassVar[float] = 3.0
    """Seconds between checkpoints."""

    def __init__(
        self,
        time_limit: float | None = None,
        callback: Callback | None = None,
        checkpoint: Checkpoint | None = None,
    ) -> None:
        self.time_limit, self.callback, self.checkpoint = time_limit, callback, checkpoint
        self.started = self.saved = time.monotonic()
        self.before = 0.0
        self.edges: Callable[[Floats], int] = np.count_nonzero

    def begin(self, fresh: State) -> State:
        """The state to go on from: the checkpoint's, or the given one."""
        state = (self.checkpoint.load() if self.checkpoint else None) or fresh
        self.before = state.seconds
        return state

    def tick(
        self, state: State, stage: str, objective: float, h: float, penalty: float, *, ended: bool = False
    ) -> None:
        """Note one step of a run; raises Stopped when it has to end."""
        now = time.monotonic()
        state.seconds = self.before + now - self.started
        if ended or self.callback:
            edges = int(self.edges(state.reached))
            progress = Progress(stage, state.round, state.steps, objective, h, penalty, edges, state.seconds)
            if ended:
                state.trace.append(progress)
            if self.callback and self.callback(progress):
                raise Stopped("the callback asked for the end")
        if self.checkpoint and now - self.saved >= self.every:
            self.checkpoint.save(state)
            self.saved = time.monotonic()
        if self.time_limit is not None and now - self.started >= self.time_limit:
            raise Stopped(f"the time limit of {self.time_limit:g} s was reached")

    def run(self, loop: Callable[[State], None], fresh: State) -> State:
        """Run an outer loop to its end, or to where it is stopped by limit, callback or Ctrl-C."""
        state = self.begin(fresh)
        if not state.done:
            state.reason = ""
            try:
                loop(state)
            except Stopped as stop:
                state.reason = str(stop)
            except KeyboardInterrupt:
                state.reason = state.reason if state.done else "it was interrupted"
        state.seconds = self.before + time.monotonic() - self.started
        if self.checkpoint:
            self.checkpoint.save(state)
        return state


def digest(*parts: Any) -> str:
    """A short name for data and settings, equal for equal content."""
    total = hashlib.sha256()
    for part in parts:
        total.update(part.tobytes() if isinstance(part, np.ndarray) else repr(part).encode())
        total.update(b"\0")
    return total.hexdigest()
