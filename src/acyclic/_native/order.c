/* Searching for an order under the Gaussian BIC. Every node keeps a tree of all forward selections that some order has
   asked for.

   A point of the tree is a sequence of chosen parents. Its branches are all candidates worth their cost, best first:
   whatever the order, forward selection takes the first branch that precedes the node. Where none does, the chosen are
   shrunk backward and the score is kept. Most questions of a search are so answered by a walk without arithmetic. */
#include "selection.h"
#include <math.h>
#include <string.h>

typedef struct {
    int32_t variable, next; /* next: the point behind this branch, or 0 */
} Branch;

typedef struct {
    int64_t first; /* branches, or -1 where they are not known yet */
    int32_t count, worthy; /* of the branches, the first are worth their cost and the others a detour */
    int32_t scored;
    double score;
} Point;

typedef struct {
    double gain;
    int32_t variable;
} Candidate;

struct Search {
    int d, failed, depth, locked;
    Regression g;
    const uint8_t *allowed, *required, *precede; /* d*d each or NULL; the first two by target */
    Point *points;
    Branch *branches;
    int64_t point_count, point_room, branch_count, branch_room, most_branches;
    int32_t *root, *place, *rest, *path;
    Candidate *candidates;
    double *others, *lowest, *at;
};

/* Whether the running call has to end: no memory, or told to stop. The trees hold only what was finished. */
static int halted(Search *s)
{
    return s->failed || stopped(&s->g.stop);
}

void order_search_close(Search *s)
{
    if (!s)
        return;
    regression_close(&s->g);
    free(s->points);
    free(s->branches);
    free(s->root);
    free(s->candidates);
    free(s->others);
    free(s);
}

Search *order_search_open(int d, const double *R, double n, double c, const double *unit, const uint8_t *allowed,
                          const uint8_t *required, const uint8_t *precede, int max_parents, int detours,
                          int64_t most_branches)
{
    Search *s = calloc(1, sizeof *s);
    if (!s)
        return NULL;
    Criterion criterion = {d, R, n, c, unit, max_parents, detours};
    s->d = d;
    s->allowed = allowed;
    s->required = required;
    s->precede = precede;
    s->most_branches = most_branches;
    int failed = regression_open(&s->g, &criterion, d) < 0;
    s->g.target = -1;
    s->root = calloc((size_t)d * 4, sizeof(int32_t));
    s->candidates = malloc(sizeof(Candidate) * (size_t)d);
    s->others = malloc(sizeof(double) * 3 * (size_t)d);
    s->point_room = s->branch_room = 1024;
    s->points = malloc(sizeof(Point) * (size_t)s->point_room);
    s->branches = malloc(sizeof(Branch) * (size_t)s->branch_room);
    if (failed || !s->root || !s->candidates || !s->others || !s->points || !s->branches) {
        order_search_close(s);
        return NULL;
    }
    s->point_count = 1; /* 0 stands for none */
    s->place = s->root + d;
    s->rest = s->place + d;
    s->path = s->rest + d;
    s->lowest = s->others + d;
    s->at = s->lowest + d;
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
    int count = 0, worthy = 0;
    for (int i = 0; i < s->d; i++) {
        double gain = allowed && !allowed[i] ? 0 : regression_gain(&s->g, i);
        worthy += gain > needed;
        if (gain > DETOUR_SHARE * needed)
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
    s->points[point].worthy = worthy;
    s->branch_count += count;
}

static int first_available(const Search *s, const Point *point, int from, int to, int limit)
{
    const Branch *branch = s->branches + point->first;
    for (int k = from; k < to; k++)
        if (s->place[branch[k].variable] < limit)
            return k;
    return -1;
}

static double shrunk_score(Search *s, int target, int32_t point)
{
    if (!s->points[point].scored) {
        load(s, target, s->depth);
        if (!s->failed)
            regression_shrink(&s->g, s->locked);
        if (halted(s))
            return 0;
        s->points[point].score = regression_score(&s->g);
        s->points[point].scored = 1;
    }
    return s->points[point].score;
}

static int32_t follow(Search *s, int32_t point, int k)
{
    int64_t branch = s->points[point].first + k;
    s->path[s->depth++] = s->branches[branch].variable;
    if (!s->branches[branch].next)
        s->branches[branch].next = new_point(s);
    return s->branches[branch].next;
}

/* Score of `target` where the candidates are those with a place below `limit`; s->path holds what was chosen. Of no
   meaning once halted. */
static double walk(Search *s, int target, int limit)
{
    int32_t point = s->root[target] ? s->root[target] : (s->root[target] = new_point(s));
    double lowest = INFINITY;
    s->depth = 0;
    for (int detours = 0; !halted(s);) {
        if (s->points[point].first < 0) {
            load(s, target, s->depth);
            if (!s->failed)
                expand(s, target, point);
            if (s->failed)
                break;
        }
        int worthy = s->points[point].worthy, k = first_available(s, &s->points[point], 0, worthy, limit);
        if (k < 0) {
            double score = shrunk_score(s, target, point);
            lowest = score < lowest ? score : lowest;
            if (detours++ < s->g.criterion.detours)
                k = first_available(s, &s->points[point], worthy, s->points[point].count, limit);
            if (k < 0)
                break;
        } else {
            detours = 0;
        }
        point = follow(s, point, k);
    }
    return lowest;
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

/* Total of the others for every place of the mover, and the lowest of these up to each place. */
static void evaluate_others(Search *s, int mover)
{
    int m = s->d - 1;
    double total = 0;
    for (int k = 0; k < m; k++) {
        s->place[mover] = -1;
        double with = walk(s, s->rest[k], k), without = with;
        if (on_path(s, mover)) {
            s->place[mover] = s->d;
            without = walk(s, s->rest[k], k);
        }
        s->others[k] = with - without;
        total += with;
    }
    for (int k = 0; k <= m; k++) {
        double difference = s->others[k];
        s->others[k] = total;
        s->lowest[k] = k == 0 || total < s->lowest[k - 1] ? total : s->lowest[k - 1];
        if (k < m)
            total -= difference;
    }
}

/* Score of the mover at every place. Fewer candidates hardly ever explain more: where what it has at a later place
   would not do at any earlier one, by more than the cost of a parent, the earlier ones are left at that score.
   Returns the total as it is. */
static double evaluate_mover(Search *s, int mover, int here)
{
    s->place[mover] = s->d;
    double now = s->others[here] + walk(s, mover, here), score = -INFINITY;
    for (int limit = s->d - 1; limit >= 0;) {
        int last = -1; /* the same is chosen for every limit above the last of the chosen */
        if (s->lowest[limit] + score <= now + s->g.criterion.c) {
            score = walk(s, mover, limit);
            for (int k = 0; k < s->depth; k++)
                if (s->place[s->path[k]] > last)
                    last = s->place[s->path[k]];
        }
        for (; limit > last; limit--)
            s->at[limit] = score;
    }
    return now;
}

static int precedes(const Search *s, int first, int second)
{
    return s->precede && s->precede[(int64_t)first * s->d + second];
}

/* Put each of the movers where the total is lowest, if that gains more than `tolerance`. Returns the number of moves,
   NO_MEMORY, or STOPPED; then the order has the moves made so far, and the search can go on. */
int order_search_sweep(Search *s, int32_t *order, const int32_t *movers, int count, double tolerance,
                       const volatile int32_t *stop)
{
    int moves = 0, m = s->d - 1;
    s->g.stop = (Stop){.flag = stop};
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
        for (int k = 0; k < m; k++)
            s->place[s->rest[k]] = k;
        evaluate_others(s, x);
        double now = evaluate_mover(s, x, here), lowest = now;
        if (halted(s))
            return s->failed ? NO_MEMORY : STOPPED;
        for (int k = 0; k < m; k++) {
            if (precedes(s, s->rest[k], x))
                low = k + 1;
            if (precedes(s, x, s->rest[k]) && k < high)
                high = k;
        }
        /* Equivalent graphs tie; without the tolerance rounding, and so the units of the columns, would choose. */
        int best = here;
        for (int k = low; k <= high; k++)
            if (s->others[k] + s->at[k] < lowest - tolerance) {
                lowest = s->others[k] + s->at[k];
                best = k;
            }
        if (best == here)
            continue;
        memcpy(order, s->rest, sizeof(int32_t) * (size_t)best);
        order[best] = x;
        memcpy(order + best + 1, s->rest + best, sizeof(int32_t) * (size_t)(m - best));
        moves++;
    }
    return moves;
}

/* The total of an order. Returns 0, NO_MEMORY, or STOPPED; then there is no score. */
int order_search_score(Search *s, const int32_t *order, double *score, const volatile int32_t *stop)
{
    double total = 0;
    s->g.stop = (Stop){.flag = stop};
    for (int k = 0; k < s->d; k++)
        s->place[order[k]] = k;
    for (int k = 0; k < s->d && !halted(s); k++)
        total += walk(s, order[k], k);
    if (halted(s))
        return s->failed ? NO_MEMORY : STOPPED;
    *score = total;
    return 0;
}
