/* The best graph there is, by dynamic programming over sets of nodes (Silander & Myllymäki 2006), and the best one with
   or without each edge.

   A set of nodes is a number whose bits name them. Tables over sets of parents leave the bit of their target out, and
   those above it move down by one. A table of minima holds copies of scores, never sums that were rounded another way:
   which set a minimum is that of is found again by comparing entries, and nothing but scores is stored. */
#include "selection.h"
#include <string.h>

typedef uint32_t Set;

static Set squeeze(Set set, int node)
{
    return (set & ((1u << node) - 1)) | (set >> (node + 1) << node);
}

static Set widen(Set set, int node)
{
    return (set & ((1u << node) - 1)) | (set >> node << (node + 1));
}

/* ---- Scores of all parent sets of one target ------------------------------------------------------------------------

   Depth first over the candidates. A step takes one parent out of the covariances of the candidates that may follow, of
   which most steps have few left: on average a set takes a handful of operations and a logarithm. */

typedef struct {
    Criterion criterion;
    int target;
    double *table;
    Set bit[EXACT_NODES];
    Stop stop;
} Walk;

static int row_start(int j)
{
    return j * (j + 1) / 2;
}

/* A: covariances, given some set, of candidates 0..k-1 by rows up to the diagonal, then those with the target. B: those
   of candidates 0..j-1, given j too. */
static void eliminate(int k, int j, const double *restrict A, double *restrict B)
{
    const double *row = A + row_start(j), *cross = A + row_start(k);
    double scale = 1 / row[j], slope = cross[j] * scale;
    for (int q = 0; q < j; q++, A += q, B += q)
        for (int p = 0; p <= q; p++)
            B[p] = A[p] - row[q] * scale * row[p];
    for (int p = 0; p < j; p++)
        B[p] = cross[p] - slope * row[p];
}

/* Scores of `set` with all that can be added of the first k candidates. */
static void walk(Walk *w, double *A, int k, double variance, Set set, int count)
{
    const double *cross = A + row_start(k);
    double *B = A + row_start(k) + k;
    if (count++ >= w->criterion.max_parents || (k > 8 && stopped(&w->stop)))
        return;
    for (int j = 0; j < k; j++) {
        double own = A[row_start(j) + j], left = variance - cross[j] * cross[j] / own;
        if (!(own > DEPENDENT))
            continue;
        w->table[set | w->bit[j]] = criterion_score(&w->criterion, w->target, left, count);
        if (j > 0 && count < w->criterion.max_parents) {
            eliminate(k, j, A, B);
            walk(w, B, j, left, set | w->bit[j], count);
        }
    }
}

/* The table of a target: INFINITY for sets that lack a required parent, hold one that is not allowed, or are too large.
   Whoever determines others in a set makes them useless there: such sets have INFINITY too. A required parent that the
   other required ones determine is in every set and costs nothing, as in selection.c. `room` is for the covariances. */
static void score_all(Walk *w, int target, const uint8_t *allowed, const uint8_t *required, double *room)
{
    const Criterion *s = &w->criterion;
    int d = s->stride, column[EXACT_NODES], k = 0, first_required, count = 0;
    Set set = 0;
    w->target = target;
    for (int a = 0; a < d; a++)
        if (a != target && (!allowed || allowed[a]) && !(required && required[a]))
            column[k++] = a;
    first_required = k;
    for (int a = d - 1; a >= 0 && required; a--)
        if (a != target && required[a])
            column[k++] = a;
    for (int j = 0; j < k; j++)
        w->bit[j] = squeeze(1u << column[j], target);
    for (int q = 0; q <= k; q++)
        for (int p = 0; p <= q && p < k; p++)
            room[row_start(q) + p] = s->R[(q < k ? column[q] : target) * d + column[p]];
    for (size_t i = 0; i < (size_t)1 << (d - 1); i++)
        w->table[i] = INFINITY;
    double variance = s->R[target * d + target];
    while (k > first_required) {
        double *cross = room + row_start(k), own = room[row_start(k) - 1];
        set |= w->bit[--k];
        if (own > DEPENDENT) {
            variance -= cross[k] * cross[k] / own;
            eliminate(k + 1, k, room, cross + k + 1);
            room = cross + k + 1;
            count++;
        } else {
            memmove(room + row_start(k), cross, sizeof(double) * (size_t)k);
        }
    }
    w->table[set] = criterion_score(s, target, variance, count);
    walk(w, room, k, variance, set, count);
}

static double *covariance_room(int d)
{
    return malloc(sizeof(double) * (size_t)(d + 1) * (size_t)(row_start(d) + d));
}

/* ---- Minima over subsets and supersets ---------------------------------------------------------------------------- */

WIDE static void fold_down(size_t first, size_t end, size_t half, double *restrict t)
{
    for (size_t s = first; s < end; s += 2 * half) {
        double *restrict low = t + s, *restrict high = low + half;
        for (size_t i = 0; i < half; i++)
            high[i] = low[i] < high[i] ? low[i] : high[i];
    }
}

WIDE static void fold_up(size_t first, size_t end, size_t half, double *restrict t)
{
    for (size_t s = first; s < end; s += 2 * half) {
        double *restrict low = t + s, *restrict high = low + half;
        for (size_t i = 0; i < half; i++)
            low[i] = high[i] < low[i] ? high[i] : low[i];
    }
}

/* Replaces every entry by the lowest of its subsets (fold_down) or supersets (fold_up), bits of `bits`; low bits first,
   in blocks that stay in the cache. */
static void fold(void (*step)(size_t, size_t, size_t, double *restrict), int bits, double *t, Stop *stop)
{
    size_t size = (size_t)1 << bits, block = size < 4096 ? size : 4096;
    for (size_t s = 0; s < size; s += block)
        for (size_t half = 1; half < block; half *= 2)
            step(s, s + block, half, t);
    for (size_t half = block; half < size && !stopped(stop); half *= 2)
        step(0, size, half, t);
}

/* best (d * 2^(d-1)): for each of the targets first..last-1, the lowest score of a set of parents within each set of
   others, INFINITY where there is none. Returns 0, NO_MEMORY or STOPPED; then the rows of `best` are worth nothing. */
int exact_scores(int d, int first, int last, const double *R, double n, double c, const double *unit,
                 const uint8_t *allowed, const uint8_t *required, int max_parents, double *best,
                 const volatile int32_t *stop)
{
    Walk w = {.criterion = {d, R, n, c, unit, max_parents, 0, NULL, NULL}, .stop.flag = stop};
    double *room = covariance_room(d);
    for (int j = first; j < last && room && !stopped(&w.stop); j++) {
        w.table = best + ((size_t)j << (d - 1));
        score_all(&w, j, allowed ? allowed + j * d : NULL, required ? required + j * d : NULL, room);
        fold(fold_down, d - 1, w.table, &w.stop);
    }
    free(room);
    return !room ? NO_MEMORY : stopped(&w.stop) ? STOPPED : 0;
}

/* ---- Orders ------------------------------------------------------------------------------------------------------- */

typedef struct {
    int d;
    const double *best, *before, *after;
    double slack; /* how far from the lowest score a choice may still go */
    Set *parents;
} Trace;

static double lowest(const Trace *t, int node, Set given)
{
    return t->best[((size_t)node << (t->d - 1)) | squeeze(given, node)];
}

/* Lowest score of the nodes of each set where all their parents are in the set (total, 2^d), or, where `rest` is set, of
   the nodes outside of it that have to come after it. Returns 0 or STOPPED. */
int exact_orders(int d, const double *best, int rest, double *total, const volatile int32_t *stop)
{
    Trace t = {d, best, NULL, NULL, 0, NULL};
    Set all = (Set)(((uint64_t)1 << d) - 1);
    Stop watch = {stop, 0};
    total[rest ? all : 0] = 0;
    for (Set k = 1; k <= all; k++) {
        Set set = rest ? all ^ k : k;
        double lowest_total = INFINITY;
        for (Set left = k; left; left &= left - 1) {
            Set node = left & -left, given = rest ? set : set ^ node;
            double sum = total[set ^ node] + lowest(&t, __builtin_ctz(node), given);
            lowest_total = sum < lowest_total ? sum : lowest_total;
        }
        total[set] = lowest_total;
        if (!(k & 0xffff) && stopped(&watch))
            return STOPPED;
    }
    return stopped(&watch) ? STOPPED : 0;
}

/* Scores that differ by less than the slack count as equal, and the position of the columns decides: then rounding,
   which is another on every CPU, does not. A set of parents loses its last columns first. */
static void take_parents(Trace *t, int node, Set given)
{
    double goal = lowest(t, node, given) + t->slack;
    for (int a = t->d - 1; a >= 0; a--)
        if (given >> a & 1 && lowest(t, node, given ^ 1u << a) <= goal)
            given ^= 1u << a;
    t->slack = goal - lowest(t, node, given);
    t->parents[node] = given;
}

/* Parents of all nodes of a set in a best order of them; the last column that can come last does. */
static void take_before(Trace *t, Set set)
{
    while (set) {
        int node = t->d - 1, found = -1;
        double excess = 0;
        for (; node >= 0; node--) {
            if (!(set >> node & 1))
                continue;
            Set given = set ^ 1u << node;
            excess = t->before[given] + lowest(t, node, given) - t->before[set];
            found = found < 0 ? node : found;
            if (excess <= t->slack)
                break;
        }
        node = node < 0 ? found : node;
        set ^= 1u << node;
        t->slack -= excess > 0 ? excess : 0;
        take_parents(t, node, set);
    }
}

/* Parents of all nodes outside of a set, which come after it. */
static void take_after(Trace *t, Set set)
{
    Set all = (Set)(((uint64_t)1 << t->d) - 1);
    while (set != all) {
        int node = 0, found = -1;
        double excess = 0;
        for (; node < t->d; node++) {
            if (set >> node & 1)
                continue;
            excess = lowest(t, node, set) + t->after[set | 1u << node] - t->after[set];
            found = found < 0 ? node : found;
            if (excess <= t->slack)
                break;
        }
        node = node == t->d ? found : node;
        t->slack -= excess > 0 ? excess : 0;
        take_parents(t, node, set);
        set |= 1u << node;
    }
}

/* parents (d): those of each node in the best graph; 0 where no graph is allowed. `before` is that of exact_orders. */
void exact_graph(int d, const double *best, const double *before, double tolerance, uint32_t *parents)
{
    Trace t = {d, best, before, NULL, tolerance, parents};
    Set all = (Set)(((uint64_t)1 << d) - 1);
    memset(parents, 0, sizeof(Set) * (size_t)d);
    if (before[all] < INFINITY)
        take_before(&t, all);
}

/* ---- What else is nearly as good ----------------------------------------------------------------------------------

   Around[P]: the lowest total of all other nodes where all of P come before the target. A graph whose target has the
   parents P has at least the score of P and this total, and one of them has no more. */

WIDE static double lowest_sum(size_t size, size_t half, const double *restrict high, const double *restrict low)
{
    double found[8], lowest = INFINITY;
    for (int i = 0; i < 8; i++)
        found[i] = INFINITY;
    for (size_t s = 0; s < size; s += 2 * half) {
        const double *restrict x = high + s + half, *restrict y = low + s;
        for (size_t i = 0; i + 8 <= half; i += 8)
            for (size_t l = 0; l < 8; l++) {
                double sum = x[i + l] + y[i + l];
                found[l] = sum < found[l] ? sum : found[l];
            }
        for (size_t i = 0; half < 8 && i < half; i++) {
            double sum = x[i] + y[i];
            found[i] = sum < found[i] ? sum : found[i];
        }
    }
    for (int i = 0; i < 8; i++)
        lowest = found[i] < lowest ? found[i] : lowest;
    return lowest;
}

/* The largest superset, within all of the `bits`, whose entry is the lowest of the supersets. */
static Set climb(int bits, const double *t, Set set)
{
    for (int a = 0; a < bits; a++)
        if (t[set | 1u << a] == t[set])
            set |= 1u << a;
    return set;
}

typedef struct {
    Trace trace;
    double tolerance, limit; /* graphs up to this score are written down */
    double *scores, *around; /* 2^(d-1) each */
} Around;

static int is_near(const Around *m, double lowest)
{
    return lowest <= m->limit && lowest < INFINITY;
}

static void trace_around(Around *m, int target, Set before, Set *parents)
{
    m->trace.parents = parents;
    take_before(&m->trace, before);
    take_after(&m->trace, before | 1u << target);
}

/* Where u comes before the target and is none of its parents. `around` is not folded yet. */
static double find_apart(Around *m, int target, int u, Set *parents)
{
    int d = m->trace.d;
    size_t size = (size_t)1 << (d - 1), half = squeeze(1u << u, target), s = 0;
    const double *low = m->trace.best + target * size;
    double lowest = lowest_sum(size, half, m->around, low);
    if (!is_near(m, lowest))
        return lowest;
    while (s < size && !((s & half) && m->around[s] + low[s ^ half] <= lowest + m->tolerance))
        s++;
    if (s < size) {
        Set before = widen((Set)s, target);
        m->trace.slack = m->tolerance;
        m->trace.parents = parents;
        take_parents(&m->trace, target, before ^ 1u << u);
        trace_around(m, target, before, parents);
    }
    return lowest;
}

/* Where the target has all of `wanted` among its parents. */
static double find_with(Around *m, int target, Set wanted, Set *parents)
{
    int bits = m->trace.d - 1;
    Set given = squeeze(wanted, target);
    double lowest = m->scores[given];
    if (is_near(m, lowest)) {
        given = climb(bits, m->scores, given);
        parents[target] = widen(given, target);
        m->trace.slack = m->tolerance;
        trace_around(m, target, widen(climb(bits, m->around, given), target), parents);
    }
    return lowest;
}

static void prepare_around(Around *m, int target)
{
    const Trace *t = &m->trace;
    for (Set s = 0; s < 1u << (t->d - 1); s++) {
        Set before = widen(s, target);
        m->around[s] = t->before[before] + t->after[before | 1u << target];
    }
}

typedef struct {
    const double *scores; /* of all sets, or NULL where the walk finds them */
    Walk *walk;
    const uint8_t *allowed, *required;
    double *room;
} Source;

static void fill_scores(const Source *from, int d, int target, double *table)
{
    size_t size = (size_t)1 << (d - 1);
    const uint8_t *allowed = from->allowed ? from->allowed + target * d : NULL;
    const uint8_t *required = from->required ? from->required + target * d : NULL;
    if (from->scores) {
        memcpy(table, from->scores + (size_t)target * size, sizeof(double) * size);
    } else {
        from->walk->table = table;
        score_all(from->walk, target, allowed, required, from->room);
    }
}

typedef struct {
    double *with, *apart, *colliders;
    uint32_t *with_graphs, *apart_graphs, *collider_graphs;
} Margins;

static void find_margins(Around *m, int target, const Margins *to)
{
    int d = m->trace.d;
    for (int u = 0; u < d; u++) {
        size_t at = (size_t)(target * d + u);
        to->with[at] = u == target ? INFINITY : find_with(m, target, 1u << u, to->with_graphs + at * (size_t)d);
        for (int v = 0; v < d; v++) {
            size_t pair = at * (size_t)d + (size_t)v;
            int fits = u < v && u != target && v != target;
            Set both = 1u << u | 1u << v;
            to->colliders[pair] =
                fits ? find_with(m, target, both, to->collider_graphs + pair * (size_t)d) : INFINITY;
        }
    }
}

static int look_around(int first, int last, const Source *from, Around *m, const uint32_t *parents, const Margins *to,
                       Stop *stop)
{
    int d = m->trace.d;
    size_t size = (size_t)1 << (d - 1);
    double *tables = malloc(sizeof(double) * 2 * size);
    m->scores = tables;
    for (int j = first; j < last && tables; j++) {
        m->around = tables + size;
        prepare_around(m, j);
        for (int u = 0; u < d && !stopped(stop); u++) {
            size_t at = (size_t)(j * d + u);
            int joined = parents[j] >> u & 1 || parents[u] >> j & 1;
            to->apart[at] = joined && u != j ? find_apart(m, j, u, to->apart_graphs + at * (size_t)d) : INFINITY;
        }
        fold(fold_up, d - 1, m->around, stop);
        fill_scores(from, d, j, m->scores);
        for (size_t i = 0; i < size; i++)
            m->scores[i] += m->around[i];
        fold(fold_up, d - 1, m->scores, stop);
        if (stopped(stop))
            break;
        find_margins(m, j, to);
    }
    free(tables);
    return !tables ? NO_MEMORY : stopped(stop) ? STOPPED : 0;
}

/* For each target j of first..last-1 and all others u, w: the score of the best graph with u -> j (with[j, u]); where u
   comes before j and is not its parent (apart[j, u]; INFINITY if the best graph, whose `parents` are given, does not
   join them); with u -> j <- w (colliders[j, u, w]). Where that is not above `limit`, the parents of all nodes in that
   graph, d numbers for each entry, in with_graphs, apart_graphs and collider_graphs. Returns 0, NO_MEMORY or STOPPED;
   then what was written is worth nothing. */
int exact_margins(int d, int first, int last, const double *R, double n, double c, const double *unit,
                  const uint8_t *allowed, const uint8_t *required, int max_parents, const double *best,
                  const double *before, const double *after, const uint32_t *parents, double limit, double tolerance,
                  double *with, double *apart, double *colliders, uint32_t *with_graphs, uint32_t *apart_graphs,
                  uint32_t *collider_graphs, const volatile int32_t *stop)
{
    Walk w = {.criterion = {d, R, n, c, unit, max_parents, 0, NULL, NULL}, .stop.flag = stop};
    Source from = {NULL, &w, allowed, required, covariance_room(d)};
    Around m = {{d, best, before, after, 0, NULL}, tolerance, limit, NULL, NULL};
    Margins to = {with, apart, colliders, with_graphs, apart_graphs, collider_graphs};
    int status = from.room ? look_around(first, last, &from, &m, parents, &to, &w.stop) : NO_MEMORY;
    free(from.room);
    return status;
}

/* The same where the scores of all sets of parents (d * 2^(d-1)) are given. */
int exact_margins_of(int d, int first, int last, const double *scores, const double *best, const double *before,
                     const double *after, const uint32_t *parents, double limit, double tolerance, double *with,
                     double *apart, double *colliders, uint32_t *with_graphs, uint32_t *apart_graphs,
                     uint32_t *collider_graphs, const volatile int32_t *stop)
{
    Stop watch = {stop, 0};
    Source from = {scores, NULL, NULL, NULL, NULL};
    Around m = {{d, best, before, after, 0, NULL}, tolerance, limit, NULL, NULL};
    Margins to = {with, apart, colliders, with_graphs, apart_graphs, collider_graphs};
    return look_around(first, last, &from, &m, parents, &to, &watch);
}
