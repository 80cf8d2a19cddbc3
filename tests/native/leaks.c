/* Every kernel with every one of its allocations failing in turn, told to stop at its glances at the flag, and to its
   end: each time all memory has to be free again, and a kernel that got none, or was stopped, has to say so. See
   `make sanitize`. */
#include "counted.h"
#undef malloc
#undef calloc
#undef realloc
#undef free
#include "kernels.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

static long live, made, failing = -1, glances, stopping = -1;

void *counted_malloc(size_t size)
{
    if (made++ == failing)
        return NULL;
    void *memory = malloc(size);
    live += memory != NULL;
    return memory;
}

void *counted_calloc(size_t count, size_t size)
{
    void *memory = counted_malloc(count * size);
    return memory ? memset(memory, 0, count * size) : NULL;
}

void *counted_realloc(void *old, size_t size)
{
    if (made++ == failing)
        return NULL;
    void *memory = realloc(old, size);
    live += !old && memory;
    return memory;
}

void counted_free(void *memory)
{
    live -= memory != NULL;
    free(memory);
}

/* Only the glance that is asked for sees the flag set: a kernel has to remember it. */
int32_t counted_glance(const volatile int32_t *flag)
{
    (void)flag;
    return glances++ == stopping;
}

enum { D = 40, MOST_STOPS = 100 };
static double R[D * D], L[D * D], G[D * D], zero[D * D], low[D * D], high[D * D], B[D * D], one[D], left[D];
static int32_t order[D], labels[D], work[4 * D];
static uint8_t support[D * D];

/* Nearly the same column D times, with noise of its own: every selection takes many parents. */
static void prepare(void)
{
    uint32_t state = 1;
    for (int i = 0; i < D; i++) {
        one[i] = 1;
        order[i] = D - 1 - i;
        for (int j = 0; j <= i; j++) {
            state = state * 1664525u + 1013904223u;
            R[i * D + j] = R[j * D + i] = i == j ? 1 : 0.5 * (state >> 8) / (1 << 24) / sqrt(1 + i - j);
            L[i * D + j] = i == j ? 1 : R[i * D + j];
            support[i * D + j] = (state >> 8) % 3 == 0;
        }
    }
    for (int i = 0; i < D * D; i++) {
        G[i] = -R[i];
        low[i] = -INFINITY;
        high[i] = INFINITY;
        B[i] = zero[i] = 0;
    }
}

static int run_elastic_net(const int32_t *stop)
{
    int64_t rounds = elastic_net(D, 0, D, R, one, G, zero, zero, low, high, B, 1e-9, 100, 0, 0, 0, stop);
    return rounds < 0 ? (int)rounds : 0;
}

static int run_select_parents(const int32_t *stop)
{
    return select_parents(D, 0, D, R, 1e6, 1, NULL, NULL, NULL, D, 5, B, left, stop);
}

static int run_polish_order(const int32_t *stop)
{
    return polish_order(D, L, order, one, NULL, D, 100, 1e-9, stop);
}

/* Whether an order holds each node once. */
static int is_whole(const int32_t *nodes)
{
    uint8_t seen[D] = {0};
    for (int i = 0; i < D; i++)
        if (nodes[i] < 0 || nodes[i] >= D || seen[nodes[i]]++)
            return 0;
    return 1;
}

static int64_t search_orders(Search *search, int64_t *start, int32_t *parents, const int32_t *stop)
{
    double score;
    int64_t status = order_search_start(search, order, stop);
    if (status >= 0)
        status = order_search_descend(search, INT64_MAX, 1e-6, stop);
    if (status >= 0)
        status = order_search_kick(search, 3, 5, 1, INT64_MAX, 1e-6, stop);
    for (int k = 0; k < 4 && status >= 0; k++)
        status = order_search_rival(search, order[k], order[k + 1], k & 1, 1000000, 1e-6, &score, stop);
    return status < 0 ? status : order_search_parents(search, 0, D, start, parents, D);
}

static int run_order_search(const int32_t *stop)
{
    static int64_t start[D + 1];
    static int32_t parents[D], best[D];
    Search *search = order_search_open(D, R, 1e3, 5, NULL, NULL, NULL, NULL, D, 1, 500, 1, NULL, NULL, NULL, NULL);
    if (!search)
        return NO_MEMORY;
    int64_t status = search_orders(search, start, parents, stop);
    if (order_search_best(search, best) < INFINITY && !is_whole(best))
        status = -100;
    if (order_search_work(search) < 0)
        status = -101;
    /* What was stopped starts again. */
    if (status == STOPPED && order_search_start(search, order, NULL) != 0)
        status = -102;
    order_search_close(search);
    return status < 0 ? (int)status : 0;
}

static int run_exact(const int32_t *stop)
{
    enum { E = 6, SETS = 1 << (E - 1) };
    static double part[E * E], best[E * SETS], total[2 * SETS], scores[E * E * E], pairs[2 * E * E];
    static const uint32_t labelled[E] = {0, 1, 3, 1, 2, 16};
    static uint32_t graphs[2 * E * E * E], colliders[E * E * E * E];
    for (int i = 0; i < E * E; i++)
        part[i] = R[i / E * D + i % E];
    int status = exact_scores(E, 0, E, part, 1e6, 1, NULL, NULL, NULL, E, best, stop);
    if (status == 0)
        status = exact_orders(E, best, 0, total, stop);
    if (status == 0)
        status = exact_margins(E, 0, E, part, 1e6, 1, NULL, NULL, NULL, E, best, total, total, labelled, INFINITY, 1e-7,
                               pairs, pairs + E * E, scores, graphs, graphs + E * E * E, colliders, stop);
    return status;
}

static int run_count_sets(const int32_t *stop)
{
    enum { E = 4, SETS = 1 << (E - 1), M = 6 };
    static const uint8_t codes[(E + 1) * M] = {0, 1, 0, 1, 2, 2, 1, 1, 0, 0, 1, 0, 0, 0, 1, 1, 0, 1, 1, 0, 1, 0, 0, 1};
    static const int32_t weight[M] = {5, 3, 2, 7, 1, 4}, levels[E] = {3, 2, 2, 2};
    static const uint8_t required[E * E] = {[E + 2] = 1};
    static const double logs[1] = {0};
    static double scores[E * SETS];
    return counts_scores(E, M, codes, weight, levels, 1, logs, 0.5, 0.1, 0, E, 0, E, NULL, required, 5, 1000000, scores,
                         stop);
}

static int run_strong_components(const int32_t *stop)
{
    (void)stop;
    return strong_components(D, support, labels, work);
}

static const struct {
    const char *name;
    int (*run)(const int32_t *stop);
    int allocates;
} KERNELS[] = {
    {"elastic_net", run_elastic_net, 1},   {"select_parents", run_select_parents, 1},
    {"polish_order", run_polish_order, 1}, {"order_search", run_order_search, 1},
    {"exact", run_exact, 1},               {"count_sets", run_count_sets, 1},
    {"strong_components", run_strong_components, 0},
};

static int complain(const char *name, const char *what, int status)
{
    fprintf(stderr, "%s %s: status %d, allocation %ld failing, glance %ld, %ld blocks not freed\n", name, what, status,
            failing, stopping, live);
    return 1;
}

/* One run from the same state. */
static int run(size_t k, const int32_t *stop)
{
    made = glances = 0;
    prepare();
    return KERNELS[k].run(stop);
}

static int check_stops(size_t k)
{
    const int32_t flag = 0;
    int faults = 0;
    run(k, &flag);
    long needed = glances, step = 1 + needed / MOST_STOPS;
    for (stopping = 0; stopping < needed; stopping += step) {
        int status = run(k, &flag);
        if (status != STOPPED || live)
            faults += complain(KERNELS[k].name, "told to stop", status);
    }
    stopping = -1;
    printf("%s: %ld glances, stopped at every %ld.\n", KERNELS[k].name, needed, step);
    return faults + (KERNELS[k].allocates && !needed);
}

int main(void)
{
    int faults = 0;
    for (size_t k = 0; k < sizeof KERNELS / sizeof *KERNELS; k++) {
        const char *name = KERNELS[k].name;
        failing = -1;
        int status = run(k, NULL);
        long needed = made;
        if (status < 0 || live || (needed > 0) != KERNELS[k].allocates)
            faults += complain(name, "to its end", status);
        faults += check_stops(k);
        for (failing = 0; failing < needed; failing++) {
            status = run(k, NULL);
            if (status != NO_MEMORY || live)
                faults += complain(name, "without memory", status);
        }
        printf("%s: %ld allocations, each of them failed once\n", name, needed);
    }
    return faults != 0;
}
