/* Least squares of one node on a growing set of others, read off a correlation matrix. */
#ifndef ACYCLIC_SELECTION_H
#define ACYCLIC_SELECTION_H
#include "kernels.h"
#include <math.h>

/* What a set of parents costs: n log(variance) + c |parents| where `unit` is NULL, and with a common noise variance
   n variance / unit[target] + c |parents|. Variances are shares of the target's own.

   Forward selection takes what explains most as long as that is worth its cost. Where nothing is, it takes up to
   `detours` more in a row, for parents whose effects cancel show themselves only together; of all sets met on the way
   where nothing was worth its cost, shrunk backward, the best counts. */
typedef struct {
    int stride; /* length of the rows of R */
    const double *R;
    double n, c;
    const double *unit;
    int max_parents, detours;
    const int32_t *column; /* which row and column of R are those of a node; NULL: those with its number */
    const double *scale;   /* where R holds covariances: 1 / deviation of each node, 0 for a constant; else NULL */
} Criterion;

static inline double criterion_between(const Criterion *s, int a, int b)
{
    int64_t row = s->column ? s->column[a] : a, column = s->column ? s->column[b] : b;
    if (!s->scale)
        return s->R[row * s->stride + column];
    return a == b ? s->scale[a] > 0 : s->R[row * s->stride + column] * (s->scale[a] * s->scale[b]);
}

/* A candidate with less than this share of its variance left is a linear function of the chosen: a hundred times what
   rounding leaves of an exact one after some hundred subtractions. */
#define DEPENDENT 1e-11
/* The share of its variance at which a target counts as explained: what is left then is rounding, and its logarithm
   must not decide between sets of parents. */
#define EXPLAINED 1e-12
/* Score of so many parents that leave this share of the target's variance; a constant target is explained by none. */
static inline double criterion_score(const Criterion *s, int target, double variance, int parents)
{
    double left = variance > EXPLAINED ? variance : EXPLAINED, own = criterion_between(s, target, target);
    double misfit = own <= 0 ? 0 : s->unit ? s->n * left / s->unit[target] : s->n * log(left);
    return misfit + s->c * parents;
}

/* A detour takes a candidate that is worth at least this share of its cost. */
#define DETOUR_SHARE 0.1

typedef struct {
    Criterion criterion;
    int room, width, capacity, target, count; /* candidates are 0..width-1, width <= room */
    const int32_t *among;                     /* the nodes that the candidates are, or NULL: those with their numbers */
    double worth, dispensable; /* shares of the variance that are worth a parent */
    double variance;     /* of the target given the chosen */
    double *own, *cross; /* variance of each candidate, and its covariance with the target, given the chosen */
    double *Q;           /* capacity * room: row k is what the k-th chosen adds to the factor of R */
    double *explained;   /* square roots of the variance that each of the chosen explained */
    int *chosen;
    int kept_count; /* after shrink: the parents that stay, their slopes and the variance that they leave */
    double kept_variance;
    int *kept;
    double *slope, *precision, *factor, *inverse, *fresh, *gone;
    uint8_t *dropped;
    int inverted; /* rows of the inverse that are there for the chosen */
    Stop stop; /* shrink ends early where it is seen: then nothing that is kept may be used */
} Regression;

int regression_open(Regression *g, const Criterion *criterion, int width);
void regression_close(Regression *g);
/* The node that a candidate is. */
static inline int regression_node(const Regression *g, int candidate)
{
    return g->among ? g->among[candidate] : candidate;
}

void regression_start(Regression *g, int target, const int32_t *among, int width);
int regression_can_add(const Regression *g, int candidate);
int regression_add(Regression *g, int candidate); /* NO_MEMORY or 0 */
double regression_needed(const Regression *g);    /* what a candidate must explain to be worth its cost */
double regression_gain(const Regression *g, int candidate);
void regression_gains(const Regression *g, double *restrict gain); /* of all candidates */
void regression_shrink(Regression *g, int locked); /* drops what is not worth its cost, but for the first `locked` */
double regression_score(const Regression *g);      /* of the kept parents */

#endif
