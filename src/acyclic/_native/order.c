/* Searching for an order under the Gaussian BIC. Every node keeps a tree of all forward selections that some order has
   asked for.

   A point of the tree is a sequence of chosen parents. Its branches are all candidates worth their cost, best first:
   whatever the order, forward selection takes the first branch that precedes the node. Where none does, the chosen are
   shrunk backward and the score is kept. Most questions of a search are so answered by a walk without arithmetic.

   A walk names the variables that it chose or would have chosen had they preceded the node. Whether any other variable
   precedes the node does not matter to it: a move of x asks only the nodes that name x. */
#include "selection.h"
#include "selector.h"
#include <math.h>
#include <string.h>

/* Of the candidates that are not worth their cost a point keeps the best so many, for detours. */
enum { DETOUR_BRANCHES = 32 };

typedef struct {
    int32_t variable, next; /* next: the point behind this branch, or 0 */
} Branch;

typedef struct {
    int64_t first; /* branches, or -1 where they are not known yet */
    int32_t count, worthy; /* of the branches, the first are worth their cost and the others a detour */
    int32_t scored, kept;  /* how many parents are left after shrinking */
    double score;
} Point;

/* What the last walk of a node in the present order named: those passed over first, then the chosen. */
typedef struct {
    int32_t *variables;
    int count, room;
} Names;

struct Search {
    int d, words, failed, depth, deepest, locked, bits;
    Regression g;       /* the linear Gaussian score, */
    Selector *selector; /* or another one */
    const uint8_t *allowed, *required, *precede; /* d*d each or NULL; the first two by target */
    const int64_t *first_candidate; /* d + 1 places in candidates where each node's begin; NULL: all are candidates */
    const int32_t *candidates;      /* those of a node, in rising order and without it */
    Point *points;
    Branch *branches;
    int64_t point_count, point_room, branch_count, branch_room, most_branches, work;
    int32_t *root, *place, *order, *best, *saved, *path, *stamp, *touched;
    int32_t *size; /* how many parents each node has */
    int touched_count, now, is_rival, apart[2], first, second; /* apart: a pair without an edge; first precedes second */
    int kept;      /* how many parents the last walk ended with */
    int64_t until; /* the work after which a descent ends where it is */
    uint8_t *dirty, *is_touched;
    uint64_t *named_by; /* d rows of `words`: bit y of row x is set where the walk of y names x */
    Names *names;
    uint64_t *keys;
    double *gain, *score, *others, *lowest, *at;
    double total, best_total, saved_total, slack; /* slack: by how much fewer candidates may lower a score */
    uint64_t seed;
};

/* Whether the running call has to end: no memory, or told to stop. The trees hold only what was finished. */
static int halted(Search *s)
{
    return s->failed || stopped(&s->g.stop);
}

static int end(const Search *s)
{
    return s->failed ? NO_MEMORY : STOPPED;
}

void order_search_close(Search *s)
{
    if (!s)
        return;
    if (s->selector)
        s->selector->close(s->selector);
    regression_close(&s->g);
    for (int i = 0; s->names && i < s->d; i++)
        free(s->names[i].variables);
    free(s->names);
    free(s->points);
    free(s->branches);
    free(s->root);
    free(s->dirty);
    free(s->named_by);
    free(s->keys);
    free(s->gain);
    free(s);
}

static int allocate(Search *s)
{
    size_t d = (size_t)s->d;
    s->point_room = s->branch_room = 1024;
    s->points = malloc(sizeof(Point) * (size_t)s->point_room);
    s->branches = malloc(sizeof(Branch) * (size_t)s->branch_room);
    s->root = calloc(d * 9, sizeof(int32_t));
    s->dirty = calloc(d * 2, 1);
    s->named_by = calloc(d * (size_t)s->words, sizeof(uint64_t));
    s->names = calloc(d, sizeof(Names));
    s->keys = malloc(sizeof(uint64_t) * d);
    s->gain = malloc(sizeof(double) * 5 * d);
    if (!s->points || !s->branches || !s->root || !s->dirty || !s->named_by || !s->names || !s->keys || !s->gain)
        return NO_MEMORY;
    int32_t **whole[] = {&s->place, &s->order, &s->best, &s->saved, &s->path, &s->stamp, &s->touched, &s->size};
    for (size_t i = 0; i < 8; i++)
        *whole[i] = s->root + (i + 1) * d;
    double **real[] = {&s->score, &s->others, &s->lowest, &s->at};
    for (size_t i = 0; i < 4; i++)
        *real[i] = s->gain + (i + 1) * d;
    s->is_touched = s->dirty + d;
    return 0;
}

/* Let another score than the linear Gaussian one choose parents; it is closed with the search, or here where there is
   none. */
Search *order_search_use(Search *s, Selector *selector)
{
    if (!s || !selector) {
        if (selector)
            selector->close(selector);
        order_search_close(s);
        return NULL;
    }
    selector->required = s->required;
    selector->stop = &s->g.stop;
    s->slack = selector->slack;
    s->selector = selector;
    return s;
}

/* How the parents of the last node that order_search_parents was asked for enter: the features of each that count, and
   the parts of the score: misfit, shape of the noise, price. */
void order_search_parts(const Search *s, int32_t *levels, double *parts)
{
    const Selector *selector = s->selector;
    memcpy(levels, selector->kept_level, sizeof(int32_t) * (size_t)selector->kept_count);
    parts[0] = selector->misfit;
    parts[1] = selector->shape;
    parts[2] = selector->price;
}

static int most_candidates(const Search *s)
{
    int most = s->first_candidate ? 1 : s->d;
    for (int j = 0; s->first_candidate && j < s->d; j++)
        if (s->first_candidate[j + 1] - s->first_candidate[j] > most)
            most = (int)(s->first_candidate[j + 1] - s->first_candidate[j]);
    return most;
}

Search *order_search_open(int d, const double *R, double n, double c, const double *unit, const uint8_t *allowed,
                          const uint8_t *required, const uint8_t *precede, int max_parents, int detours,
                          int64_t most_branches, uint64_t seed, const int32_t *column, const double *scale,
                          const int64_t *first_candidate, const int32_t *candidates)
{
    Search *s = calloc(1, sizeof *s);
    if (!s)
        return NULL;
    Criterion criterion = {d, R, n, c, unit, max_parents, detours, column, scale};
    s->first_candidate = first_candidate;
    s->candidates = candidates;
    s->d = d;
    s->words = (d + 63) / 64;
    s->allowed = allowed;
    s->required = required;
    s->precede = precede;
    s->most_branches = most_branches;
    s->seed = seed;
    s->apart[0] = s->apart[1] = s->first = s->second = -1;
    s->slack = c;
    s->best_total = INFINITY;
    s->point_count = 1; /* 0 stands for none */
    while ((int64_t)1 << s->bits < d)
        s->bits++;
    s->g.target = -1;
    if (regression_open(&s->g, &criterion, most_candidates(s)) < 0 || allocate(s) < 0) {
        order_search_close(s);
        return NULL;
    }
    s->g.target = -1;
    return s;
}

/* ---- The trees ---- */

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

static const int32_t *candidates_of(const Search *s, int target, int *count)
{
    *count = s->d;
    if (!s->first_candidate)
        return NULL;
    *count = (int)(s->first_candidate[target + 1] - s->first_candidate[target]);
    return s->candidates + s->first_candidate[target];
}

/* Which of the candidates a variable is, by bisection. */
static int place_among(const Regression *g, int variable)
{
    int low = 0, high = g->width;
    if (!g->among)
        return variable;
    while (high - low > 1) {
        int middle = (low + high) / 2;
        if (g->among[middle] <= variable)
            low = middle;
        else
            high = middle;
    }
    return low;
}

/* Bring the regression of `target` to the first `depth` variables of the path. */
static void load(Search *s, int target, int depth)
{
    Regression *g = &s->g;
    if (s->selector) {
        int64_t before = s->selector->work;
        if (s->selector->load(s->selector, target, s->path, depth) < 0)
            s->failed = 1;
        s->work += s->selector->work - before;
        return;
    }
    int fits = g->target == target && g->count - s->locked <= depth;
    for (int k = s->locked; fits && k < g->count; k++)
        fits = regression_node(g, g->chosen[k]) == s->path[k - s->locked];
    if (!fits) {
        const uint8_t *required = s->required ? s->required + (int64_t)target * s->d : NULL;
        int width;
        const int32_t *among = candidates_of(s, target, &width);
        regression_start(g, target, among, width);
        s->work += width;
        for (int i = 0; required && i < width; i++)
            if (required[regression_node(g, i)] && regression_can_add(g, i) && regression_add(g, i) < 0)
                s->failed = 1;
        s->locked = g->count;
    }
    while (g->count - s->locked < depth && !s->failed) {
        if (regression_add(g, place_among(g, s->path[g->count - s->locked])) < 0)
            s->failed = 1;
        s->work += (int64_t)g->width * (g->count + 2) / 4;
    }
}

/* Put the larger keys in front of the smaller ones: what lies before *right + 1 is at least what lies from *left on. */
static void split_keys(uint64_t *keys, int count, int *left, int *right)
{
    uint64_t a = keys[0], b = keys[count / 2], c = keys[count - 1];
    uint64_t middle = a > b ? (b > c ? b : a > c ? c : a) : (a > c ? a : b > c ? c : b);
    int i = 0, j = count - 1;
    while (i <= j) {
        while (keys[i] > middle)
            i++;
        while (keys[j] < middle)
            j--;
        if (i <= j) {
            uint64_t t = keys[i];
            keys[i++] = keys[j];
            keys[j--] = t;
        }
    }
    *left = i;
    *right = j;
}

/* Sort the first `wanted` of the keys, largest first. */
static void sort_keys(uint64_t *keys, int count, int wanted)
{
    while (count > 16) {
        int i, j;
        split_keys(keys, count, &i, &j);
        if (wanted <= j + 1) {
            count = j + 1;
        } else if (j + 1 < count - i) { /* the smaller part by recursion: its depth is at most a logarithm */
            sort_keys(keys, j + 1, j + 1);
            keys += i;
            count -= i;
            wanted -= i;
        } else {
            sort_keys(keys + i, count - i, wanted - i);
            count = wanted = j + 1;
        }
    }
    for (int i = 1; i < count; i++) {
        uint64_t key = keys[i];
        int j = i;
        for (; j > 0 && keys[j - 1] < key; j--)
            keys[j] = keys[j - 1];
        keys[j] = key;
    }
}

/* Gain and variable in one number that sorts: the bits of a positive double are in its order. The last bits of the gain
   make room for the variable, the first of which wins where gains are equal up to rounding. */
static uint64_t key_of(const Search *s, double gain, int variable)
{
    uint64_t bits, mask = ((uint64_t)1 << s->bits) - 1;
    memcpy(&bits, &gain, sizeof bits);
    return (bits & ~mask) | (mask - (uint64_t)variable);
}

static int variable_of(const Search *s, uint64_t key)
{
    uint64_t mask = ((uint64_t)1 << s->bits) - 1;
    return (int)(mask - (key & mask));
}

/* What every candidate explains given the path, and what makes it worth its cost. */
static double find_gains(Search *s)
{
    if (!s->selector) {
        regression_gains(&s->g, s->gain);
        return regression_needed(&s->g);
    }
    int64_t before = s->selector->work;
    double needed = s->selector->gains(s->selector, s->gain);
    s->work += s->selector->work - before;
    return needed;
}

static void expand(Search *s, int target, int32_t point)
{
    const uint8_t *allowed = s->allowed ? s->allowed + (int64_t)target * s->d : NULL;
    double needed = find_gains(s), least = DETOUR_SHARE * needed;
    int worthy = 0, count = 0;
    if (halted(s)) /* gains of a selector that was stopped are not whole */
        return;
    for (int i = 0, width = s->selector ? s->d : s->g.width; i < width; i++) {
        int node = s->selector ? i : regression_node(&s->g, i); /* the worthy in front, the others from the end */
        if (s->gain[i] > least && (!allowed || allowed[node]))
            s->keys[s->gain[i] > needed ? worthy++ : s->d - ++count] = key_of(s, s->gain[i], node);
    }
    int detours = count < DETOUR_BRANCHES ? count : DETOUR_BRANCHES, all = worthy + detours;
    sort_keys(s->keys, worthy, worthy);
    sort_keys(s->keys + s->d - count, count, detours);
    s->work += s->g.width + 4 * (worthy + count);
    void *branches = grown(s->branches, &s->branch_room, s->branch_count + all, sizeof(Branch));
    if (!branches) {
        s->failed = 1;
        return;
    }
    s->branches = branches;
    for (int k = 0; k < all; k++) {
        uint64_t key = s->keys[k < worthy ? k : s->d - count + k - worthy];
        s->branches[s->branch_count + k] = (Branch){variable_of(s, key), 0};
    }
    s->points[point].first = s->branch_count;
    s->points[point].count = all;
    s->points[point].worthy = worthy;
    s->branch_count += all;
}

/* Drop what is not worth its cost; the score of the rest. */
static double shrink(Search *s)
{
    if (s->selector) {
        int64_t before = s->selector->work;
        double score = s->selector->shrink(s->selector);
        s->work += s->selector->work - before;
        return score;
    }
    int64_t m = s->g.count;
    s->work += m * m * m / 6 + 4 * m * m;
    regression_shrink(&s->g, s->locked);
    return regression_score(&s->g);
}

static double shrunk_score(Search *s, int target, int32_t point)
{
    if (!s->points[point].scored) {
        load(s, target, s->depth);
        double score = s->failed ? 0 : shrink(s);
        if (halted(s))
            return 0;
        s->points[point].score = score;
        s->points[point].kept = s->selector ? s->selector->kept_count : s->g.kept_count;
        s->points[point].scored = 1;
    }
    return s->points[point].score;
}

static int32_t follow(Search *s, int32_t point, int k)
{
    int64_t branch = s->points[point].first + k;
    s->path[s->depth++] = s->branches[branch].variable;
    if (!s->branches[branch].next) {
        int32_t next = new_point(s);
        s->branches[branch].next = next;
    }
    return s->branches[branch].next;
}

static void name(Search *s, Names *names, int variable)
{
    if (s->stamp[variable] == s->now)
        return;
    s->stamp[variable] = s->now;
    if (names->count == names->room) {
        int room = names->room ? 2 * names->room : 16;
        int32_t *larger = realloc(names->variables, sizeof(int32_t) * (size_t)room);
        if (!larger) {
            s->failed = 1;
            return;
        }
        names->variables = larger;
        names->room = room;
    }
    names->variables[names->count++] = variable;
}

/* The first of the branches from..to whose variable has a place below the limit, or -1. Those before it are named. */
static int first_available(Search *s, const Point *point, int from, int to, int limit, Names *names)
{
    const Branch *branch = s->branches + point->first;
    int k = from;
    while (k < to && s->place[branch[k].variable] >= limit)
        k++;
    s->work += k - from;
    for (int i = from; names && i < k; i++)
        name(s, names, branch[i].variable);
    return k < to ? k : -1;
}

/* Score of `target` where the candidates are those with a place below `limit`; s->path holds what was chosen, of which
   the first s->deepest led to the score. Of no meaning once halted. */
static double walk(Search *s, int target, int limit, Names *names)
{
    int32_t point = s->root[target];
    if (!point)
        point = s->root[target] = new_point(s);
    double lowest = INFINITY;
    s->depth = s->deepest = s->kept = 0;
    for (int detours = 0; !halted(s);) {
        if (s->points[point].first < 0) {
            load(s, target, s->depth);
            if (!s->failed)
                expand(s, target, point);
            if (s->points[point].first < 0)
                break;
        }
        s->work += 8;
        int worthy = s->points[point].worthy, k = first_available(s, &s->points[point], 0, worthy, limit, names);
        if (k < 0) {
            double score = shrunk_score(s, target, point);
            if (score < lowest) {
                lowest = score;
                s->deepest = s->depth;
                s->kept = s->points[point].kept;
            }
            if (detours++ < s->g.criterion.detours)
                k = first_available(s, &s->points[point], worthy, s->points[point].count, limit, names);
            if (k < 0)
                break;
        } else {
            detours = 0;
        }
        point = follow(s, point, k);
    }
    return lowest;
}

static void forget(Search *s)
{
    memset(s->root, 0, sizeof(int32_t) * (size_t)s->d);
    s->point_count = 1;
    s->branch_count = 0;
}

/* ---- One order: the score of every node in it, and who names whom ---- */

/* The walk of a node from its place, or with `mover` at another one; a pair that is held apart does not see itself. */
static double ask(Search *s, int y, int limit, Names *names)
{
    int other = y == s->apart[0] ? s->apart[1] : y == s->apart[1] ? s->apart[0] : -1;
    int32_t kept = other < 0 ? 0 : s->place[other];
    if (other >= 0)
        s->place[other] = INT32_MAX;
    double score = walk(s, y, limit, names);
    if (other >= 0)
        s->place[other] = kept;
    return score;
}

static void set_bits(Search *s, int y, int on)
{
    const Names *names = s->names + y;
    uint64_t bit = (uint64_t)1 << (y & 63);
    for (int k = 0; k < names->count; k++) {
        uint64_t *word = s->named_by + (size_t)names->variables[k] * (size_t)s->words + y / 64;
        *word = on ? *word | bit : *word & ~bit;
    }
}

static void settle(Search *s, int y)
{
    Names *names = s->names + y;
    set_bits(s, y, 0);
    names->count = 0;
    if (s->now == INT32_MAX) {
        memset(s->stamp, 0, sizeof(int32_t) * (size_t)s->d);
        s->now = 0;
    }
    s->now++;
    double score = ask(s, y, s->place[y], names);
    for (int k = 0; k < s->depth; k++)
        name(s, names, s->path[k]);
    s->score[y] = score;
    s->size[y] = s->kept;
    set_bits(s, y, 1);
    if (!s->is_touched[y]) {
        s->is_touched[y] = 1;
        s->touched[s->touched_count++] = y;
    }
}

static void add_up(Search *s)
{
    double total = 0;
    for (int i = 0; i < s->d; i++)
        total += s->score[i];
    s->total = total;
}

/* Orders whose totals are closer are ties, as in survey.py: the first is kept, or rounding would choose among them. */
#define SAME 1e-6

static void keep_best(Search *s)
{
    if (!s->is_rival && s->total < s->best_total - SAME) {
        s->best_total = s->total;
        memcpy(s->best, s->order, sizeof(int32_t) * (size_t)s->d);
    }
}

static void save(Search *s)
{
    memcpy(s->saved, s->order, sizeof(int32_t) * (size_t)s->d);
    s->saved_total = s->total;
    for (int k = 0; k < s->touched_count; k++)
        s->is_touched[s->touched[k]] = 0;
    s->touched_count = 0;
}

static void restore(Search *s)
{
    memcpy(s->order, s->saved, sizeof(int32_t) * (size_t)s->d);
    for (int k = 0; k < s->d; k++)
        s->place[s->order[k]] = k;
    for (int k = 0, count = s->touched_count; k < count && !halted(s); k++)
        settle(s, s->touched[k]);
    add_up(s);
}

static void lift(Search *s)
{
    s->is_rival = 0;
    s->apart[0] = s->apart[1] = s->first = s->second = -1;
}

/* Go to an order, which is the best from then on. Returns 0, NO_MEMORY or STOPPED; then there is no best. */
int order_search_start(Search *s, const int32_t *order, const volatile int32_t *stop)
{
    s->g.stop = (Stop){.flag = stop};
    s->best_total = INFINITY;
    lift(s);
    memcpy(s->order, order, sizeof(int32_t) * (size_t)s->d);
    for (int k = 0; k < s->d; k++)
        s->place[order[k]] = k;
    for (int k = 0; k < s->d && !halted(s); k++)
        settle(s, order[k]);
    if (halted(s))
        return end(s);
    memset(s->dirty, 1, (size_t)s->d);
    add_up(s);
    keep_best(s);
    return 0;
}

/* ---- Moves ---- */

/* What the others lose by the mover being before them, summed to their total for each of its places among the rest, and
   the lowest of these up to each place. */
static void evaluate_others(Search *s, int x)
{
    int here = s->place[x], m = s->d - 1;
    const uint64_t *row = s->named_by + (size_t)x * (size_t)s->words;
    double before = 0;
    memset(s->others, 0, sizeof(double) * (size_t)s->d);
    for (int w = 0; w < s->words; w++)
        for (uint64_t bits = row[w]; bits; bits &= bits - 1) {
            int y = w * 64 + __builtin_ctzll(bits), at = s->place[y];
            s->place[x] = at > here ? INT32_MAX : -1;
            double other = ask(s, y, at, NULL);
            s->others[at > here ? at - 1 : at] = at > here ? s->score[y] - other : other - s->score[y];
            s->place[x] = here;
        }
    for (int k = 0; k < here; k++)
        before += s->others[k];
    double total = s->total - s->score[x] + before;
    for (int k = 0; k <= m; k++) {
        double difference = s->others[k];
        s->others[k] = total;
        s->lowest[k] = k == 0 || total < s->lowest[k - 1] ? total : s->lowest[k - 1];
        total -= difference;
    }
    s->work += 3 * s->d;
}

/* Score of the mover at every place. Fewer candidates hardly ever explain more: where what it has at a later place
   would not do at any earlier one, by more than the cost of a parent, the earlier ones are left at that score; under a
   score with the shape of the noise all are asked. */
static void evaluate_mover(Search *s, int x)
{
    int here = s->place[x];
    double score = -INFINITY;
    for (int k = s->d - 1; k >= 0;) {
        int last = -1; /* the same is chosen for every place behind the last of the chosen */
        if (s->lowest[k] + score <= s->total + s->slack) {
            score = ask(s, x, k <= here ? k : k + 1, NULL);
            for (int i = 0; i < s->depth; i++)
                if (s->place[s->path[i]] > last)
                    last = s->place[s->path[i]];
            if (last > here)
                last--;
        }
        for (; k > last; k--)
            s->at[k] = score;
    }
}

static int precedes(const Search *s, int first, int second)
{
    return (s->precede && s->precede[(int64_t)first * s->d + second]) || (first == s->first && second == s->second);
}

/* The places among the rest that rules leave to x. */
static void find_range(const Search *s, int x, int *low, int *high)
{
    *low = 0;
    *high = s->d - 1;
    if (!s->precede && x != s->first && x != s->second)
        return;
    for (int k = 0, i = 0; k < s->d; k++) {
        int y = s->order[k];
        if (y == x)
            continue;
        if (precedes(s, y, x))
            *low = i + 1;
        if (precedes(s, x, y) && i < *high)
            *high = i;
        i++;
    }
}

static void mark(Search *s, int y)
{
    const Names *names = s->names + y;
    s->dirty[y] = 1;
    for (int k = 0; k < names->count; k++)
        s->dirty[names->variables[k]] = 1;
}

/* Put x at a place among the rest. */
static void move(Search *s, int x, int to)
{
    int here = s->place[x];
    if (to == here)
        return;
    if (to > here)
        memmove(s->order + here, s->order + here + 1, sizeof(int32_t) * (size_t)(to - here));
    else
        memmove(s->order + to + 1, s->order + to, sizeof(int32_t) * (size_t)(here - to));
    s->order[to] = x;
    int low = to < here ? to : here, high = to < here ? here : to;
    for (int k = low; k <= high; k++)
        s->place[s->order[k]] = k;
    for (int k = low; k <= high && !halted(s); k++) {
        int y = s->order[k];
        if (y == x || (s->named_by[(size_t)x * (size_t)s->words + y / 64] >> (y & 63) & 1)) {
            mark(s, y);
            settle(s, y);
            mark(s, y);
        }
    }
    add_up(s);
}

static int obeys(const Search *s)
{
    for (int k = 0; s->precede && k < s->d; k++)
        for (int i = 0; i < k; i++)
            if (precedes(s, s->order[k], s->order[i]))
                return 0;
    return 1;
}

/* Put x where the total is lowest, if that gains more than the tolerance; whether it did. */
static int improve(Search *s, int x, double tolerance)
{
    int low, high, best = s->place[x];
    if (s->branch_count > s->most_branches)
        forget(s);
    evaluate_others(s, x);
    evaluate_mover(s, x);
    if (halted(s))
        return 0;
    find_range(s, x, &low, &high);
    /* Equivalent graphs tie; without the tolerance rounding, and so the units of the columns, would choose. */
    double lowest = s->total;
    for (int k = low; k <= high; k++)
        if (s->others[k] + s->at[k] < lowest - tolerance) {
            lowest = s->others[k] + s->at[k];
            best = k;
        }
    if (best == s->place[x])
        return 0;
    double before = s->total;
    move(s, x, best);
    return s->total < before; /* rounding above the tolerance might lead in a circle */
}

/* Move dirty nodes until none has a better place. Returns the number of moves. */
static int64_t descend(Search *s, double tolerance)
{
    int64_t moves = 0;
    for (int quiet = 0, x = 0; quiet < s->d && s->work < s->until && !halted(s); x = x + 1 < s->d ? x + 1 : 0) {
        quiet++;
        if (!s->dirty[x])
            continue;
        s->dirty[x] = 0;
        if (improve(s, x, tolerance)) {
            moves++;
            quiet = 0;
            if (!halted(s))
                keep_best(s);
        }
    }
    return moves;
}

/* Move one node after the other to its best place, all of them again until none moves or all that was ever done is so
   much work. Returns the number of moves, NO_MEMORY or STOPPED; then the best order is still the best so far. */
int64_t order_search_descend(Search *s, int64_t work, double tolerance, const volatile int32_t *stop)
{
    int64_t moves = 0, more = 1;
    s->g.stop = (Stop){.flag = stop};
    s->until = work;
    while (more && s->work < work && !halted(s)) {
        memset(s->dirty, 1, (size_t)s->d);
        more = descend(s, tolerance);
        moves += more;
    }
    return halted(s) ? end(s) : moves;
}

/* ---- Kicks ---- */

static uint64_t draw(Search *s)
{
    uint64_t z = s->seed += 0x9e3779b97f4a7c15u; /* splitmix64 */
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

static int draw_below(Search *s, int bound)
{
    return (int)((draw(s) >> 32) * (uint64_t)bound >> 32);
}

static void kick(Search *s, int insertions)
{
    for (int k = 0; k < insertions && !halted(s); k++) {
        int x = draw_below(s, s->d), low, high;
        find_range(s, x, &low, &high);
        if (low <= high)
            move(s, x, low + draw_below(s, high - low + 1));
    }
}

/* Kick the order by random insertions, repair it by moves of the nodes that noticed, and go on from there if it is not
   worse, or is worse by `delta` with probability exp(-delta / temperature); `patience` kicks without a better best end
   it, as does a total amount of work. Returns the number of kicks, NO_MEMORY or STOPPED; then the best order is still
   the best so far. */
int64_t order_search_kick(Search *s, int insertions, double temperature, int64_t patience, int64_t work,
                          double tolerance, const volatile int32_t *stop)
{
    int64_t kicks = 0;
    s->g.stop = (Stop){.flag = stop};
    s->until = work;
    for (int64_t failures = 0; failures < patience && s->work < work && !halted(s); kicks++) {
        double best = s->best_total;
        save(s);
        kick(s, insertions);
        descend(s, tolerance);
        s->work += s->d;
        if (halted(s))
            break;
        keep_best(s); /* where a kick led downhill and no move did */
        double worse = s->total - s->saved_total, chance = (double)(draw(s) >> 11) * 0x1p-53;
        if (worse > tolerance && !(temperature > 0 && chance < exp(-worse / temperature)))
            restore(s);
        failures = s->best_total < best - tolerance ? 0 : failures + 1;
    }
    return halted(s) ? end(s) : kicks;
}

/* ---- Answers ---- */

/* Go from the best order to the best one near it in which the nodes u and v, with u before v, have no edge
   (`turned` = 0), or v precedes u (1), with so much work at most. Returns 0, NO_MEMORY or STOPPED; `score` is that of
   the rival, in whose order the search stays until it is asked for another or started, or infinite where rules forbid
   it. */
int order_search_rival(Search *s, int u, int v, int turned, int64_t work, double tolerance, double *score,
                       const volatile int32_t *stop)
{
    s->g.stop = (Stop){.flag = stop};
    int was_rival = s->is_rival;
    lift(s); /* first, lest the pair of the last rival stays apart in what is restored */
    if (was_rival)
        restore(s);
    save(s);
    *score = INFINITY;
    memset(s->dirty, 0, (size_t)s->d);
    if (turned && precedes(s, u, v))
        return 0;
    s->is_rival = 1;
    s->until = s->work + work;
    if (turned) {
        double lowest[2];
        for (int way = 0; way < 2; way++) { /* v up to u, or u down to v: the lower total is gone on from */
            move(s, way ? u : v, s->place[way ? v : u]);
            lowest[way] = obeys(s) ? s->total : INFINITY;
            if (way == 0 || lowest[0] < lowest[1])
                restore(s);
        }
        if (lowest[0] == INFINITY && lowest[1] == INFINITY)
            return halted(s) ? end(s) : 0;
        if (lowest[0] < lowest[1])
            move(s, v, s->place[u]);
        s->first = v;
        s->second = u;
    } else {
        s->apart[0] = u;
        s->apart[1] = v;
        for (int k = 0; k < 2; k++) {
            mark(s, s->apart[k]);
            settle(s, s->apart[k]);
            mark(s, s->apart[k]);
        }
        add_up(s);
    }
    descend(s, tolerance);
    if (halted(s))
        return end(s);
    *score = s->total;
    return 0;
}

double order_search_best(const Search *s, int32_t *order)
{
    memcpy(order, s->best, sizeof(int32_t) * (size_t)s->d);
    return s->best_total;
}

int64_t order_search_work(const Search *s)
{
    return s->work;
}

/* The parents of a node in the present order; their number, or NO_MEMORY. They stay in the regression. */
static int find_parents(Search *s, int node)
{
    ask(s, node, s->place[node], NULL);
    if (!s->failed)
        load(s, node, s->deepest);
    if (!s->failed)
        shrink(s);
    return s->failed ? NO_MEMORY : s->selector ? s->selector->kept_count : s->g.kept_count;
}

/* The parents of the nodes first..last-1 in the present order: those of node first + k are parents[start[k]] ..
   parents[start[k + 1] - 1], in the order in which they were chosen. Returns how many there are, of which the first
   `room` are written, or NO_MEMORY. */
int64_t order_search_parents(Search *s, int first, int last, int64_t *start, int32_t *parents, int64_t room)
{
    int64_t count = 0;
    s->g.stop = (Stop){.flag = NULL};
    for (int j = first; j < last; j++) {
        start[j - first] = count;
        int kept = find_parents(s, j);
        if (kept < 0)
            return NO_MEMORY;
        for (int k = 0; k < kept; k++, count++)
            if (count < room)
                parents[count] = s->selector ? s->selector->kept[k] : regression_node(&s->g, s->g.kept[k]);
    }
    start[last - first] = count;
    return count;
}

/* The score of every node in the present order, and how many parents it has. */
void order_search_scores(const Search *s, double *score, int32_t *size)
{
    memcpy(score, s->score, sizeof(double) * (size_t)s->d);
    memcpy(size, s->size, sizeof(int32_t) * (size_t)s->d);
}

/* ---- Many columns: an order to start from, and what the candidates missed ---- */

/* What is left of a node's variance given its parents among those that have a place, with its degrees of freedom. */
static double left_of(const Search *s, int y, const double *variance)
{
    const Criterion *k = &s->g.criterion;
    double misfit = (s->score[y] - k->c * s->size[y]) / k->n, freedom = k->n - 1 - s->size[y];
    double share = k->unit ? misfit * k->unit[y] : exp(misfit);
    return variance[y] * share * k->n / (freedom > 1 ? freedom : 1);
}

/* Grow an order: take, again and again, the node whose parents, selected among those taken, leave the least of its
   variance, and the first of those that `rounding` cannot tell apart. Only nodes that name the last one taken are asked
   anew. The search is then as after its start in this order. Returns 0, NO_MEMORY or STOPPED. */
int order_search_grow(Search *s, const double *variance, double rounding, int32_t *order,
                      const volatile int32_t *stop)
{
    s->g.stop = (Stop){.flag = stop};
    s->best_total = INFINITY;
    lift(s);
    for (int y = 0; y < s->d; y++)
        s->place[y] = INT32_MAX;
    for (int y = 0; y < s->d && !halted(s); y++) {
        settle(s, y);
        s->at[y] = left_of(s, y, variance);
    }
    for (int k = 0; k < s->d && !halted(s); k++) {
        int x = -1;
        for (int y = 0; y < s->d; y++)
            if (s->place[y] == INT32_MAX && (x < 0 || s->at[y] < s->at[x] * (1 - rounding)))
                x = y;
        order[k] = x;
        s->place[x] = k;
        const uint64_t *row = s->named_by + (size_t)x * (size_t)s->words;
        for (int w = 0; w < s->words; w++)
            for (uint64_t bits = row[w]; bits; bits &= bits - 1) {
                int y = w * 64 + __builtin_ctzll(bits);
                if (s->place[y] == INT32_MAX) {
                    settle(s, y);
                    s->at[y] = left_of(s, y, variance);
                }
            }
        s->work += 2 * s->d;
    }
    return halted(s) ? end(s) : order_search_start(s, order, stop);
}

/* Take other candidates: the trees of the nodes for which they `changed` are forgotten. The search has to be started
   again. Returns 0 or NO_MEMORY. */
int order_search_widen(Search *s, const int64_t *first_candidate, const int32_t *candidates, const uint8_t *changed)
{
    s->first_candidate = first_candidate;
    s->candidates = candidates;
    if (most_candidates(s) > s->g.room) {
        Criterion criterion = s->g.criterion;
        regression_close(&s->g);
        if (regression_open(&s->g, &criterion, most_candidates(s)) < 0)
            s->failed = 1;
    }
    s->g.target = -1;
    for (int j = 0; j < s->d; j++)
        if (changed[j])
            s->root[j] = 0;
    return s->failed ? NO_MEMORY : 0;
}

typedef struct {
    Regression g;
    double *gain;
    int32_t *found; /* of one node, at most `room` */
    int room, count;
} Look;

/* The predecessor of the target that explains most, or -1. */
static int best_before(const Search *s, Look *l, double *most)
{
    int target = l->g.target, best = -1;
    const uint8_t *allowed = s->allowed ? s->allowed + (int64_t)target * s->d : NULL;
    regression_gains(&l->g, l->gain);
    *most = 0;
    for (int i = 0; i < s->d; i++)
        if (l->gain[i] > *most && s->place[i] < s->place[target] && (!allowed || allowed[i])) {
            *most = l->gain[i];
            best = i;
        }
    return best;
}

static int is_candidate(const Search *s, int target, int variable)
{
    Regression g = {0};
    g.among = candidates_of(s, target, &g.width);
    return !g.among || (g.width > 0 && g.among[place_among(&g, variable)] == variable);
}

/* Walk as the search does, but among all predecessors, and note what it chooses that is no candidate. */
static int look(const Search *s, Look *l, int target)
{
    Regression *g = &l->g;
    const uint8_t *required = s->required ? s->required + (int64_t)target * s->d : NULL;
    regression_start(g, target, NULL, s->d);
    l->count = 0;
    for (int i = 0; required && i < s->d; i++)
        if (required[i] && regression_can_add(g, i) && regression_add(g, i) < 0)
            return NO_MEMORY;
    for (int detours = 0; l->count < l->room;) {
        double most, needed = regression_needed(g);
        int best = best_before(s, l, &most);
        if (best < 0 || !(most > DETOUR_SHARE * needed))
            return 0;
        detours = most > needed ? 0 : detours + 1;
        if (detours > g->criterion.detours)
            return 0;
        if (!is_candidate(s, target, best))
            l->found[l->count++] = best;
        if (regression_add(g, best) < 0)
            return NO_MEMORY;
        if (stopped(&g->stop))
            return STOPPED;
    }
    return 0;
}

/* What a selection among all predecessors in the present order chooses for the nodes first..last-1 that is none of
   their candidates: at most `room` for each, others of the found (d*room) are -1. Where there is nothing, walks among
   the candidates are those among all. Returns 0, NO_MEMORY or STOPPED. May run in several threads at once. */
int order_search_missed(const Search *s, int first, int last, int room, int32_t *found, const volatile int32_t *stop)
{
    Look l = {.room = room};
    int status = regression_open(&l.g, &s->g.criterion, s->d);
    l.gain = malloc(sizeof(double) * (size_t)s->d);
    l.g.stop = (Stop){.flag = stop};
    if (!l.gain)
        status = NO_MEMORY;
    for (int j = first; j < last && status == 0; j++) {
        l.found = found + (int64_t)j * room;
        status = look(s, &l, j);
        for (int k = l.count; k < room; k++)
            l.found[k] = -1;
    }
    free(l.gain);
    regression_close(&l.g);
    return status;
}
