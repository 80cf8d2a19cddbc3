"""What every solver shares: its answer, its stopping rules, and the checkpoint from which it can go on."""

from __future__ import annotations

import hashlib
import json
import os
import time
import warnings
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any, ClassVar, TypeAlias

import numpy as np

from acyclic.deadline import Deadline, Stopped, allow_interrupts
from acyclic.errors import InputError
from acyclic.facts import Ended, Fact, Value
from acyclic.files import check_writable, write_atomically
from acyclic.types import Callback, Floats, Progress


@dataclass(frozen=True, eq=False)
class Solution:
    """Where a solver ended.

    Attributes
    ----------
    weights : ndarray (d, d)
        Before any threshold; not necessarily acyclic.
    end : Fact of Ended
        How it ended.
    objective, h : float
        Score plus L1 term, and the constraint's value, at the weights.
    steps : int
        Steps of the inner minimiser in all.
    trace : tuple of Progress
        The end of each inner minimisation.
    """

    weights: Floats
    end: Fact[Ended]
    objective: float
    h: float
    steps: int
    seconds: float
    trace: tuple[Progress, ...] = ()

    @property
    def converged(self) -> bool:
        """Whether it came to its own, good end."""
        return self.end.kind.converged


@dataclass
class State:
    """Where an outer loop stands: all that a checkpoint has to hold.

    ``inner`` is the point that the running inner minimisation has reached after ``inner_steps``, with whatever else it
    needs to go on in ``memory``; without it the minimisation starts from ``weights``. ``shortfall`` says how the last
    one ended before a minimum, if it did; ``end`` how the loop ended, if it has. Each method changes everything at
    once, so that Ctrl-C finds the state as it was before or after.
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
    shortfall: Fact[Ended] | None = None
    trace: list[Progress] = field(default_factory=list)
    end: Fact[Ended] | None = None

    def step(self, inner: Floats, **memory: Floats) -> None:
        """Count a step of the inner minimisation, which led to ``inner``."""
        vars(self).update(inner=inner, memory=memory, inner_steps=self.inner_steps + 1, steps=self.steps + 1)

    def accept(self, **changes: Any) -> None:
        """Forget the inner minimisation, which has ended, and make the changes that follow from it."""
        vars(self).update(changes, inner=None, inner_steps=0, memory={})

    def finish(self, kind: Ended, **values: Value) -> None:
        """Note that the outer loop has come to its own end."""
        self.end = Fact.of(kind, **values)

    @property
    def done(self) -> bool:
        """Whether the outer loop came to its own end, rather than being stopped."""
        return self.end is not None and not self.end.kind.stopped

    @property
    def reached(self) -> Floats:
        """The latest weights."""
        return self.weights if self.inner is None else self.inner

    def solution(self, objective: float, h: float) -> Solution:
        """The answer, given the objective and the constraint at the latest weights."""
        end = self.end or Fact.of(Ended.UNKNOWN)
        return Solution(self.reached, end, objective, h, self.steps, self.seconds, tuple(self.trace))


Key: TypeAlias = Mapping[str, str]
"""What a stored run belongs to: the table, the method, its version, and its settings other than the defaults."""

_UNSEEN = {"table": "the table", "knowledge": "the prior knowledge", "start": "the start"}


def check_key(path: str | os.PathLike[str], stored: Key, here: Key) -> None:
    """Raise an InputError that says what differs between a stored run and this one, if anything does."""
    parts = [part for part in {**here, **stored} if stored.get(part) != here.get(part)]
    told = [
        f"{_UNSEEN[part]} was another one"
        if part in _UNSEEN
        else f"{part} was {stored.get(part, 'the default')}, here it is {here.get(part, 'the default')}"
        for part in parts
    ]
    if told:
        raise InputError(f"{path} belongs to another run: {'; '.join(told)}. Name another file for this run")


class Checkpoint:
    """A file that holds a State, written atomically.

    ``key`` names data, method and settings, each by itself: a file with another key is refused rather than continued.
    """

    FORMAT = "acyclic checkpoint 3"

    def __init__(self, path: str | os.PathLike[str], key: Key) -> None:
        self.path, self.key = Path(path), dict(key)
        folder = self.path.absolute().parent
        if not folder.is_dir():
            raise InputError(f"there is no folder for the checkpoint {self.path}; make it, or name another")
        check_writable(folder)

    def save(self, state: State) -> None:
        """Write the state, whole or not at all."""
        arrays = {"weights": state.weights, **{f"memory.{name}": value for name, value in state.memory.items()}}
        if state.inner is not None:
            arrays["inner"] = state.inner
        plain = {f.name: getattr(state, f.name) for f in fields(State)}
        for name in ("weights", "inner", "memory", "trace"):
            del plain[name]
        plain |= {name: fact and fact.to_dict() for name, fact in (("end", state.end), ("shortfall", state.shortfall))}
        header = {"format": self.FORMAT, "key": self.key, **plain, "trace": [asdict(p) for p in state.trace]}
        with write_atomically(self.path) as file:
            np.savez(file, header=np.array(json.dumps(header)), **arrays)  # type: ignore[arg-type]

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
            facts = {name: header.pop(name) for name in ("end", "shortfall")}
            header |= {name: plain and Fact.from_dict(Ended, plain) for name, plain in facts.items()}
            memory = {name.removeprefix("memory."): a for name, a in arrays.items() if name.startswith("memory.")}
            state = State(weights=arrays["weights"], inner=arrays.get("inner"), memory=memory, trace=trace, **header)
        except Exception as error:  # a broken archive can fail in any way
            raise InputError(f"{self.path} is not a checkpoint of this acyclic ({error}); name another file") from error
        check_key(self.path, key, self.key)
        return state


class Monitor:
    """Watches a run: time limit, callback, checkpoint, trace.

    Parameters
    ----------
    deadline : Deadline or float, optional
        Until when the run may go on, or for how many seconds; a resumed run starts a new count.
    callback : callable, optional
        Called with a Progress after every step; a true answer ends the run.
    checkpoint : Checkpoint, optional
        Written every few seconds and at the end.

    Attributes
    ----------
    deadline : Deadline
        Until when the run may go on; kernels and long loops are given it.
    told : (float, float)
        Objective and constraint that the last step told.
    edges : callable
        Counts the edges in the variables of a state, for which weights are taken unless a learner says otherwise.
    """

    every: ClassVar[float] = 3.0
    """Seconds between checkpoints."""

    def __init__(
        self,
        deadline: Deadline | float | None = None,
        callback: Callback | None = None,
        checkpoint: Checkpoint | None = None,
    ) -> None:
        self.deadline = deadline if isinstance(deadline, Deadline) else Deadline(deadline)
        self.callback, self.checkpoint = callback, checkpoint
        self.started = self.saved = time.monotonic()
        self.before = 0.0
        self.told = np.nan, np.nan
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
        self.told = objective, h
        state.seconds = self.before + now - self.started
        if ended or self.callback:
            edges = int(self.edges(state.reached))
            progress = Progress(stage, state.round, state.steps, objective, h, penalty, edges, state.seconds)
            if ended:
                state.trace.append(progress)
            if self.callback and self.callback(progress):
                raise Stopped(Fact.of(Ended.CALLBACK))
        if now - self.saved >= self.every:
            self._save(state)
        self.deadline.check()

    def _save(self, state: State) -> None:
        """Write the checkpoint, if there is one; a disk that is full now must not cost what was computed."""
        if self.checkpoint is None:
            return
        try:
            self.checkpoint.save(state)
        except OSError as error:
            why = error.strerror or error
            said = f"the checkpoint {self.checkpoint.path} could not be written ({why}); the run goes on without it"
            warnings.warn(said, RuntimeWarning, stacklevel=2)
        self.saved = time.monotonic()

    def tell(self, state: State, stage: str) -> Callable[[float], None]:
        """What a search calls with its objective after each pass; it raises Stopped when the run has to end."""
        return lambda objective: self.tick(state, stage, objective, 0.0, 0.0)

    def run(self, loop: Callable[[State], None], fresh: State) -> State:
        """Run an outer loop to its end, or to where it is stopped by limit, callback or Ctrl-C."""
        state = self.begin(fresh)
        if not state.done:
            state.end = None
            try:
                with allow_interrupts():
                    loop(state)
            except Stopped as stop:
                state.end = stop.end
            except KeyboardInterrupt:
                # Even after the loop's own end: whoever runs more than one loop has to know of it.
                state.end = Fact.of(Ended.INTERRUPTED)
        state.seconds = self.before + time.monotonic() - self.started
        self._save(state)
        return state


def digest(*parts: Any) -> str:
    """A short name for data and settings, equal for equal content."""
    total = hashlib.sha256()
    for part in parts:
        total.update(part.tobytes() if isinstance(part, np.ndarray) else repr(part).encode())
        total.update(b"\0")
    return total.hexdigest()
