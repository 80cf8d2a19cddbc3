/* What all kernels share, and all that the library exports: acyclic/_native/library.py declares the same. */
#ifndef ACYCLIC_KERNELS_H
#define ACYCLIC_KERNELS_H
#include <stdint.h>
#include <stdlib.h> /* a header of the C library comes before __GLIBC__ is asked for */

/* Versions of a function for several widths of registers, of which the dynamic linker chooses: that takes glibc. The
   choice is made before a sanitizer is ready, so that a build with one has the plain version only. */
#if defined(__GNUC__) && !defined(__clang__) && defined(__x86_64__) && defined(__GLIBC__) && \
    !defined(__SANITIZE_ADDRESS__)
#define WIDE __attribute__((target_clones("avx512f", "avx2", "default")))
#else
#define WIDE
#endif

#ifdef _WIN32
#define EXPORT __declspec(dllexport)
#else
#define EXPORT __attribute__((visibility("default")))
#endif

/* What a kernel returns instead of a count. */
enum { NO_MEMORY = -1, STOPPED = -2 };

/* A kernel that may run for long reads a flag at least once in about a million operations, and ends with STOPPED soon
   after another thread has set it: memory is freed, and arguments are as the kernel's comment says. NULL where nobody
   will ever ask. What was seen once counts to the end of the call, also where the flag is reset meanwhile. */
typedef struct {
    const volatile int32_t *flag;
    int seen;
} Stop;

#ifndef GLANCE /* how a flag is read; tests count the glances */
#define GLANCE(flag) (*(flag))
#endif

static inline int stopped(Stop *stop)
{
    return stop->seen || (stop->flag && (stop->seen = GLANCE(stop->flag) != 0));
}

typedef struct Search Search;
typedef struct Selector Selector;

EXPORT const char *kernels_digest(void);

EXPORT int strong_components(int d, const uint8_t *support, int32_t *labels, int32_t *work);

EXPORT void hash_values(int64_t d, int64_t n, const double *columns, uint64_t *h);

EXPORT int64_t elastic_net(int d, int first, int last, const double *Q, const double *c, const double *G,
                           const double *L1, const double *ridge, const double *lower, const double *upper, double *B,
                           double tolerance, int max_rounds, int shared, int loops, int around,
                           const volatile int32_t *stop);

EXPORT int select_parents(int d, int first, int last, const double *R, double n, double c, const double *unit,
                          const uint8_t *allowed, const uint8_t *required, int max_parents, int detours,
                          double *slopes, double *variance, const volatile int32_t *stop);

EXPORT int polish_order(int d, double *L, int32_t *order, const double *weight, const uint8_t *precede, int reach,
                        int max_sweeps, double tolerance, const volatile int32_t *stop);

EXPORT Search *order_search_open(int d, const double *R, double n, double c, const double *unit,
                                 const uint8_t *allowed, const uint8_t *required, const uint8_t *precede,
                                 int max_parents, int detours, int64_t most_branches, uint64_t seed,
                                 const int32_t *column, const double *scale, const int64_t *first_candidate,
                                 const int32_t *candidates);
EXPORT Search *order_search_use(Search *s, Selector *selector);
EXPORT void order_search_parts(const Search *s, int32_t *levels, double *parts);
EXPORT Selector *blocks_open(int d, const int32_t *at, const int32_t *level_at, const int32_t *levels,
                             const int32_t *responses, const int32_t *bent, const int32_t *shaped, const double *G,
                             const double *prices, double n, double cost, int64_t n_rows, const double *rows,
                             double shape_price, int max_parents);
EXPORT Selector *counts_open(int d, int m, const uint8_t *codes, const int32_t *weight, const int32_t *levels,
                             int64_t n_logs, const double *logs, double unit, double extra, double sample_size,
                             int max_parents);
EXPORT void order_search_close(Search *s);
EXPORT int order_search_start(Search *s, const int32_t *order, const volatile int32_t *stop);
EXPORT int64_t order_search_descend(Search *s, int64_t work, double tolerance, const volatile int32_t *stop);
EXPORT int64_t order_search_kick(Search *s, int insertions, double temperature, int64_t patience, int64_t work,
                                 double tolerance, const volatile int32_t *stop);
EXPORT int order_search_rival(Search *s, int u, int v, int turned, int64_t work, double tolerance, double *score,
                              const volatile int32_t *stop);
EXPORT double order_search_best(const Search *s, int32_t *order);
EXPORT int64_t order_search_work(const Search *s);
EXPORT int64_t order_search_parents(Search *s, int first, int last, int64_t *start, int32_t *parents,
                                    int64_t room);
EXPORT void order_search_scores(const Search *s, double *score, int32_t *size);
EXPORT int order_search_grow(Search *s, const double *variance, double rounding, int32_t *order,
                             const volatile int32_t *stop);
EXPORT int order_search_widen(Search *s, const int64_t *first_candidate, const int32_t *candidates,
                              const uint8_t *changed);
EXPORT int order_search_missed(const Search *s, int first, int last, int room, int32_t *found,
                               const volatile int32_t *stop);

EXPORT int screen_candidates(int d, int first, int last, const double *S, const double *scale, double n, double c,
                             int max_parents, int detours, int width, int room, int32_t *found, int32_t *chosen,
                             const volatile int32_t *stop);

/* The most nodes that the exact search takes: its tables then have 24 * 2^23 entries, 1.6 GB. */
#define EXACT_NODES 24

EXPORT int exact_scores(int d, int first, int last, const double *R, double n, double c, const double *unit,
                        const uint8_t *allowed, const uint8_t *required, int max_parents, double *best,
                        const volatile int32_t *stop);
EXPORT int exact_orders(int d, const double *best, int rest, double *total, const volatile int32_t *stop);
EXPORT void exact_graph(int d, const double *best, const double *before, double tolerance, uint32_t *parents);
EXPORT int exact_margins(int d, int first, int last, const double *R, double n, double c, const double *unit,
                         const uint8_t *allowed, const uint8_t *required, int max_parents, const double *best,
                         const double *before, const double *after, const uint32_t *parents, double limit,
                         double tolerance, double *with, double *apart, double *colliders, uint32_t *with_graphs,
                         uint32_t *apart_graphs, uint32_t *collider_graphs, const volatile int32_t *stop);

EXPORT int exact_margins_of(int d, int first, int last, const double *scores, const double *best, const double *before,
                            const double *after, const uint32_t *parents, double limit, double tolerance, double *with,
                            double *apart, double *colliders, uint32_t *with_graphs, uint32_t *apart_graphs,
                            uint32_t *collider_graphs, const volatile int32_t *stop);
EXPORT int counts_scores(int d, int m, const uint8_t *codes, const int32_t *weight, const int32_t *levels,
                         int64_t n_logs, const double *logs, double unit, double extra, double sample_size,
                         int max_parents, int first, int last, const uint8_t *allowed, const uint8_t *required,
                         double slack, int64_t most_work, double *scores, const volatile int32_t *stop);

#endif
