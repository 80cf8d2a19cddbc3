"""Random calls of every kernel, for a library that was compiled with sanitizers: see `make sanitize`.

    python tests/native/fuzz.py [CALLS] [SEED]

Sizes are odd, entries are huge, tiny, infinite or no numbers, masks are arbitrary, and a flag stops some calls at a
random time. What counts is that every call returns, keeps an order an order, and leaves memory alone: sanitizers and
guards on both sides of every array tell of anything else.
"""

from __future__ import annotations

import faulthandler
import sys
import threading
import time

import numpy as np

from acyclic._native.library import NO_MEMORY, STOPPED, address, library

SIZES = [1, 2, 3, 4, 5, 7, 8, 9, 12, 15, 16, 17, 31, 33]
ODD = [0.0, -0.0, 1.0, -1.0, 5e-324, -5e-324, 1e-162, 1e-308, 1e154, -1e154, 1e308, -1e308, np.inf, -np.inf, np.nan]
GUARD = 64
CANARY = 0xA5


class Caller:
    """One random call after the other."""

    def __init__(self, seed):
        self.rng, self.guarded, self.timer = np.random.default_rng(seed), [], None
        self.flag = np.zeros(1, dtype=np.int32)

    def guard(self, array):
        """A copy with guards around it, which `check_guards` looks at."""
        room = np.full(array.nbytes + 2 * GUARD, CANARY, dtype=np.uint8)
        inside = room[GUARD : GUARD + array.nbytes].view(array.dtype).reshape(array.shape)
        inside[...] = array
        self.guarded.append(room)
        return inside

    def check_guards(self):
        for room in self.guarded:
            assert (room[:GUARD] == CANARY).all() and (room[-GUARD:] == CANARY).all(), "a kernel wrote out of bounds"
        self.guarded.clear()

    def floats(self, *shape):
        """Numbers of one scale; in some of the calls a few of them are odd."""
        found = self.rng.standard_normal(shape) * 10.0 ** self.rng.integers(-3, 4)
        if self.rng.random() < 0.4:
            odd = self.rng.random(shape) < self.rng.choice([0.02, 0.3, 1.0])
            found[odd] = self.rng.choice(ODD, int(odd.sum()))
        return self.guard(found)

    def square(self, d):
        """A covariance, which is what kernels are made for, or any matrix."""
        kind = self.rng.random()
        if kind < 0.25:
            return self.floats(d, d)
        rows = self.rng.standard_normal((int(self.rng.choice([2, d + 2, 10 * d])), d))
        rows = rows @ (np.eye(d) + np.triu(self.rng.standard_normal((d, d)), 1))
        S = rows.T @ rows / len(rows)
        if kind < 0.75:
            S = S / np.sqrt(np.outer(S.diagonal(), S.diagonal()))
        if kind < 0.35:
            S[:, self.rng.integers(d)] = S[self.rng.integers(d)] = self.rng.choice(ODD)
        return self.guard(S)

    def rule(self, d):
        """A 0/1 matrix, or None."""
        share = self.rng.choice([-1.0, 0.0, 0.1, 0.5, 0.9, 1.0])
        return None if share < 0 else self.guard((self.rng.random((d, d)) < share).astype(np.uint8))

    def limits(self, *shape):
        width = np.abs(self.rng.standard_normal(shape)) * self.rng.choice([0.0, 1.0, np.inf], shape)
        width[np.isnan(width)] = 0
        middle = self.rng.standard_normal(shape) * (self.rng.random(shape) < 0.3)
        return self.guard(middle - width), self.guard(middle + width)

    def stop(self):
        """Whether and when the next call is told to stop: never, at once, or by another thread while it runs."""
        self.flag[0] = 0
        kind = self.rng.random()
        if kind < 0.5:
            return None
        if kind < 0.6:
            self.flag[0] = 1
        elif kind < 0.8:
            wait = float(self.rng.choice([0.0, 1e-4, 1e-3]))
            self.timer = threading.Thread(target=lambda: (time.sleep(wait), self.flag.fill(1)))
            self.timer.start()
        return address(self.flag)

    def finish(self, status):
        if self.timer is not None:
            self.timer.join()
            self.timer = None
        assert status >= 0 or status == STOPPED, f"status {status}{' (no memory)' if status == NO_MEMORY else ''}"
        assert status != STOPPED or self.flag[0] == 1
        self.check_guards()

    def elastic_net(self, d):
        first, last = sorted(self.rng.integers(0, d + 1, 2).tolist())
        shared = bool(self.rng.random() < 0.3)
        Q, c, G, ridge, B = self.square(d), self.floats(d), self.floats(d, d), self.floats(d, d), self.floats(d, d)
        l1 = self.guard(np.abs(self.floats(d) if shared else self.floats(d, d)))
        lower, upper = self.limits(*l1.shape)
        arrays = [address(array) for array in (Q, c, G, l1, ridge, lower, upper, B)]
        tolerance, rounds = float(self.rng.choice([0.0, 1e-12, 1e-6])), int(self.rng.choice([0, 1, 10, 200]))
        loops = bool(self.rng.random() < 0.5)
        numbers = tolerance, rounds, shared, loops, bool(self.rng.random() < 0.5)
        self.finish(library().elastic_net(d, first, last, *arrays, *numbers, self.stop()))

    def criterion(self, d):
        unit = self.floats(d) if self.rng.random() < 0.3 else None
        n, cost = float(self.rng.choice([2.0, 50.0, 1e9])), float(self.rng.choice([0.0, 1e-9, 4.0, 1e12]))
        return self.square(d), n, cost, unit, self.rule(d), self.rule(d)

    def select_parents(self, d):
        first, last = sorted(self.rng.integers(0, d + 1, 2).tolist())
        R, n, cost, *rules = self.criterion(d)
        slopes, left = self.floats(d, d), self.floats(d)
        numbers = int(self.rng.integers(0, d + 1)), int(self.rng.integers(0, 6))
        given = address(R), n, cost, *(address(rule) for rule in rules), *numbers, address(slopes), address(left)
        self.finish(library().select_parents(d, first, last, *given, self.stop()))

    def polish_order(self, d):
        L, weight, precede = np.tril(self.square(d)), np.abs(self.floats(d)), self.rule(d)
        L, weight = self.guard(L), self.guard(weight)
        order = self.guard(np.arange(d, dtype=np.int32))
        given = [address(array) for array in (L, order, weight, precede)]
        numbers = int(self.rng.integers(0, d + 1)), int(self.rng.integers(0, 20)), float(self.rng.choice([0, 1e-9, -1]))
        self.finish(library().polish_order(d, *given, *numbers, self.stop()))
        assert sorted(order) == list(range(d))

    def order_search(self, d):
        R, n, cost, *rules = self.criterion(d)
        rules.append(self.rule(d))
        rng, call = self.rng, library()
        numbers = int(rng.integers(0, d + 1)), int(rng.integers(0, 6)), int(rng.choice([0, 5, 10**6]))
        given = address(R), n, cost, *(address(rule) for rule in rules), *numbers, int(rng.integers(2**63))
        some = self.candidates(d) if rng.random() < 0.5 else [None] * 4
        handle = call.order_search_open(d, *given, *(address(array) for array in some))
        assert handle
        counted = rng.random() < 0.3 and not address(some[0])
        if counted:
            handle = call.order_search_use(handle, self.counts(d, numbers[0]))
            assert handle
        order, found = self.guard(np.zeros(d, dtype=np.int32)), self.guard(np.zeros(d, dtype=np.int32))
        score, room = self.guard(np.zeros(1)), int(rng.integers(1, 2 * d + 1))
        first, parents = self.guard(np.zeros(d + 1, dtype=np.int64)), self.guard(np.zeros(room, dtype=np.int32))
        kept, self.guarded = self.guarded, []
        for _ in range(int(rng.integers(1, 4))):
            order[:] = rng.permutation(d)
            if rng.random() < 0.3 and not counted:
                status = call.order_search_grow(handle, address(R[0]), 1e-9, address(order), self.stop())
                self.finish(status)
                if status < 0:  # the order is half grown
                    order[:] = np.arange(d)
            self.finish(call.order_search_start(handle, address(order), self.stop()))
            tolerance = float(rng.choice([1e-9, 1e-6, 1.0]))
            for step in rng.choice(["descend", "kick", "rival", "rival"], int(rng.integers(0, 6))):
                work = int(rng.choice([0, 1000, 10**7]))
                if step == "descend":
                    status = call.order_search_descend(handle, work, tolerance, self.stop())
                elif step == "kick":
                    often = int(rng.integers(0, 6)), float(rng.choice([0.0, 5.0, np.inf])), int(rng.integers(0, 20))
                    status = call.order_search_kick(handle, *often, work, tolerance, self.stop())
                elif d > 1:
                    u, v = rng.choice(d, 2, replace=False).tolist()
                    pair = u, v, int(rng.integers(2)), work, tolerance, address(score)
                    status = call.order_search_rival(handle, *pair, self.stop())
                self.finish(status if d > 1 or step != "rival" else 0)
                if call.order_search_best(handle, address(found)) < np.inf:
                    assert sorted(found) == list(range(d))
            assert call.order_search_work(handle) >= 0
            if not counted:
                missed = self.guard(np.full((d, 3), -1, dtype=np.int32))
                self.finish(call.order_search_missed(handle, 0, d, 3, address(missed), self.stop()))
                assert -1 <= missed.min() and missed.max() < d
            low, high = sorted(rng.integers(0, d + 1, 2).tolist())
            count = call.order_search_parents(handle, low, high, address(first), address(parents), room)
            begins = first[: high - low + 1]
            assert begins[-1] == count and 0 <= count <= d * d and (np.diff(begins) >= 0).all()
            assert 0 <= parents.min() and parents.max() < d
        call.order_search_close(handle)
        self.guarded = kept
        self.check_guards()

    def counts(self, d, max_parents):
        """A selector that counts codes."""
        return library().counts_open(*self.codes_of(d), max_parents)

    def codes_of(self, d):
        """Codes of columns with few or many levels and rows with weights, and prices."""
        rng, m = self.rng, int(self.rng.choice([1, 2, 7, 60]))
        levels = self.guard(rng.integers(1, rng.choice([2, 4, 256]), d).astype(np.int32))
        codes = np.vstack([rng.integers(0, levels[:, None], (d, m)), np.zeros((1, m), dtype=int)])
        weight = self.guard(rng.choice([1, 3, 10**6, 2**31 - 1], m).astype(np.int32))
        logs = self.floats(int(rng.integers(1, 9)))
        self.codes = self.guard(codes.astype(np.uint8)), weight, levels, logs  # as long as the search reads them
        prices = (float(rng.choice([0.0, 1.0, 1e300])) for _ in range(2))
        size = float(rng.choice([0.0, 1e-300, 1.0, 1e300]))
        arrays = (address(array) for array in self.codes[:3])
        return d, m, *arrays, len(logs), address(logs), *prices, size

    def candidates(self, d):
        """Columns in some order, scales, and some of the pairs."""
        pairs = np.argwhere((self.rng.random((d, d)) < self.rng.random()) & ~np.eye(d, dtype=bool))
        start = self.guard(np.searchsorted(pairs[:, 0], np.arange(d + 1)).astype(np.int64))
        column, nodes = self.rng.permutation(d).astype(np.int32), pairs[:, 1].astype(np.int32)
        scale = self.guard(np.maximum(self.rng.standard_normal(d), 0.0))
        return self.guard(column), scale, start, self.guard(np.append(nodes, np.int32(0)))

    def screen_candidates(self, d):
        first, last = sorted(self.rng.integers(0, d + 1, 2).tolist())
        S, n, cost, *_ = self.criterion(d)
        room = int(self.rng.integers(1, d + 2))
        scale, found = self.guard(np.ones(d)), self.guard(np.full((d, room), -1, dtype=np.int32))
        chosen = self.guard(np.zeros(d, dtype=np.int32))
        numbers = int(self.rng.integers(0, d + 1)), int(self.rng.integers(0, 6)), int(self.rng.integers(1, d + 2)), room
        given = address(S), address(scale), n, cost, *numbers, address(found), address(chosen)
        self.finish(library().screen_candidates(d, first, last, *given, self.stop()))
        assert -1 <= found.min() and found.max() < d and 0 <= chosen.min() and chosen.max() <= room

    def exact(self, d):
        d = min(d, int(self.rng.integers(1, 11)))
        R, n, cost, *rules = self.criterion(d)
        given = address(R), n, cost, *(address(rule) for rule in rules), int(self.rng.integers(0, d + 1))
        best, totals = self.guard(np.zeros((d, 2 ** (d - 1)))), [self.guard(np.zeros(2**d)) for _ in range(2)]
        parents = self.guard(np.zeros(d, dtype=np.uint32))
        scores = [self.guard(np.zeros((d,) * k)) for k in (2, 2, 3)]
        graphs = [self.guard(np.zeros((d,) * k, dtype=np.uint32)) for k in (3, 3, 4)]
        kept, self.guarded = self.guarded, []
        first, last = sorted(self.rng.integers(0, d + 1, 2).tolist())
        self.finish(library().exact_scores(d, 0, d, *given, address(best), self.stop()))
        for rest, total in enumerate(totals):
            self.finish(library().exact_orders(d, address(best), rest, address(total), self.stop()))
        tables = [address(table) for table in (best, *totals)]
        tolerance = float(self.rng.choice([0.0, 1e-7, np.inf]))
        library().exact_graph(d, *tables[:2], tolerance, address(parents))
        numbers, results = (float(self.rng.choice([0.0, np.inf])), tolerance), map(address, (*scores, *graphs))
        self.finish(
            library().exact_margins(d, first, last, *given, *tables, address(parents), *numbers, *results, self.stop())
        )
        for found in (parents, *graphs):
            assert found.max() < 2**d
        self.guarded = kept
        self.check_guards()

    def count_sets(self, d):
        d = min(d, int(self.rng.integers(1, 9)))
        given, rules = self.codes_of(d), (self.rule(d), self.rule(d))
        scores = self.guard(np.zeros((d, 2 ** (d - 1))))
        first, last = sorted(self.rng.integers(0, d + 1, 2).tolist())
        slack, work = float(self.rng.choice([0.0, 5.0, np.inf])), int(self.rng.choice([0, 1000, 10**12]))
        limits = int(self.rng.integers(0, d + 1)), first, last, *map(address, rules), slack, work
        self.finish(library().counts_scores(*given, *limits, address(scores), self.stop()))
        total, parents = self.guard(np.zeros(2**d)), self.guard(np.zeros(d, dtype=np.uint32))
        margins = [self.guard(np.zeros((d,) * k)) for k in (2, 2, 3)]
        graphs = [self.guard(np.zeros((d,) * k, dtype=np.uint32)) for k in (3, 3, 4)]
        tables = [address(table) for table in (scores, scores, total, total, parents)]
        results = map(address, (*margins, *graphs))
        self.finish(library().exact_margins_of(d, first, last, *tables, 0.0, 1e-7, *results, self.stop()))
        assert all(found.max() < 2**d for found in graphs)

    def strong_components(self, d):
        support = self.rule(d)
        support = self.guard(np.ones((d, d), dtype=np.uint8)) if support is None else support
        labels, work = self.guard(np.zeros(d, dtype=np.int32)), self.guard(np.zeros(4 * d, dtype=np.int32))
        count = library().strong_components(d, address(support), address(labels), address(work))
        assert count == len(np.unique(labels)) and 1 <= work[0] <= d
        self.check_guards()

    def hash_values(self, d):
        columns = self.floats(d, int(self.rng.integers(1, 40)))
        state = self.guard(self.rng.integers(2**61 - 1, size=(d, 2), dtype=np.uint64))
        library().hash_values(d, columns.shape[1], address(columns), address(state))
        assert state.max() < 2**61 - 1
        self.check_guards()


KERNELS = (
    *("elastic_net", "select_parents", "screen_candidates", "polish_order", "order_search", "exact"),
    *("count_sets", "strong_components", "hash_values"),
)


def fuzz(calls, seed):
    """Make so many calls of each kernel."""
    caller = Caller(seed)
    with np.errstate(all="ignore"):
        for number in range(calls):
            for name in KERNELS:
                d = int(caller.rng.choice(SIZES if number % 50 else [65, 100]))
                getattr(caller, name)(d)


if __name__ == "__main__":
    faulthandler.enable()
    faulthandler.dump_traceback_later(900, exit=True)
    made = int(sys.argv[1]) if len(sys.argv) > 1 else 1000
    fuzz(made, int(sys.argv[2]) if len(sys.argv) > 2 else 0)
    sys.stdout.write(f"{made} calls of each of {', '.join(KERNELS)}: nothing to tell\n")
