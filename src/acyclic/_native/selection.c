/* Forward-backward choice of parents among the predecessors of each node.

   Forward is orthogonal matching pursuit on the correlation matrix: for every candidate its variance and its covariance
   with the target, given the chosen, are kept up to date, so that a new parent costs O(candidates * parents). */
#include "selection.h"
#include <string.h>

WIDE static void subtract(int m, double t, const double *restrict x, double *restrict y)
{
    for (int i = 0; i < m; i++)
        y[i] -= t * x[i];
}

WIDE static void condition(int m, double scale, double slope, double *restrict x, double *restrict own,
                           double *restrict cross)
{
    for (int i = 0; i < m; i++) {
        x[i] *= scale;
        own[i] -= x[i] * x[i];
        cross[i] -= slope * x[i];
    }
}

static int reserve(Regression *g, int capacity)
{
    size_t k = (size_t)capacity;
    double *Q = realloc(g->Q, sizeof(double) * k * (size_t)g->room);
    if (Q)
        g->Q = Q;
    double *work = realloc(g->slope, sizeof(double) * (k + 2 * k * k));
    if (work)
        g->slope = work;
    int *chosen = realloc(g->chosen, sizeof(int) * 2 * k);
    if (chosen)
        g->chosen = chosen;
    if (!Q || !work || !chosen)
        return NO_MEMORY;
    g->factor = g->slope + k;
    g->inverse = g->factor + k * k;
    g->kept = g->chosen + k;
    g->capacity = capacity;
    return 0;
}

int regression_open(Regression *g, const Criterion *criterion, int width)
{
    memset(g, 0, sizeof *g);
    g->criterion = *criterion;
    g->room = width > 0 ? width : 1;
    g->own = malloc(sizeof(double) * 2 * (size_t)g->room);
    if (!g->own)
        return NO_MEMORY;
    g->cross = g->own + g->room;
    return reserve(g, 8);
}

void regression_close(Regression *g)
{
    free(g->own);
    free(g->Q);
    free(g->slope);
    free(g->chosen);
}

void regression_start(Regression *g, int target, int width)
{
    const Criterion *s = &g->criterion;
    g->target = target;
    g->width = width;
    g->count = 0;
    g->variance = s->R[(int64_t)target * s->stride + target];
    memcpy(g->cross, s->R + (int64_t)target * s->stride, sizeof(double) * (size_t)width);
    for (int i = 0; i < width; i++)
        g->own[i] = s->R[(int64_t)i * s->stride + i];
    if (target < width)
        g->own[target] = 0;
}

int regression_can_add(const Regression *g, int candidate)
{
    return g->own[candidate] > DEPENDENT;
}

int regression_add(Regression *g, int a)
{
    const Criterion *s = &g->criterion;
    if (g->count == g->capacity && reserve(g, 2 * g->capacity) < 0)
        return NO_MEMORY;
    double *x = g->Q + (size_t)g->count * (size_t)g->room;
    double deviation = sqrt(g->own[a]), slope = g->cross[a] / deviation;
    memcpy(x, s->R + (int64_t)a * s->stride, sizeof(double) * (size_t)g->width);
    for (int q = 0; q < g->count; q++) {
        const double *row = g->Q + (size_t)q * (size_t)g->room;
        subtract(g->width, row[a], row, x);
    }
    condition(g->width, 1 / deviation, slope, x, g->own, g->cross);
    g->own[a] = 0;
    g->chosen[g->count++] = a;
    g->variance -= slope * slope;
    return 0;
}

double regression_needed(const Regression *g)
{
    const Criterion *s = &g->criterion;
    if (g->count >= s->max_parents || g->variance <= EXPLAINED)
        return INFINITY;
    return s->unit ? s->c * s->unit[g->target] / s->n : -g->variance * expm1(-s->c / s->n);
}

double regression_gain(const Regression *g, int i)
{
    return regression_can_add(g, i) ? g->cross[i] * g->cross[i] / g->own[i] : 0;
}

/* Cholesky factor of R over the kept, its inverse, and from them slopes and the variance that is left. */
static void solve(Regression *g)
{
    const Criterion *s = &g->criterion;
    const double *target = s->R + (int64_t)g->target * s->stride;
    int m = g->kept_count;
    double *L = g->factor, *M = g->inverse;
    g->kept_variance = target[g->target];
    memset(g->slope, 0, sizeof(double) * (size_t)m);
    for (int i = 0; i < m && !stopped(&g->stop); i++) {
        const double *row = s->R + (int64_t)g->kept[i] * s->stride;
        for (int j = 0; j <= i; j++) {
            double t = row[g->kept[j]];
            for (int k = 0; k < j; k++)
                t -= L[i * m + k] * L[j * m + k];
            L[i * m + j] = i == j ? sqrt(t) : t / L[j * m + j];
        }
        double scale = 1 / L[i * m + i], z = 0;
        for (int j = 0; j < i; j++) {
            double t = 0;
            for (int k = j; k < i; k++)
                t -= L[i * m + k] * M[k * m + j];
            M[i * m + j] = t * scale;
        }
        M[i * m + i] = scale;
        for (int j = 0; j <= i; j++)
            z += M[i * m + j] * target[g->kept[j]];
        for (int j = 0; j <= i; j++)
            g->slope[j] += M[i * m + j] * z;
        g->kept_variance -= z * z;
    }
}

static int weakest(const Regression *g, int locked, double *loss)
{
    int m = g->kept_count, found = -1;
    *loss = INFINITY;
    for (int i = locked; i < m; i++) {
        double precision = 0;
        for (int k = i; k < m; k++)
            precision += g->inverse[k * m + i] * g->inverse[k * m + i];
        double lost = g->slope[i] * g->slope[i] / precision;
        if (lost < *loss) {
            *loss = lost;
            found = i;
        }
    }
    return found;
}

void regression_shrink(Regression *g, int locked)
{
    const Criterion *s = &g->criterion;
    g->kept_count = g->count;
    memcpy(g->kept, g->chosen, sizeof(int) * (size_t)g->count);
    for (;;) {
        double loss;
        solve(g);
        if (stopped(&g->stop))
            return;
        int i = weakest(g, locked, &loss);
        double left = g->kept_variance > EXPLAINED ? g->kept_variance : EXPLAINED;
        double limit = s->unit ? s->c * s->unit[g->target] / s->n : left * expm1(s->c / s->n);
        if (i < 0 || loss > limit)
            return;
        g->kept_count--;
        memmove(g->kept + i, g->kept + i + 1, sizeof(int) * (size_t)(g->kept_count - i));
    }
}

double regression_score(const Regression *g)
{
    return criterion_score(&g->criterion, g->target, g->kept_variance, g->kept_count);
}

static int most_explaining(const Regression *g, const uint8_t *allowed, double *most)
{
    int best = -1;
    *most = 0;
    for (int i = 0; i < g->width; i++) {
        double gain = allowed && !allowed[i] ? 0 : regression_gain(g, i);
        if (gain > *most) {
            *most = gain;
            best = i;
        }
    }
    return best;
}

static void record(const Regression *g, int d, double *slopes, double *variance)
{
    memset(slopes, 0, sizeof(double) * (size_t)d);
    for (int k = 0; k < g->kept_count; k++)
        slopes[g->kept[k]] = g->slope[k];
    *variance = g->kept_variance > 0 ? g->kept_variance : 0;
}

static int choose(Regression *g, int target, const uint8_t *allowed, const uint8_t *required, double *slopes,
                  double *variance)
{
    regression_start(g, target, target);
    for (int i = 0; required && i < target; i++)
        if (required[i] && regression_can_add(g, i) && regression_add(g, i) < 0)
            return NO_MEMORY;
    double lowest = INFINITY;
    for (int locked = g->count, detours = 0;;) {
        double gain, needed = regression_needed(g);
        int best = most_explaining(g, allowed, &gain);
        if (best >= 0 && gain > needed) {
            detours = 0;
        } else {
            regression_shrink(g, locked);
            if (stopped(&g->stop))
                return STOPPED;
            if (regression_score(g) < lowest) {
                lowest = regression_score(g);
                record(g, g->criterion.stride, slopes, variance);
            }
            if (best < 0 || detours++ == g->criterion.detours || !(gain > DETOUR_SHARE * needed))
                return 0;
        }
        if (regression_add(g, best) < 0)
            return NO_MEMORY;
        if (stopped(&g->stop))
            return STOPPED;
    }
}

/* Parents of the nodes first..last-1 among those before them: R (d*d) has its rows in the order of the nodes. allowed
   and required (d*d, row = target) may be NULL. Fills these rows of slopes (d*d) and these entries of variance. Returns
   0, NO_MEMORY or STOPPED; then a row is done, is that of a smaller set of parents, or is as it was. */
int select_parents(int d, int first, int last, const double *R, double n, double c, const double *unit,
                   const uint8_t *allowed, const uint8_t *required, int max_parents, int detours, double *slopes,
                   double *variance, const volatile int32_t *stop)
{
    Criterion criterion = {d, R, n, c, unit, max_parents, detours};
    Regression g;
    int status = regression_open(&g, &criterion, d);
    g.stop.flag = stop;
    for (int j = first; j < last && status == 0; j++) {
        int64_t at = (int64_t)j * d;
        const uint8_t *may = allowed ? allowed + at : NULL, *must = required ? required + at : NULL;
        status = choose(&g, j, may, must, slopes + at, variance + j);
    }
    regression_close(&g);
    return status;
}
