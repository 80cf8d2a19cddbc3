/* Categories given categories: every combination of the parents' levels has a distribution of its own. See
   scores/counts.py for the score.

   Rows that are equal are one row with a weight. They are kept grouped by the levels of the chosen parents, so that
   memory is that of the rows, however many combinations there are: a candidate splits each group by its levels, in a
   table that is cleared for the next group. What was counted for a set of parents is kept, for searches come back to
   the same sets by many ways. */
#include "selector.h"
#include <math.h>
#include <string.h>

/* Sums log x(x + 1)..(x + m - 1) are tabulated for fewer than RISES; CACHE sets of parents are remembered. */
enum { RISES = 256, CACHE = 1 << 18 };

/* Rows in groups: those of group g are at start[g] .. start[g + 1] - 1, with the level of the target and the weight. */
typedef struct {
    int32_t *row, *start, *weight;
    uint8_t *level;
    int groups;
} Grouping;

typedef struct {
    double rises[RISES], x; /* log of x(x + 1)..(x + m - 1) */
} Rises;

typedef struct {
    uint64_t key;
    double misfit;
} Remembered;

typedef struct {
    Selector base;
    const int32_t *levels, *weight; /* of the columns; of the rows */
    const uint8_t *codes;           /* one column of m rows after the other */
    const double *logs;             /* x log x for the first n_logs numbers */
    int64_t n_logs;
    int m, widest, max_parents, target, count, locked, grouped;
    double unit, extra, sample_size; /* price of a parameter, of a parent beyond that; 0 where parameters are priced */
    double *alone;                   /* the misfit of each column without parents; NAN until it is known */
    int32_t *chosen;
    uint64_t *name; /* random bits of each column */
    Grouping now, trial, spare;
    int64_t *table, *margin, *place;
    Remembered *cache;
    Rises cell, group;
} Counts;

static void free_grouping(Grouping *g)
{
    free(g->row);
    free(g->start);
    free(g->weight);
    free(g->level);
}

static int allocate_grouping(Grouping *g, int m)
{
    size_t rows = (size_t)m;
    g->row = malloc(sizeof(int32_t) * rows);
    g->start = malloc(sizeof(int32_t) * (rows + 1));
    g->weight = malloc(sizeof(int32_t) * rows);
    g->level = malloc(rows);
    return g->row && g->start && g->weight && g->level ? 0 : NO_MEMORY;
}

static void counts_close(Selector *base)
{
    Counts *c = (Counts *)base;
    free_grouping(&c->now);
    free_grouping(&c->trial);
    free_grouping(&c->spare);
    free(c->base.kept);
    free(c->chosen);
    free(c->alone);
    free(c->name);
    free(c->table);
    free(c->cache);
    free(c);
}

/* ---- The score of a table ---- */

/* log of the gamma function for x > 0, by Stirling's series from 10 on; its error there is below 1e-14. */
static double log_gamma(double x)
{
    double product = 1;
    for (; x < 10; x += 1)
        product *= x;
    double y = 1 / (x * x);
    double series = (1.0 / 12 - y * (1.0 / 360 - y * (1.0 / 1260 - y * (1.0 / 1680 - y * (1.0 / 1188))))) / x;
    return (x - 0.5) * log(x) - x + 0.91893853320467274178 + series - log(product);
}

static void set_rises(Rises *r, double x)
{
    if (r->x == x)
        return;
    r->x = x;
    r->rises[0] = 0;
    for (int k = 1; k < RISES; k++)
        r->rises[k] = r->rises[k - 1] + log(x + k - 1);
}

static inline double rise(const Rises *r, int64_t count)
{
    return count < RISES ? r->rises[count] : log_gamma(r->x + (double)count) - log_gamma(r->x);
}

/* What a cell, and a combination of the parents' levels, add to the log-likelihood; nothing where no row is. */
static inline double of_cell(const Counts *c, int64_t count)
{
    if (c->sample_size > 0)
        return rise(&c->cell, count);
    return count < c->n_logs ? c->logs[count] : (double)count * log((double)count);
}

static inline double of_group(const Counts *c, int64_t count)
{
    if (c->sample_size > 0)
        return -rise(&c->group, count);
    return count < c->n_logs ? -c->logs[count] : -(double)count * log((double)count);
}

/* The pseudo-counts of BDeu for so many combinations of the parents' levels. */
static void share_sample(Counts *c, double combinations)
{
    if (c->sample_size > 0) {
        set_rises(&c->group, c->sample_size / combinations);
        set_rises(&c->cell, c->sample_size / combinations / c->levels[c->target]);
    }
}

/* Log-likelihood of the rows first .. last - 1, a group, split by the levels x of one more parent. */
static double split_small(Counts *c, const Grouping *g, int first, int last, const uint8_t *x, int r)
{
    double sum = 0;
    for (int k = first; k < last; k++) {
        int a = x[g->row[k]];
        c->table[a * r + g->level[k]] += g->weight[k];
        c->margin[a] += g->weight[k];
    }
    for (int k = first; k < last; k++) { /* what a row has added, and its like, is counted and gone */
        int a = x[g->row[k]], at = a * r + g->level[k];
        sum += of_cell(c, c->table[at]) + of_group(c, c->margin[a]);
        c->table[at] = c->margin[a] = 0;
    }
    return sum;
}

static double split_large(Counts *c, const Grouping *g, int first, int last, const uint8_t *x, int q, int r)
{
    double sum = 0;
    for (int k = first; k < last; k++)
        c->table[x[g->row[k]] * r + g->level[k]] += g->weight[k];
    for (int a = 0; a < q; a++) {
        int64_t all = 0;
        for (int b = 0; b < r; b++) {
            int64_t count = c->table[a * r + b];
            all += count;
            sum += of_cell(c, count);
        }
        sum += of_group(c, all);
    }
    memset(c->table, 0, sizeof(int64_t) * (size_t)(q * r));
    return sum;
}

/* -2 log-likelihood of the target given groups and one more parent, or given the groups alone where `parent` < 0. */
static double count_misfit(Counts *c, const Grouping *g, double combinations, int parent)
{
    int r = c->levels[c->target], q = parent < 0 ? 1 : c->levels[parent];
    const uint8_t *x = parent < 0 ? c->codes + (size_t)c->base.d * (size_t)c->m : c->codes + (size_t)parent * (size_t)c->m;
    double sum = 0;
    share_sample(c, combinations * q);
    for (int k = 0; k < g->groups; k++) {
        int first = g->start[k], last = g->start[k + 1];
        if (last - first == 1) /* all of it in one cell */
            sum += c->sample_size > 0 ? of_cell(c, g->weight[first]) + of_group(c, g->weight[first]) : 0;
        else
            sum += last - first < q * r ? split_small(c, g, first, last, x, r) : split_large(c, g, first, last, x, q, r);
    }
    c->base.work += 2 * (int64_t)c->m + 4 * (int64_t)g->groups;
    return -2 * sum;
}

/* ---- Groups ---- */

static void start_groups(Counts *c, Grouping *g)
{
    const uint8_t *own = c->codes + (size_t)c->target * (size_t)c->m;
    for (int k = 0; k < c->m; k++)
        g->row[k] = k;
    memcpy(g->weight, c->weight, sizeof(int32_t) * (size_t)c->m);
    memcpy(g->level, own, (size_t)c->m);
    g->start[0] = 0;
    g->start[1] = c->m;
    g->groups = 1;
    c->base.work += c->m;
}

/* The groups of `g`, each split by the levels of one more parent. */
static void split_into(Counts *c, const Grouping *g, Grouping *to, int parent)
{
    const uint8_t *x = c->codes + (size_t)parent * (size_t)c->m;
    int q = c->levels[parent], groups = 0;
    to->start[0] = 0;
    for (int k = 0; k < g->groups; k++) {
        int first = g->start[k], last = g->start[k + 1];
        memset(c->place, 0, sizeof(int64_t) * (size_t)q);
        for (int i = first; i < last; i++)
            c->place[x[g->row[i]]]++;
        int64_t at = first;
        for (int a = 0; a < q; a++) {
            int64_t size = c->place[a];
            c->place[a] = at;
            at += size;
            if (size)
                to->start[++groups] = (int32_t)at;
        }
        for (int i = first; i < last; i++) {
            int64_t there = c->place[x[g->row[i]]]++;
            to->row[there] = g->row[i];
            to->weight[there] = g->weight[i];
            to->level[there] = g->level[i];
        }
    }
    to->groups = groups;
    c->base.work += 4 * (int64_t)c->m + (int64_t)q * groups;
}

static void split_groups(Counts *c, Grouping *g, int parent)
{
    Grouping before = *g;
    split_into(c, g, &c->spare, parent);
    *g = c->spare;
    c->spare = before;
}

/* ---- What is remembered ---- */

static uint64_t scramble(uint64_t x)
{
    x += 0x9e3779b97f4a7c15u;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

static uint64_t key_of_set(const Counts *c, const int32_t *parents, int count)
{
    uint64_t key = scramble((uint64_t)c->target + ((uint64_t)1 << 32));
    for (int k = 0; k < count; k++)
        key ^= c->name[parents[k]];
    return key;
}

static Remembered *look_up(const Counts *c, uint64_t *key)
{
    *key = *key ? *key : 1; /* an empty place has 0 */
    return c->cache + *key % CACHE;
}

static double combinations_of(const Counts *c, const int32_t *parents, int count)
{
    double product = 1;
    for (int k = 0; k < count; k++)
        product *= c->levels[parents[k]];
    return product;
}

static double price_of(const Counts *c, const int32_t *parents, int count)
{
    double parameters = (c->levels[c->target] - 1) * (combinations_of(c, parents, count) - 1);
    return c->extra * count + (c->sample_size > 0 ? 0 : c->unit * parameters);
}

/* Misfit of any set of parents of the target. */
static double misfit_of(Counts *c, const int32_t *parents, int count)
{
    uint64_t key = key_of_set(c, parents, count);
    Remembered *known = look_up(c, &key);
    if (known->key != key) {
        start_groups(c, &c->trial);
        for (int k = 0; k + 1 < count && !stopped(c->base.stop); k++)
            split_groups(c, &c->trial, parents[k]);
        double before = count ? combinations_of(c, parents, count - 1) : 1;
        double misfit = count_misfit(c, &c->trial, before, count ? parents[count - 1] : -1);
        if (stopped(c->base.stop))
            return misfit;
        *known = (Remembered){key, misfit};
    }
    return known->misfit;
}

static double misfit_alone(Counts *c)
{
    if (isnan(c->alone[c->target]))
        c->alone[c->target] = misfit_of(c, NULL, 0);
    return c->alone[c->target];
}

/* ---- What the search asks ---- */

static int counts_load(Selector *base, int target, const int32_t *path, int depth)
{
    Counts *c = (Counts *)base;
    int fits = c->target == target && c->count - c->locked <= depth;
    for (int k = c->locked; fits && k < c->count; k++)
        fits = c->chosen[k] == path[k - c->locked];
    if (!fits) {
        c->target = target;
        c->count = 0;
        c->grouped = -1;
        const uint8_t *required = base->required ? base->required + (int64_t)target * base->d : NULL;
        for (int i = 0; required && i < base->d; i++)
            if (required[i])
                c->chosen[c->count++] = i;
        c->locked = c->count;
    }
    for (; c->count - c->locked < depth; c->count++)
        c->chosen[c->count] = path[c->count - c->locked];
    return 0;
}

/* Bring the groups to the chosen parents; 0 where that was stopped. */
static int group_chosen(Counts *c)
{
    if (c->grouped < 0) {
        start_groups(c, &c->now);
        c->grouped = 0;
    }
    for (; c->grouped < c->count && !stopped(c->base.stop); c->grouped++)
        split_groups(c, &c->now, c->chosen[c->grouped]);
    return c->grouped == c->count;
}

/* The price of the cheapest first parent: detours may lose nearly as much, so that parents which explain something only
   together are met where one of them is among the best. */
static double needed_of(const Counts *c)
{
    int least = 255;
    for (int i = 0; i < c->base.d; i++)
        if (i != c->target && c->levels[i] > 1 && c->levels[i] < least)
            least = c->levels[i];
    int freedom = c->levels[c->target] > 2 ? c->levels[c->target] - 1 : 1;
    return c->extra + c->unit * (c->sample_size > 0 ? 1 : (double)freedom * (least - 1));
}

static double counts_gains(Selector *base, double *gain)
{
    Counts *c = (Counts *)base;
    int d = base->d, r = c->levels[c->target];
    double needed = needed_of(c), before = combinations_of(c, c->chosen, c->count), misfit = misfit_of(c, c->chosen, c->count);
    uint64_t key = key_of_set(c, c->chosen, c->count);
    memset(gain, 0, sizeof(double) * (size_t)d);
    if (c->count >= c->max_parents)
        return INFINITY;
    for (int i = 0; i < d; i++)
        gain[i] = i == c->target ? 0 : 1;
    for (int k = 0; k < c->count; k++)
        gain[c->chosen[k]] = 0;
    base->work += d;
    for (int i = 0; i < d && !stopped(base->stop); i++) {
        double price = c->extra + (c->sample_size > 0 ? 0 : c->unit * (r - 1) * before * (c->levels[i] - 1));
        /* A perfect parent leaves no misfit: where even that does not pay, nothing is counted. */
        if (gain[i] == 0 || (gain[i] = misfit - price + needed) <= 0)
            gain[i] = 0;
        else {
            uint64_t own = key ^ c->name[i];
            Remembered *known = look_up(c, &own);
            if (known->key != own) {
                if (!group_chosen(c))
                    break;
                *known = (Remembered){own, count_misfit(c, &c->now, before, i)};
            }
            gain[i] = misfit - known->misfit - price + needed;
            gain[i] = gain[i] > 0 ? gain[i] : 0;
        }
    }
    return needed;
}

/* Drop the parent that is worth least, if that does not raise the score. */
static int drop_weakest(Counts *c)
{
    Selector *base = &c->base;
    int count = base->kept_count, which = -1;
    double least = 0, best = 0, price = price_of(c, base->kept, count);
    for (int k = c->locked; k < count && !stopped(base->stop); k++) {
        int32_t last = base->kept[count - 1], out = base->kept[k];
        base->kept[k] = last; /* the others in front */
        double misfit = misfit_of(c, base->kept, count - 1);
        double change = misfit - base->misfit + price_of(c, base->kept, count - 1) - price;
        base->kept[k] = out;
        if (change <= least) {
            least = change;
            best = misfit;
            which = k;
        }
    }
    if (which < 0)
        return 0;
    memmove(base->kept + which, base->kept + which + 1, sizeof(int32_t) * (size_t)(count - which - 1));
    base->kept_count--;
    base->misfit = best;
    return 1;
}

static double counts_shrink(Selector *base)
{
    Counts *c = (Counts *)base;
    base->kept_count = c->count;
    memcpy(base->kept, c->chosen, sizeof(int32_t) * (size_t)c->count);
    base->misfit = misfit_of(c, base->kept, base->kept_count);
    while (drop_weakest(c) && !stopped(base->stop))
        ;
    base->misfit -= misfit_alone(c);
    base->price = price_of(c, base->kept, base->kept_count);
    base->shape = 0;
    for (int k = 0; k < base->kept_count; k++)
        base->kept_level[k] = 1;
    return base->misfit + base->price;
}

Selector *counts_open(int d, int m, const uint8_t *codes, const int32_t *weight, const int32_t *levels, int64_t n_logs,
                      const double *logs, double unit, double extra, double sample_size, int max_parents)
{
    Counts *c = calloc(1, sizeof *c);
    if (!c)
        return NULL;
    c->base = (Selector){.load = counts_load, .gains = counts_gains, .shrink = counts_shrink, .close = counts_close,
                         .d = d, .cost = unit + extra, .slack = unit + extra};
    c->codes = codes;
    c->weight = weight;
    c->levels = levels;
    c->n_logs = n_logs;
    c->logs = logs;
    c->m = m;
    c->unit = unit;
    c->extra = extra;
    c->sample_size = sample_size;
    c->max_parents = max_parents;
    c->target = -1;
    c->cell.x = c->group.x = -1;
    c->widest = 1;
    for (int i = 0; i < d; i++)
        c->widest = levels[i] > c->widest ? levels[i] : c->widest;
    size_t many = (size_t)d, w = (size_t)c->widest;
    c->base.kept = malloc(sizeof(int32_t) * 2 * many);
    c->base.kept_level = c->base.kept ? c->base.kept + d : NULL;
    c->chosen = malloc(sizeof(int32_t) * many);
    c->alone = malloc(sizeof(double) * many);
    c->name = malloc(sizeof(uint64_t) * many);
    c->table = calloc(w * w + 2 * w, sizeof(int64_t));
    c->margin = c->table ? c->table + w * w : NULL;
    c->place = c->table ? c->margin + w : NULL;
    c->cache = calloc(CACHE, sizeof(Remembered));
    int failed = !c->base.kept || !c->chosen || !c->alone || !c->name || !c->table || !c->cache;
    failed |= allocate_grouping(&c->now, m) | allocate_grouping(&c->trial, m) | allocate_grouping(&c->spare, m);
    if (failed) {
        counts_close(&c->base);
        return NULL;
    }
    for (int i = 0; i < d; i++) {
        c->alone[i] = NAN;
        c->name[i] = scramble((uint64_t)i);
    }
    return &c->base;
}

/* ---- All sets of parents ---- */

typedef struct {
    Counts *c;
    Grouping groups[EXACT_NODES]; /* those of the first so many parents */
    uint32_t bit[EXACT_NODES];
    int32_t column[EXACT_NODES]; /* the candidates */
    double slack, *table;
    int64_t most_work;
    int failed;
} Sets;

static int ends(const Sets *s)
{
    return s->failed || s->c->base.work > s->most_work || stopped(s->c->base.stop);
}

/* Whether there are groups for so many parents, and memory never lacked. */
static int has_room(Sets *s, int depth)
{
    if (!s->failed && !s->groups[depth].row)
        s->failed = allocate_grouping(&s->groups[depth], s->c->m);
    return !s->failed;
}

/* Scores of the chosen parents, `set`, with all that can be added of the first k candidates. No misfit is below 0: where
   the price of one more parent is above misfit and price without it, every set with that parent is worse than this one.
   Sets that are so by more than the slack are left out, but for pairs. */
static void count_sets(Sets *s, int k, uint32_t set, double misfit)
{
    Counts *c = s->c;
    int count = c->count;
    double before = combinations_of(c, c->chosen, count), price = price_of(c, c->chosen, count);
    for (int j = 0; j < k && count < c->max_parents && !ends(s); j++) {
        c->chosen[count] = s->column[j];
        double dearer = price_of(c, c->chosen, count + 1);
        if (count >= 2 && dearer > price + misfit + s->slack)
            continue;
        double left = count_misfit(c, &s->groups[count], before, s->column[j]);
        s->table[set | s->bit[j]] = left - c->alone[c->target] + dearer;
        if (j > 0 && count + 1 < c->max_parents && has_room(s, count + 1)) {
            split_into(c, &s->groups[count], &s->groups[count + 1], s->column[j]);
            c->count = count + 1;
            count_sets(s, j, set | s->bit[j], left);
            c->count = count;
        }
    }
}

static void count_target(Sets *s, const uint8_t *allowed, const uint8_t *required)
{
    Counts *c = s->c;
    int d = c->base.d, k = 0;
    uint32_t set = 0;
    if (!has_room(s, 0))
        return;
    misfit_alone(c);
    start_groups(c, &s->groups[0]);
    c->count = 0;
    for (size_t i = 0; i < (size_t)1 << (d - 1); i++)
        s->table[i] = INFINITY;
    for (int a = 0; a < d; a++) {
        uint32_t bit = a < c->target ? 1u << a : 1u << a >> 1;
        int wanted = required && required[a];
        if (a == c->target || (!wanted && allowed && !allowed[a]))
            continue;
        if (wanted) {
            if (!has_room(s, c->count + 1))
                return;
            split_into(c, &s->groups[c->count], &s->groups[c->count + 1], a);
            c->chosen[c->count++] = a;
            set |= bit;
        } else {
            s->column[k] = a;
            s->bit[k++] = bit;
        }
    }
    double misfit = count_misfit(c, &s->groups[c->count], combinations_of(c, c->chosen, c->count), -1);
    s->table[set] = misfit - c->alone[c->target] + price_of(c, c->chosen, c->count);
    count_sets(s, k, set, misfit);
}

/* scores (d * 2^(d-1)): for each of the targets first..last-1, the score of each set of others as its parents; INFINITY
   for sets that are not allowed, or left out by count_sets. Where that takes more than `most_work` for all of them, NAN
   for the first set of a target. Returns 0, NO_MEMORY or STOPPED; then the scores are worth nothing. */
int counts_scores(int d, int m, const uint8_t *codes, const int32_t *weight, const int32_t *levels, int64_t n_logs,
                  const double *logs, double unit, double extra, double sample_size, int max_parents, int first, int last,
                  const uint8_t *allowed, const uint8_t *required, double slack, int64_t most_work, double *scores,
                  const volatile int32_t *stop)
{
    Stop watch = {stop, 0};
    Selector *base =
        counts_open(d, m, codes, weight, levels, n_logs, logs, unit, extra, sample_size, max_parents);
    if (!base)
        return NO_MEMORY;
    base->stop = &watch;
    Sets s = {.c = (Counts *)base, .slack = slack, .most_work = most_work};
    for (int j = first; j < last && !s.failed && !stopped(&watch); j++) {
        s.c->target = j;
        s.table = scores + ((size_t)j << (d - 1));
        count_target(&s, allowed ? allowed + j * d : NULL, required ? required + j * d : NULL);
        if (base->work > most_work)
            s.table[0] = NAN;
    }
    for (int k = 0; k < EXACT_NODES; k++)
        free_grouping(&s.groups[k]);
    base->close(base);
    return s.failed ? NO_MEMORY : stopped(&watch) ? STOPPED : 0;
}
