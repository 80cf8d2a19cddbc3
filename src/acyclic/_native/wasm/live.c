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
    int64_t *start = malloc(sizeof(int64_t) * (size_t)(d + 1)), kicks = NO_MEMORY;
    int32_t *found = malloc(sizeof(int32_t) * (size_t)d * (size_t)(d + 1));
    if (chain && start && found && order_search_start(chain, order, NULL) == 0 &&
        order_search_descend(chain, (int64_t)descent, tolerance, NULL) >= 0) {
        int64_t until = order_search_work(chain) + (int64_t)work;
        kicks = order_search_kick(chain, insertions, temperature, patience, until, tolerance, NULL);
    }
    if (kicks >= 0) {
        *score = order_search_best(chain, found);
        if (order_search_start(chain, found, NULL) < 0 ||
            order_search_parents(chain, 0, d, start, found, (int64_t)d * d) < 0)
            kicks = NO_MEMORY;
        for (int j = 0; j < d && kicks >= 0; j++)
            for (int64_t k = start[j]; k < start[j + 1]; k++)
                graph[(int64_t)found[k] * d + j] = 1;
    }
    order_search_close(chain);
    free(start);
    free(found);
    return (int)kicks;
}
