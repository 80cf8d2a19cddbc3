/* Every kernel with every one of its allocations failing in turn, with a flag that is set, and to its end: each time all
   memory has to be free again, and a kernel that got none has to say so. See `make sanitize`. */
#include "counted.h"
#undef malloc
#undef calloc
#undef realloc
#undef free
#include "kernels.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

static long live, made, failing = -1;

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

enum { D = 40 };
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
    int64_t rounds = elastic_net(D, 0, D, R, one, G, zero, zero, low, high, B, 1e-9, 100, 0, 0, stop);
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

static int run_order_search(const int32_t *stop)
{
    double score;
    Search *search = order_search_open(D, R, 1e6, 1, NULL, NULL, NULL, NULL, D, 1, 100000);
    if (!search)
        return NO_MEMORY;
    int status = order_search_score(search, order, &score, stop);
    if (status == 0)
        status = order_search_sweep(search, order, order, D, 1e-6, stop);
    order_search_close(search);
    return status;
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
    {"exact", run_exact, 1},
    {"strong_components", run_strong_components, 0},
};

static int complain(const char *name, const char *what, int status)
{
    fprintf(stderr, "%s %s: status %d, allocation %ld failing, %ld blocks not freed\n", name, what, status, failing, live);
    return 1;
}

int main(void)
{
    const int32_t set = 1;
    int faults = 0;
    for (size_t k = 0; k < sizeof KERNELS / sizeof *KERNELS; k++) {
        const char *name = KERNELS[k].name;
        failing = -1;
        made = 0;
        prepare();
        int status = KERNELS[k].run(NULL);
        long needed = made;
        if (status < 0 || live || (needed > 0) != KERNELS[k].allocates)
            faults += complain(name, "to its end", status);
        prepare();
        status = KERNELS[k].run(&set);
        if ((KERNELS[k].allocates && status != STOPPED) || live)
            faults += complain(name, "told to stop", status);
        for (failing = 0; failing < needed; failing++) {
            made = 0;
            prepare();
            status = KERNELS[k].run(NULL);
            if (status != NO_MEMORY || live)
                faults += complain(name, "without memory", status);
        }
        printf("%s: %ld allocations, each of them failed once\n", name, needed);
    }
    return faults != 0;
}
