/* Forward-backward choice of parents among the predecessors of each node.

   Forward is orthogonal matching pursuit on the correlation matrix: for every candidate its variance and its covariance
   with the target, given the chosen, are kept up to date, so that a new parent costs O(candidates * parents). */
#include "selection.h"
#include <string.h>

static inline void subtract(int m, double t, const double *restrict x, double *restrict y)
{
    for (int i = 0; i < m; i++)
        y[i] -= t * x[i];
}

static inline void condition(int m, double scale, double slope, double *restrict x, double *restrict own,
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
    double *explained = realloc(g->explained, sizeof(double) * k);
    if (explained)
        g->explained = explained;
    double *work = realloc(g->slope, sizeof(double) * (3 * k + 4 * k * k));
    if (work)
        g->slope = work;
    int *chosen = realloc(g->chosen, sizeof(int) * 2 * k);
    if (chosen)
        g->chosen = chosen;
    uint8_t *dropped = realloc(g->dropped, k);
    if (dropped)
        g->dropped = dropped;
    if (!Q || !explained || !work || !chosen || !dropped)
        return NO_MEMORY;
    g->precision = g->slope + k;
    g->factor = g->precision + k;
    g->inverse = g->factor + k * (k + 1);
    g->fresh = g->inverse + k * k;
    g->gone = g->fresh + k * k;
    g->inverted = 0;
    g->kept = g->chosen + k;
    g->capacity = capacity;
    return 0;
}

int regression_open(Regression *g, const Criterion *criterion, int width)
{
    memset(g, 0, sizeof *g);
    g->criterion = *criterion;
    g->worth = -expm1(-criterion->c / criterion->n);
    g->dispensable = expm1(criterion->c / criterion->n);
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
    free(g->explained);
    free(g->slope);
    free(g->chosen);
    free(g->dropped);
}

/* Correlations of a node with all candidates. */
static void read_row(const Regression *g, int node, double *restrict x)
{
    const Criterion *s = &g->criterion;
    const double *row = s->R + (int64_t)(s->column ? s->column[node] : node) * s->stride;
    if (!g->among && !s->column && !s->scale) {
        memcpy(x, row, sizeof(double) * (size_t)g->width);
        return;
    }
    for (int i = 0; i < g->width; i++) {
        int other = regression_node(g, i);
        x[i] = row[s->column ? s->column[other] : other];
        if (s->scale)
            x[i] *= s->scale[node] * s->scale[other];
    }
}

void regression_start(Regression *g, int target, const int32_t *among, int width)
{
    const Criterion *s = &g->criterion;
    g->target = target;
    g->among = among;
    g->width = width;
    g->count = g->inverted = 0;
    g->variance = criterion_between(s, target, target);
    read_row(g, target, g->cross);
    for (int i = 0; i < width; i++) {
        int node = regression_node(g, i);
        g->own[i] = criterion_between(s, node, node);
    }
    if (!among && target < width)
        g->own[target] = 0;
}

int regression_can_add(const Regression *g, int candidate)
{
    return g->own[candidate] > DEPENDENT;
}

/* Row x of the factor for a new parent a, and what is left of every candidate given it. */
WIDE static void condition_on(Regression *g, int a, double *restrict x)
{
    double deviation = sqrt(g->own[a]), slope = g->cross[a] / deviation;
    for (int q = 0; q < g->count; q++) {
        const double *row = g->Q + (size_t)q * (size_t)g->room;
        subtract(g->width, row[a], row, x);
    }
    condition(g->width, 1 / deviation, slope, x, g->own, g->cross);
    g->explained[g->count] = slope;
    g->variance -= slope * slope;
}

int regression_add(Regression *g, int a)
{
    if (g->count == g->capacity && reserve(g, 2 * g->capacity) < 0)
        return NO_MEMORY;
    double *x = g->Q + (size_t)g->count * (size_t)g->room;
    read_row(g, regression_node(g, a), x);
    condition_on(g, a, x);
    g->own[a] = 0;
    g->chosen[g->count++] = a;
    return 0;
}

double regression_needed(const Regression *g)
{
    const Criterion *s = &g->criterion;
    if (g->count >= s->max_parents || g->variance <= EXPLAINED)
        return INFINITY;
    return s->unit ? s->c * s->unit[g->target] / s->n : g->variance * g->worth;
}

double regression_gain(const Regression *g, int i)
{
    return regression_can_add(g, i) ? g->cross[i] * g->cross[i] / g->own[i] : 0;
}

static inline void accumulate(int m, double z, const double *restrict x, double *restrict slope,
                              double *restrict precision)
{
    for (int i = 0; i < m; i++) {
        slope[i] += x[i] * z;
        precision[i] += x[i] * x[i];
    }
}

static inline void release(int m, double slope, const double *restrict x, double *restrict slopes,
                           double *restrict precision)
{
    for (int i = 0; i < m; i++) {
        slopes[i] -= slope * x[i];
        precision[i] -= x[i] * x[i];
    }
}

WIDE void regression_gains(const Regression *g, double *restrict gain)
{
    const double *own = g->own, *cross = g->cross;
    for (int i = 0; i < g->width; i++)
        gain[i] = own[i] > DEPENDENT ? cross[i] * cross[i] / own[i] : 0;
}

/* The factor U of R over the kept, R = U'U by rows of length `room`, its right side z in the column behind it, and the
   variance that they leave. */
WIDE static void factorise(Regression *g)
{
    const Criterion *s = &g->criterion;
    int m = g->kept_count, width = m + 1;
    double *U = g->factor;
    g->kept_variance = criterion_between(s, g->target, g->target);
    for (int q = 0; q < m && !stopped(&g->stop); q++) {
        int node = regression_node(g, g->kept[q]);
        double *x = U + q * width;
        for (int k = q; k < m; k++)
            x[k] = criterion_between(s, node, regression_node(g, g->kept[k]));
        x[m] = criterion_between(s, g->target, node);
        for (int p = 0; p < q; p++)
            subtract(width - q, U[p * width + q], U + p * width + q, x + q);
        double scale = 1 / sqrt(x[q]);
        for (int k = q; k <= m; k++)
            x[k] *= scale;
        g->kept_variance -= x[m] * x[m];
    }
}

/* The inverse M of U', by rows of length `room`, lower triangular or whole, and z = M r for the correlations r of the
   target, the k-th at z[k * stride]. Once reflected M is whole, with fewer rows than columns: those of the dropped are 0. */
typedef struct {
    const double *M;
    size_t room;
    const double *z;
    size_t stride;
    int rows, whole;
} Dual;

/* Row i of the inverse M of U', from the rows before it; U is read by `column`: U[k][i] = column[k * stride]. */
static inline void invert_row(int i, const double *column, size_t stride, double *M, size_t room)
{
    double *x = M + (size_t)i * room, scale = 1 / column[(size_t)i * stride];
    memset(x, 0, sizeof(double) * (size_t)i);
    x[i] = 1;
    for (int k = 0; k < i; k++)
        subtract(k + 1, column[(size_t)k * stride], M + (size_t)k * room, x);
    for (int k = 0; k <= i; k++)
        x[k] *= scale;
}

/* M of all that were chosen, whose factor forward selection has computed already: only the rows of the new ones. */
WIDE static void extend_inverse(Regression *g)
{
    for (; g->inverted < g->count; g->inverted++)
        invert_row(g->inverted, g->Q + g->chosen[g->inverted], (size_t)g->room, g->inverse, (size_t)g->capacity);
}

/* M of the kept from their factor. */
WIDE static void invert(Regression *g)
{
    size_t m = (size_t)g->kept_count;
    for (int i = 0; i < g->kept_count; i++)
        invert_row(i, g->factor + i, m + 1, g->fresh, m);
}

/* Slopes of the kept, and the diagonal of their precision matrix: M'z and that of M'M. */
WIDE static void weigh(Regression *g, const Dual *dual)
{
    int m = g->kept_count;
    memset(g->slope, 0, sizeof(double) * (size_t)m);
    memset(g->precision, 0, sizeof(double) * (size_t)m);
    for (int k = 0; k < dual->rows; k++)
        accumulate(dual->whole ? m : k + 1, dual->z[(size_t)k * dual->stride], dual->M + (size_t)k * dual->room,
                   g->slope, g->precision);
}

/* What has become of one of the kept. */
enum { KEPT, DROPPED, TAKEN_OUT };

static int weakest(const Regression *g, int m, int locked, double *loss)
{
    int found = -1;
    *loss = INFINITY;
    for (int i = locked; i < m; i++) {
        double lost = g->dropped[i] ? INFINITY : g->slope[i] * g->slope[i] / g->precision[i];
        if (lost < *loss) {
            *loss = lost;
            found = i;
        }
    }
    return found;
}

/* Take the i-th of the kept out of slopes and precision: of the precision matrix M'M only the columns of the dropped are
   ever needed, scaled; `gone` of them are there. */
WIDE static void drop(Regression *g, const Dual *dual, int i, int gone)
{
    int m = g->kept_count;
    double *x = g->gone + (size_t)gone * (size_t)m;
    memset(x, 0, sizeof(double) * (size_t)m);
    for (int k = dual->whole ? 0 : i; k < dual->rows; k++) {
        const double *row = dual->M + (size_t)k * dual->room;
        subtract(dual->whole ? m : k + 1, -row[i], row, x);
    }
    for (int t = 0; t < gone; t++)
        subtract(m, g->gone[t * m + i], g->gone + t * m, x);
    double scale = 1 / sqrt(g->precision[i]), slope = g->slope[i] * scale;
    for (int k = 0; k < m; k++)
        x[k] *= scale;
    release(m, slope, x, g->slope, g->precision);
    g->dropped[i] = DROPPED;
}

static void keep_undropped(Regression *g)
{
    int m = 0;
    for (int i = 0; i < g->kept_count; i++)
        if (!g->dropped[i]) {
            g->slope[m] = g->slope[i];
            g->kept[m++] = g->kept[i];
        }
    g->kept_count = m;
}

/* A precision p beyond the first is of nearly collinear parents: what is left after one of them is dropped from slopes
   and precisions has lost p^1.5 eps of its digits, so that they are found again from M. That loses p eps by reflections,
   and beyond the second limit M is computed afresh. */
static const double FRAGILE = 1e6, HOPELESS = 1e9;

/* Drop the weakest of the kept as long as that pays and precision allows. Returns the precision of the one after which
   the rest has to be found again, or 0. */
static double drop_weakest(Regression *g, const Dual *dual, int locked)
{
    const Criterion *s = &g->criterion;
    int m = g->kept_count;
    for (int gone = 0;; gone++) {
        double loss, left = g->kept_variance > EXPLAINED ? g->kept_variance : EXPLAINED;
        int i = weakest(g, m, locked, &loss);
        if (i < 0 || loss > (s->unit ? s->c * s->unit[g->target] / s->n : left * g->dispensable))
            return 0;
        double precision = g->precision[i];
        g->kept_variance += loss;
        drop(g, dual, i, gone);
        if (precision > FRAGILE)
            return precision;
    }
}

/* Reflect the rows of M and z, of which there are `rows`, so that all but the last have 0 in a column. */
WIDE static void reflect(double *M, double *z, double *w, int rows, int width, int column)
{
    double square = 0, along = 0, last = M[(size_t)(rows - 1) * (size_t)width + (size_t)column];
    for (int k = 0; k < rows; k++)
        square += M[(size_t)k * (size_t)width + (size_t)column] * M[(size_t)k * (size_t)width + (size_t)column];
    double pivot = last + (last < 0 ? -sqrt(square) : sqrt(square)), scale = 1 / (sqrt(square) * fabs(pivot));
    memset(w, 0, sizeof(double) * (size_t)width);
    for (int k = 0; k < rows; k++) {
        const double *row = M + (size_t)k * (size_t)width;
        double u = k == rows - 1 ? pivot : row[column];
        along += u * z[k];
        if (u != 0)
            subtract(width, -u, row, w);
    }
    for (int k = 0; k < rows - 1; k++) {
        double *row = M + (size_t)k * (size_t)width, u = row[column] * scale;
        z[k] -= u * along;
        if (u != 0)
            subtract(width, u, w, row);
    }
}

/* M and z without what was dropped since the last time: the rows in which it has no part span the rest. */
static void take_out(Regression *g, Dual *dual)
{
    int m = g->kept_count;
    size_t width = (size_t)m;
    double *M = g->fresh, *z = g->factor;
    for (int k = 0; k < dual->rows && !dual->whole; k++) { /* M may lie there already, by rows of the same length */
        memmove(M + (size_t)k * width, dual->M + (size_t)k * dual->room, sizeof(double) * ((size_t)k + 1));
        memset(M + (size_t)k * width + k + 1, 0, sizeof(double) * (width - (size_t)k - 1));
        z[k] = dual->z[(size_t)k * dual->stride];
    }
    for (int i = 0; i < m; i++)
        if (g->dropped[i] == DROPPED) {
            reflect(M, z, g->gone, dual->rows--, m, i);
            g->dropped[i] = TAKEN_OUT;
        }
    *dual = (Dual){M, width, z, 1, dual->rows, 1};
}

/* M and z of the rest from their correlations. */
static void begin_afresh(Regression *g, Dual *dual)
{
    keep_undropped(g);
    size_t m = (size_t)g->kept_count;
    memset(g->dropped, KEPT, m);
    factorise(g);
    invert(g);
    *dual = (Dual){g->fresh, m, g->factor + m, m + 1, g->kept_count, 0};
}

void regression_shrink(Regression *g, int locked)
{
    Dual dual = {g->inverse, (size_t)g->capacity, g->explained, 1, g->count, 0};
    double precision;
    g->kept_count = g->count;
    g->kept_variance = g->variance;
    memcpy(g->kept, g->chosen, sizeof(int) * (size_t)g->count);
    memset(g->dropped, KEPT, (size_t)g->count);
    extend_inverse(g);
    weigh(g, &dual);
    while ((precision = drop_weakest(g, &dual, locked)) > 0 && !stopped(&g->stop)) {
        if (precision > HOPELESS)
            begin_afresh(g, &dual);
        else
            take_out(g, &dual);
        weigh(g, &dual);
    }
    keep_undropped(g);
}

/* Slopes of the kept, by substitution in the factor. */
static void solve(Regression *g)
{
    int m = g->kept_count, width = m + 1;
    for (int i = m - 1; i >= 0; i--) {
        double t = g->factor[i * width + m];
        for (int k = i + 1; k < m; k++)
            t -= g->factor[i * width + k] * g->slope[k];
        g->slope[i] = t / g->factor[i * width + i];
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

static void record(Regression *g, int d, double *slopes, double *variance)
{
    factorise(g);
    if (stopped(&g->stop)) /* the factor is not whole */
        return;
    solve(g);
    memset(slopes, 0, sizeof(double) * (size_t)d);
    for (int k = 0; k < g->kept_count; k++)
        slopes[g->kept[k]] = g->slope[k];
    *variance = g->kept_variance > 0 ? g->kept_variance : 0;
}

static int choose(Regression *g, int target, const uint8_t *allowed, const uint8_t *required, double *slopes,
                  double *variance)
{
    regression_start(g, target, NULL, target);
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
                if (stopped(&g->stop))
                    return STOPPED;
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
    Criterion criterion = {d, R, n, c, unit, max_parents, detours, NULL, NULL};
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
