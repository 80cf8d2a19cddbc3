/* Orders of the nodes: polishing one under equal noise variances, and searching for one under the Gaussian BIC. */
#include "selection.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- Equal variances: the score of an order is sum_k weight[k] L[k][k]^2, L the Cholesky factor in that order. ---- */

typedef struct {
    int d, reach;
    double *L; /* d*d, row k = k-th node */
    int32_t *order;
    const double *weight;
    const uint8_t *precede; /* d*d by node, or NULL: [i][j] = i has to come before j */
    double *cosine, *sine, *row;
} Polish;

static double *row_of(const Polish *p, int k)
{
    return p->L + (int64_t)k * p->d;
}

static int held(const Polish *p, int first, int second)
{
    return p->precede && p->precede[(int64_t)p->order[first] * p->d + p->order[second]];
}

/* The best place before k for the k-th node. Given the nodes before place i, it has the variance left = sum of its
   squared entries from i on; the i-th node loses its part of it where the mover comes first. */
static double best_before(const Polish *p, int k, int *place)
{
    const double *x = row_of(p, k), *w = p->weight;
    double left = x[k] * x[k], change = 0, best = 0, start = left * w[k];
    for (int i = k - 1; i >= 0 && !held(p, i, k); i--) {
        double a = row_of(p, i)[i], after = left;
        left += x[i] * x[i];
        change += a * a * (after / left * w[i + 1] - w[i]);
        if (change + left * w[i] - start < best) {
            best = change + left * w[i] - start;
            *place = i;
        }
    }
    return best;
}

static void rotate(double *row, int first, int last, const double *cosine, const double *sine)
{
    for (int i = first; i < last; i++) {
        double a = row[i], b = row[i + 1];
        row[i] = cosine[i] * a + sine[i] * b;
        row[i + 1] = sine[i] * a - cosine[i] * b;
    }
}

/* The best place after k, up to `reach` away; leaves the rotations that take the mover there one by one. */
static double best_after(const Polish *p, int k, int *place)
{
    const double *w = p->weight;
    double own = row_of(p, k)[k], left = own * own, start = left * w[k], change = 0, best = 0;
    int end = p->d - 1 - k < p->reach ? p->d - 1 : k + p->reach;
    for (int s = k + 1; s <= end && !held(p, k, s); s++) {
        memcpy(p->row + k, row_of(p, s) + k, sizeof(double) * (size_t)(s - k + 1));
        double a = p->row[s];
        rotate(p->row, k, s - 1, p->cosine, p->sine);
        double c = p->row[s - 1], rho = hypot(c, a);
        p->cosine[s - 1] = c / rho;
        p->sine[s - 1] = a / rho;
        left *= p->sine[s - 1] * p->sine[s - 1];
        change += rho * rho * w[s - 1] - a * a * w[s];
        if (change + left * w[s] - start < best) {
            best = change + left * w[s] - start;
            *place = s;
        }
    }
    return best;
}

static void shift(Polish *p, int from, int to)
{
    int step = to > from ? 1 : -1;
    int32_t node = p->order[from];
    memcpy(p->row, row_of(p, from), sizeof(double) * (size_t)p->d);
    for (int k = from; k != to; k += step) {
        p->order[k] = p->order[k + step];
        memcpy(row_of(p, k), row_of(p, k + step), sizeof(double) * (size_t)p->d);
    }
    p->order[to] = node;
    memcpy(row_of(p, to), p->row, sizeof(double) * (size_t)p->d);
}

static void move_later(Polish *p, int k, int to)
{
    shift(p, k, to);
    for (int t = k; t < p->d; t++)
        rotate(row_of(p, t), k, to, p->cosine, p->sine);
    for (int t = k; t < to; t++)
        memset(row_of(p, t) + t + 1, 0, sizeof(double) * (size_t)(to - t));
}

static void move_earlier(Polish *p, int k, int to)
{
    double *x = row_of(p, k), left = x[k];
    for (int i = k - 1; i >= to; i--) {
        double rho = hypot(x[i], left);
        p->cosine[i] = x[i] / rho;
        p->sine[i] = left / rho;
        left = rho;
    }
    x[to] = left;
    memset(x + to + 1, 0, sizeof(double) * (size_t)(k - to));
    shift(p, k, to);
    for (int t = to + 1; t < p->d; t++) {
        double *row = row_of(p, t);
        for (int i = (t <= k ? t : k) - 1; i >= to; i--) {
            double a = row[i], b = row[i + 1];
            row[i] = p->cosine[i] * a + p->sine[i] * b;
            row[i + 1] = p->sine[i] * a - p->cosine[i] * b;
        }
    }
}

/* Moves one node at a time to its best place within reach until none gains more than `tolerance`. L, order: updated.
   Returns the number of sweeps, or -1 where memory is short. */
int polish_order(int d, double *L, int32_t *order, const double *weight, const uint8_t *precede, int reach,
                 int max_sweeps, double tolerance)
{
    double *work = malloc(sizeof(double) * 3 * (size_t)d);
    if (!work)
        return -1;
    Polish p = {d, reach, L, order, weight, precede, work, work + d, work + 2 * d};
    int sweeps = 0, moved = 1;
    while (moved && sweeps < max_sweeps) {
        sweeps++;
        moved = 0;
        for (int k = 0; k < d; k++) {
            int earlier = k, later = k;
            double before = best_before(&p, k, &earlier), after = best_after(&p, k, &later);
            if (before >= -tolerance && after >= -tolerance)
                continue;
            moved = 1;
            if (after < before)
                move_later(&p, k, later);
            else
                move_earlier(&p, k, earlier);
        }
    }
    free(work);
    return sweeps;
}

/* ---- Gaussian BIC: every node keeps a tree of all forward selections that some order has asked for. ----

   A point of the tree is a sequence of chosen parents. Its branches are all candidates worth their cost, best first:
   whatever the order, forward selection takes the first branch that precedes the node. Where none does, the chosen are
   shrunk backward and the score is kept. Most questions of a search are so answered by a walk without arithmetic. */

typedef struct {
    int32_t variable, next; /* next: the point behind this branch, or 0 */
} Branch;

typedef struct {
    int64_t first; /* branches, or -1 where they are not known yet */
    int32_t count;
    int32_t scored;
    double score;
} Point;

typedef struct {
    double gain;
    int32_t variable;
} Candidate;

typedef struct {
    int d, failed, depth, locked;
    Regression g;
    const uint8_t *allowed, *required, *precede; /* d*d each or NULL; the first two by target */
    Point *points;
    Branch *branches;
    int64_t point_count, point_room, branch_count, branch_room, most_branches;
    int32_t *root, *place, *rest, *path;
    Candidate *candidates;
    double *with, *without, *at;
} Search;

void order_search_close(Search *s)
{
    if (!s)
        return;
    regression_close(&s->g);
    free(s->points);
    free(s->branches);
    free(s->root);
    free(s->candidates);
    free(s->with);
    free(s);
}

Search *order_search_open(int d, const double *R, double n, double c, const double *unit, const uint8_t *allowed,
                          const uint8_t *required, const uint8_t *precede, int max_parents, int64_t most_branches)
{
    Search *s = calloc(1, sizeof *s);
    if (!s)
        return NULL;
    Criterion criterion = {.stride = d, .R = R, .n = n, .c = c, .unit = unit, .max_parents = max_parents};
    s->d = d;
    s->allowed = allowed;
    s->required = required;
    s->precede = precede;
    s->most_branches = most_branches;
    int failed = regression_open(&s->g, &criterion, d) < 0;
    s->g.target = -1;
    s->root = calloc((size_t)d * 4, sizeof(int32_t));
    s->candidates = malloc(sizeof(Candidate) * (size_t)d);
    s->with = malloc(sizeof(double) * 3 * (size_t)d);
    s->point_room = s->branch_room = 1024;
    s->points = malloc(sizeof(Point) * (size_t)s->point_room);
    s->branches = malloc(sizeof(Branch) * (size_t)s->branch_room);
    if (failed || !s->root || !s->candidates || !s->with || !s->points || !s->branches) {
        order_search_close(s);
        return NULL;
    }
    s->point_count = 1; /* 0 stands for none */
    s->place = s->root + d;
    s->rest = s->place + d;
    s->path = s->rest + d;
    s->without = s->with + d;
    s->at = s->without + d;
    return s;
}

static void *grown(void *array, int64_t *room, int64_t needed, size_t size)
{
    int64_t wanted = *room;
    while (wanted < needed)
        wanted *= 2;
    if (wanted == *room)
        return array;
    void *larger = realloc(array, size * (size_t)wanted);
    if (larger)
        *room = wanted;
    return larger;
}

static int32_t new_point(Search *s)
{
    void *points = grown(s->points, &s->point_room, s->point_count + 1, sizeof(Point));
    if (!points || s->point_count == INT32_MAX) {
        s->failed = 1;
        return 0;
    }
    s->points = points;
    s->points[s->point_count] = (Point){.first = -1};
    return (int32_t)s->point_count++;
}

/* Bring the regression of `target` to the first `depth` variables of the path. */
static void load(Search *s, int target, int depth)
{
    Regression *g = &s->g;
    int fits = g->target == target && g->count - s->locked <= depth;
    for (int k = s->locked; fits && k < g->count; k++)
        fits = g->chosen[k] == s->path[k - s->locked];
    if (!fits) {
        const uint8_t *required = s->required ? s->required + (int64_t)target * s->d : NULL;
        regression_start(g, target, s->d);
        for (int i = 0; required && i < s->d; i++)
            if (required[i] && regression_can_add(g, i) && regression_add(g, i) < 0)
                s->failed = 1;
        s->locked = g->count;
    }
    while (g->count - s->locked < depth && !s->failed)
        if (regression_add(g, s->path[g->count - s->locked]) < 0)
            s->failed = 1;
}

static int by_gain(const void *left, const void *right)
{
    const Candidate *a = left, *b = right;
    if (a->gain != b->gain)
        return a->gain < b->gain ? 1 : -1;
    return a->variable < b->variable ? -1 : 1;
}

static void expand(Search *s, int target, int32_t point)
{
    const uint8_t *allowed = s->allowed ? s->allowed + (int64_t)target * s->d : NULL;
    double needed = regression_needed(&s->g);
    int count = 0;
    for (int i = 0; i < s->d; i++) {
        double gain = allowed && !allowed[i] ? 0 : regression_gain(&s->g, i);
        if (gain > needed)
            s->candidates[count++] = (Candidate){gain, i};
    }
    qsort(s->candidates, (size_t)count, sizeof(Candidate), by_gain);
    void *branches = grown(s->branches, &s->branch_room, s->branch_count + count, sizeof(Branch));
    if (!branches) {
        s->failed = 1;
        return;
    }
    s->branches = branches;
    for (int k = 0; k < count; k++)
        s->branches[s->branch_count + k] = (Branch){s->candidates[k].variable, 0};
    s->points[point].first = s->branch_count;
    s->points[point].count = count;
    s->branch_count += count;
}

static int first_available(const Search *s, const Point *point, int limit)
{
    const Branch *branch = s->branches + point->first;
    for (int k = 0; k < point->count; k++)
        if (s->place[branch[k].variable] < limit)
            return k;
    return -1;
}

/* Score of `target` where the candidates are those with a place below `limit`; s->path holds what was chosen. */
static double walk(Search *s, int target, int limit)
{
    int32_t point = s->root[target] ? s->root[target] : (s->root[target] = new_point(s));
    s->depth = 0;
    while (!s->failed) {
        if (s->points[point].first < 0) {
            load(s, target, s->depth);
            expand(s, target, point);
            if (s->failed)
                return 0;
        }
        int k = first_available(s, &s->points[point], limit);
        if (k < 0)
            break;
        int64_t branch = s->points[point].first + k;
        s->path[s->depth++] = s->branches[branch].variable;
        if (!s->branches[branch].next) {
            int32_t next = new_point(s);
            s->branches[branch].next = next;
        }
        point = s->branches[branch].next;
    }
    if (!s->failed && !s->points[point].scored) {
        load(s, target, s->depth);
        regression_shrink(&s->g, s->locked);
        s->points[point].score = regression_score(&s->g);
        s->points[point].scored = 1;
    }
    return s->failed ? 0 : s->points[point].score;
}

static int on_path(const Search *s, int variable)
{
    for (int k = 0; k < s->depth; k++)
        if (s->path[k] == variable)
            return 1;
    return 0;
}

static void forget(Search *s)
{
    memset(s->root, 0, sizeof(int32_t) * (size_t)s->d);
    s->point_count = 1;
    s->branch_count = 0;
}

/* Scores of the others with and without the mover before them, and of the mover at every place. */
static void evaluate(Search *s, int mover)
{
    int m = s->d - 1;
    for (int k = 0; k < m; k++)
        s->place[s->rest[k]] = k;
    for (int k = 0; k < m; k++) {
        s->place[mover] = -1;
        s->with[k] = s->without[k] = walk(s, s->rest[k], k);
        if (on_path(s, mover)) {
            s->place[mover] = s->d;
            s->without[k] = walk(s, s->rest[k], k);
        }
    }
    s->place[mover] = s->d;
    for (int limit = m; limit >= 0;) {
        double score = walk(s, mover, limit);
        int last = -1; /* the same is chosen for every limit above the last of the chosen */
        for (int k = 0; k < s->depth; k++)
            if (s->place[s->path[k]] > last)
                last = s->place[s->path[k]];
        for (; limit > last; limit--)
            s->at[limit] = score;
    }
}

static int precedes(const Search *s, int first, int second)
{
    return s->precede && s->precede[(int64_t)first * s->d + second];
}

/* Put each of the movers where the total is lowest, if that gains more than `tolerance`. Returns the number of moves,
   or -1 where memory is short; *change is what the total changed by. */
int order_search_sweep(Search *s, int32_t *order, const int32_t *movers, int count, double tolerance, double *change)
{
    int moves = 0, m = s->d - 1;
    *change = 0;
    for (int t = 0; t < count; t++) {
        int x = movers[t], here = 0, low = 0, high = m;
        for (int k = 0, i = 0; k < s->d; k++) {
            if (order[k] == x)
                here = k;
            else
                s->rest[i++] = order[k];
        }
        if (s->branch_count > s->most_branches)
            forget(s);
        evaluate(s, x);
        if (s->failed)
            return -1;
        for (int k = 0; k < m; k++) {
            if (precedes(s, s->rest[k], x))
                low = k + 1;
            if (precedes(s, x, s->rest[k]) && k < high)
                high = k;
        }
        double total = 0, lowest = INFINITY, now = 0;
        int best = here;
        for (int k = 0; k <= m; k++) {
            double value = total + s->at[k];
            if (k == here)
                now = value;
            if (k >= low && k <= high && value < lowest) {
                lowest = value;
                best = k;
            }
            if (k < m)
                total += s->without[k] - s->with[k];
        }
        if (lowest >= now - tolerance)
            continue;
        memcpy(order, s->rest, sizeof(int32_t) * (size_t)best);
        order[best] = x;
        memcpy(order + best + 1, s->rest + best, sizeof(int32_t) * (size_t)(m - best));
        *change += lowest - now;
        moves++;
    }
    return moves;
}

/* Total of an order, NaN where memory is short. */
double order_search_score(Search *s, const int32_t *order)
{
    double total = 0;
    for (int k = 0; k < s->d; k++)
        s->place[order[k]] = k;
    for (int k = 0; k < s->d; k++)
        total += walk(s, order[k], k);
    return s->failed ? NAN : total;
}

int64_t order_search_branches(const Search *s, int64_t *points) { *points = s->point_count; return s->branch_count; }
