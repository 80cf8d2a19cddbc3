/* Learning again inside of a page: the one function of the kernels that is compiled to WebAssembly.

   It does what acyclic/discrete/refine.py does, with the same kernels in the same order, so that both give one answer. */
#include "../selection.h"
#include <string.h>

/* What the module was compiled from: build.py tells whether that is what lies beside it. */
EXPORT const char *live_digest(void)
{
    return "sources " ACYCLIC_DIGEST;
}

/* Memory for the arrays of a call: the page copies into it and reads from it. */
EXPORT void *live_room(int32_t bytes)
{
    return malloc((size_t)bytes);
}

EXPORT void live_free(void *room)
{
    free(room);
}

/* Scores of one graph that are added up in two ways differ by so much at most: see exact.py. */
static double estimate_rounding(int d, const Criterion *s, const uint32_t *parents, double tolerance)
{
    Regression g;
    double total = 0;
    if (regression_open(&g, s, d) < 0)
        return NAN;
    for (int j = 0; j < d; j++) {
        double own = s->R[(int64_t)j * d + j], share = own;
        regression_start(&g, j, NULL, d);
        for (int i = 0; i < d; i++)
            if (parents[j] >> i & 1 && regression_can_add(&g, i) && regression_add(&g, i) < 0) {
                regression_close(&g);
                return NAN;
            }
        share = s->unit ? s->unit[j] : g.variance;
        if (own > 0)
            total += 1 / (share > EXPLAINED ? share : EXPLAINED);
    }
    regression_close(&g);
    return tolerance + 32 * 2.220446049250313e-16 * s->n * total;
}

static int find_exactly(int d, const Criterion *s, const uint8_t *allowed, const uint8_t *required, double tolerance,
                        uint8_t *graph, double *score)
{
    size_t sets = (size_t)1 << (d - 1);
    double *best = malloc(sizeof(double) * sets * (size_t)d), *before = malloc(sizeof(double) * 2 * sets);
    uint32_t parents[EXACT_NODES];
    int status = best && before ? 0 : NO_MEMORY;
    if (!status)
        status = exact_scores(d, 0, d, s->R, s->n, s->c, s->unit, allowed, required, s->max_parents, best, NULL);
    if (!status)
        status = exact_orders(d, best, 0, before, NULL);
    if (!status) {
        *score = before[2 * sets - 1];
        exact_graph(d, best, before, tolerance, parents);
        double rounding = estimate_rounding(d, s, parents, tolerance);
        exact_graph(d, best, before, rounding, parents);
        for (int i = 0; i < d; i++)
            for (int j = 0; j < d; j++)
                graph[i * d + j] = parents[j] >> i & 1;
        status = rounding >= 0 ? 0 : NO_MEMORY;
    }
    free(best);
    free(before);
    return status;
}

/* How far a search goes: refine.py names the same. */
typedef struct {
    int insertions, patience;
    double temperature, descent, work, tolerance;
} Effort;

/* Go downhill from an order and on by kicks, and close the chain: graph[i][j] is how many features of i count for j, 1
   where parents have but one. Returns the number of kicks or NO_MEMORY. */
static int search_near(Search *chain, int d, const int32_t *order, Effort effort, int blocks, uint8_t *graph,
                       double *score)
{
    int32_t *found = malloc(sizeof(int32_t) * 2 * (size_t)d), *level = found ? found + d : NULL;
    int64_t kicks = NO_MEMORY, start[2];
    double parts[3];
    if (chain && found && order_search_start(chain, order, NULL) == 0 &&
        order_search_descend(chain, (int64_t)effort.descent, effort.tolerance, NULL) >= 0) {
        int64_t until = order_search_work(chain) + (int64_t)effort.work;
        kicks = order_search_kick(chain, effort.insertions, effort.temperature, effort.patience, until, effort.tolerance,
                                  NULL);
    }
    if (kicks >= 0) {
        *score = order_search_best(chain, found);
        if (order_search_start(chain, found, NULL) < 0)
            kicks = NO_MEMORY;
    }
    for (int j = 0; j < d && kicks >= 0; j++) {
        int64_t count = order_search_parents(chain, j, j + 1, start, found, d);
        if (count < 0)
            kicks = NO_MEMORY;
        else if (blocks)
            order_search_parts(chain, level, parts);
        for (int64_t k = 0; k < count; k++)
            graph[(int64_t)found[k] * d + j] = (uint8_t)(blocks ? level[k] : 1);
    }
    order_search_close(chain);
    free(found);
    return (int)kicks;
}

/* Find the best graph, or from `order` a good one nearby: graph[i][j] is set for i -> j. The rules are d*d each: allowed
   and required by target, precede by source, or NULL. Returns the number of kicks, NO_MEMORY, or STOPPED, which nobody
   asks for here. */
EXPORT int live_learn(int d, const double *R, double n, double c, const double *unit, const uint8_t *allowed,
                      const uint8_t *required, const uint8_t *precede, int max_parents, int detours, const int32_t *order,
                      int exact, int insertions, double temperature, int patience, double descent, double work,
                      double tolerance, double most_branches, uint8_t *graph, double *score)
{
    Criterion s = {d, R, n, c, unit, max_parents, exact ? 0 : detours, NULL, NULL};
    memset(graph, 0, (size_t)d * (size_t)d);
    if (exact)
        return find_exactly(d, &s, allowed, required, tolerance, graph, score);
    Search *chain = order_search_open(d, R, n, c, unit, allowed, required, precede, max_parents, detours,
                                      (int64_t)most_branches, 0, NULL, NULL, NULL, NULL);
    Effort effort = {insertions, patience, temperature, descent, work, tolerance};
    return search_near(chain, d, order, effort, 0, graph, score);
}

/* The same where parents enter as blocks of features: the first arguments are those of blocks_open, and graph[i][j] is
   how many features of i count for j. */
EXPORT int live_blocks(int d, const int32_t *at, const int32_t *level_at, const int32_t *levels,
                       const int32_t *responses, const int32_t *bent, const int32_t *shaped, const double *G,
                       const double *prices, double n, double cost, int n_rows, const double *rows, double shape_price,
                       const uint8_t *allowed, const uint8_t *required, const uint8_t *precede, int max_parents,
                       int detours, const int32_t *order, int insertions, double temperature, int patience,
                       double descent, double work, double tolerance, double most_branches, uint8_t *graph,
                       double *score)
{
    memset(graph, 0, (size_t)d * (size_t)d);
    Search *chain = order_search_open(d, NULL, 1.0, 0.0, NULL, allowed, required, precede, max_parents, detours,
                                      (int64_t)most_branches, 0, NULL, NULL, NULL, NULL);
    Selector *blocks = blocks_open(d, at, level_at, levels, responses, bent, shaped, G, prices, n, cost, n_rows, rows,
                                   shape_price, max_parents);
    Effort effort = {insertions, patience, temperature, descent, work, tolerance};
    return search_near(order_search_use(chain, blocks), d, order, effort, 1, graph, score);
}

/* The same where all columns are categories: the first arguments are those of counts_open. */
EXPORT int live_counts(int d, int m, const uint8_t *codes, const int32_t *weight, const int32_t *levels, double unit,
                       double extra, double sample_size, const uint8_t *allowed, const uint8_t *required,
                       const uint8_t *precede, int max_parents, int detours, const int32_t *order, int insertions,
                       double temperature, int patience, double descent, double work, double tolerance,
                       double most_branches, uint8_t *graph, double *score)
{
    static const double logs[1] = {0}; /* of 0; others are computed */
    memset(graph, 0, (size_t)d * (size_t)d);
    Search *chain = order_search_open(d, NULL, 1.0, 0.0, NULL, allowed, required, precede, max_parents, detours,
                                      (int64_t)most_branches, 0, NULL, NULL, NULL, NULL);
    Selector *counts = counts_open(d, m, codes, weight, levels, 1, logs, unit, extra, sample_size, max_parents);
    Effort effort = {insertions, patience, temperature, descent, work, tolerance};
    return search_near(order_search_use(chain, counts), d, order, effort, 0, graph, score);
}
