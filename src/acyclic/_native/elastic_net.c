/* Weighted elastic nets that share one quadratic form: the step of the proximal Newton method, a column at a time.

   For column j, over the box lower <= b <= upper:

       min_b  c/2 b'Qb + g'b + sum_i l1[i] |b_i| + sum_i ridge[i] b_i^2

   Coordinate descent finds which entries are non-zero; a direct solve on those (Cholesky, moved along until an entry
   reaches zero or a bound) then ends what coordinate descent would do slowly on an ill-conditioned Q. Both only ever
   descend. Matrices hold columns of the problem as rows (transposed), so that each problem is contiguous. */
#include "kernels.h"
#include <float.h>
#include <math.h>
#include <string.h>

/* A pivot that keeps less than this share of its entry of the diagonal is rounding: about 450 machine epsilons, what
   the elimination of some hundred rows leaves of an exact zero. Coordinate descent goes on alone then. */
static const double SINGULAR = 1e-13;

WIDE static void add_scaled(int d, double t, const double *restrict x, double *restrict y)
{
    for (int i = 0; i < d; i++)
        y[i] += t * x[i];
}

/* In eight partial sums, whose order is the same whatever the width of the processor's registers. */
enum { LANES = 8 };

WIDE static double dot(int n, const double *restrict x, const double *restrict y)
{
    double sums[LANES] = {0}, total = 0;
    int k = 0;
    for (; k + LANES <= n; k += LANES)
        for (int lane = 0; lane < LANES; lane++)
            sums[lane] += x[k + lane] * y[k + lane];
    for (int lane = 0; lane < LANES; lane++)
        total += sums[lane];
    for (; k < n; k++)
        total += x[k] * y[k];
    return total;
}

typedef struct {
    int d;
    const double *Q;
    double c;
    const double *l1, *ridge, *lower, *upper;
    double *b;    /* the solution, updated in place */
    double *q;    /* gradient of the smooth part without the ridge: c Q b + g */
    int *active;  /* indices of entries that are not zero */
    int *free;    /* those of them that are not held by a bound */
    double *gram; /* d*d work */
    double *fall; /* d work: minus the gradient at the free entries */
    double *step; /* d work */
    double *old;  /* d work */
    Stop stop;
} Problem;

static double minimiser(const Problem *p, int i)
{
    double curvature = p->c * p->Q[(int64_t)i * p->d + i];
    double total = curvature + 2 * p->ridge[i];
    double z = curvature * p->b[i] - p->q[i];
    double shrunk = z > p->l1[i] ? z - p->l1[i] : z < -p->l1[i] ? z + p->l1[i] : 0.0;
    double value = total > 0 ? shrunk / total : 0.0;
    return value < p->lower[i] ? p->lower[i] : value > p->upper[i] ? p->upper[i] : value;
}

/* One pass of coordinate descent over `count` indices (all of them where list is NULL); largest scaled change. */
static double sweep(Problem *p, const int *list, int count)
{
    double largest = 0;
    for (int t = 0; t < count; t++) {
        int i = list ? list[t] : t;
        if (p->lower[i] == 0 && p->upper[i] == 0)
            continue;
        double change = minimiser(p, i) - p->b[i];
        if (change == 0)
            continue;
        p->b[i] += change;
        add_scaled(p->d, p->c * change, p->Q + (int64_t)i * p->d, p->q);
        double size = fabs(change) * sqrt(p->c * p->Q[(int64_t)i * p->d + i] + 2 * p->ridge[i]);
        if (size > largest)
            largest = size;
        if (stopped(&p->stop))
            break;
    }
    return largest;
}

static int nonzeros(const Problem *p, int *list)
{
    int count = 0;
    for (int i = 0; i < p->d; i++)
        if (p->b[i] != 0)
            list[count++] = i;
    return count;
}

/* Upper Cholesky factor U of A = U'U (m*m, row-major, upper part given), in place, four rows at a time; 0 where A is
   not positive definite, or where it is told to stop. `size` has the diagonal of A. */
WIDE static int cholesky(int m, double *restrict A, const double *restrict size, Stop *stop)
{
    enum { PANEL = 4 };
    for (int first = 0; first < m; first += PANEL) {
        if (stopped(stop))
            return 0;
        int last = first + PANEL < m ? first + PANEL : m;
        for (int k = first; k < last; k++) {
            double *row = A + (int64_t)k * m;
            for (int j = first; j < k; j++) {
                const double *above = A + (int64_t)j * m;
                for (int t = k; t < m; t++)
                    row[t] -= above[k] * above[t];
            }
            if (!(row[k] > SINGULAR * size[k]))
                return 0;
            double scale = 1 / sqrt(row[k]);
            for (int t = k; t < m; t++)
                row[t] *= scale;
        }
        /* A panel that is not full is the last: no row is left below it. */
        const double *p = A + (int64_t)first * m, *q = p + m, *r = q + m, *s = r + m;
        for (int i = last; i < m; i++) {
            double *row = A + (int64_t)i * m;
            double a = p[i], b = q[i], c = r[i], d = s[i];
            for (int t = i; t < m; t++)
                row[t] -= (a * p[t] + b * q[t]) + (c * r[t] + d * s[t]);
        }
    }
    return 1;
}

/* x := inv(U'U) x, for a factor with rows `stride` apart. */
static void solve(int m, int stride, const double *U, double *x)
{
    for (int i = 0; i < m; i++) {
        const double *row = U + (int64_t)i * stride;
        x[i] /= row[i];
        add_scaled(m - i - 1, -x[i], row + i + 1, x + i + 1);
    }
    for (int i = m - 1; i >= 0; i--) {
        const double *row = U + (int64_t)i * stride;
        x[i] = (x[i] - dot(m - i - 1, row + i + 1, x + i + 1)) / row[i];
    }
}

/* One rotation of a row of the factor with the row that is to be added. */
WIDE static void rotate(int n, double c, double s, double *restrict row, double *restrict added)
{
    for (int t = 0; t < n; t++) {
        double before = row[t];
        row[t] = c * before + s * added[t];
        added[t] = c * added[t] - s * before;
    }
}

/* The factor of the matrix without row and column i, in the place of that with them: what the row gave to the rows
   below it is added to those. `work` has room for m entries. */
static void leave_out(int m, int stride, int i, double *U, double *work)
{
    int n = m - i - 1;
    memcpy(work, U + (int64_t)i * stride + i + 1, sizeof(double) * n);
    for (int k = 0; k < i; k++) {
        double *row = U + (int64_t)k * stride + i;
        memmove(row, row + 1, sizeof(double) * n);
    }
    for (int k = 0; k < n; k++) {
        double *row = U + (int64_t)(i + k) * stride + i + k;
        memcpy(row, row + stride + 1, sizeof(double) * (n - k));
        double length = sqrt(row[0] * row[0] + work[k] * work[k]), c = row[0] / length, s = work[k] / length;
        row[0] = length;
        rotate(n - k - 1, c, s, row + 1, work + k + 1);
    }
}

/* Where entry i has to stop on its way in direction v: at a bound, or at zero, where the L1 term bends. */
static double limit(const Problem *p, int i, double v)
{
    int bends = p->l1[i] > 0;
    if (v > 0)
        return bends && p->b[i] < 0 ? fmin(p->upper[i], 0) : p->upper[i];
    return bends && p->b[i] > 0 ? fmax(p->lower[i], 0) : p->lower[i];
}

static int is_free(const Problem *p, int i)
{
    return p->b[i] != 0 && p->b[i] > p->lower[i] && p->b[i] < p->upper[i];
}

/* The free entries, the factor of the model's curvature at them and minus its gradient; their number, or 0 where the
   curvature is not positive definite. */
static int prepare(Problem *p, int count)
{
    int m = 0;
    for (int t = 0; t < count; t++)
        if (is_free(p, p->active[t]))
            p->free[m++] = p->active[t];
    for (int s = 0; s < m; s++) {
        int i = p->free[s];
        const double *row = p->Q + (int64_t)i * p->d;
        double *A = p->gram + (int64_t)s * m;
        for (int t = s; t < m; t++)
            A[t] = p->c * row[p->free[t]];
        p->step[s] = A[s] += 2 * p->ridge[i];
        p->fall[s] = -(p->q[i] + 2 * p->ridge[i] * p->b[i] + (p->b[i] > 0 ? p->l1[i] : -p->l1[i]));
    }
    return cholesky(m, p->gram, p->step, &p->stop) ? m : 0;
}

/* Move the free entries along the step until the first of them reaches zero or a bound; the share that was taken. */
static double advance(Problem *p, int m)
{
    double share = 1;
    int hit = -1;
    for (int s = 0; s < m; s++) {
        double v = p->step[s], reach = v != 0 ? (limit(p, p->free[s], v) - p->b[p->free[s]]) / v : INFINITY;
        if (reach < share) {
            share = reach;
            hit = s;
        }
    }
    for (int s = 0; s < m; s++) {
        int i = p->free[s];
        double v = p->step[s], end = limit(p, i, v), target = p->b[i] + share * v;
        /* Rounding must not carry an entry beyond its limit. */
        if (s == hit || (v > 0 ? target > end : target < end))
            target = end;
        p->b[i] = target;
    }
    return share;
}

/* Go to the minimiser over the free non-zero entries with their signs kept, leaving out those that reach zero or a
   bound on the way. */
static void direct_steps(Problem *p, int count)
{
    int stride = prepare(p, count);
    memcpy(p->old, p->b, sizeof(double) * p->d);
    for (int m = stride; m > 0 && !stopped(&p->stop);) {
        memcpy(p->step, p->fall, sizeof(double) * m);
        solve(m, stride, p->gram, p->step);
        double share = advance(p, m);
        if (share == 1)
            break;
        /* The step solves for the whole gradient, so that a part of it leaves the rest in proportion. */
        for (int s = m - 1; s >= 0; s--) {
            p->fall[s] *= 1 - share;
            if (is_free(p, p->free[s]))
                continue;
            leave_out(m, stride, s, p->gram, p->step);
            memmove(p->free + s, p->free + s + 1, sizeof(int) * (m - s - 1));
            memmove(p->fall + s, p->fall + s + 1, sizeof(double) * (m - s - 1));
            m--;
        }
    }
    for (int t = 0; t < count; t++) {
        int i = p->active[t];
        if (p->b[i] != p->old[i])
            add_scaled(p->d, p->c * (p->b[i] - p->old[i]), p->Q + (int64_t)i * p->d, p->q);
    }
}

/* The size of changes that rounding of the gradient causes by itself: some units in the last place of its terms. */
static double resolution(const Problem *p)
{
    double size = 0;
    for (int i = 0; i < p->d; i++)
        size += fabs(p->b[i]) * sqrt(p->c * p->Q[(int64_t)i * p->d + i]);
    return 8 * DBL_EPSILON * size;
}

/* tolerance bounds the last change of an entry, in units of the square root of the objective. Returns the sweeps made. */
static int minimise(Problem *p, double tolerance, int max_rounds)
{
    int rounds = 0;
    while (rounds < max_rounds && !stopped(&p->stop)) {
        rounds++;
        double change = sweep(p, NULL, p->d);
        if (change < tolerance || change < resolution(p))
            break;
        int count = nonzeros(p, p->active);
        for (int k = 0; k < 2 && change >= tolerance; k++)
            change = sweep(p, p->active, count);
        direct_steps(p, count);
    }
    return rounds;
}

/* Columns first..last-1 of the problems. All matrices d*d with row j = problem j, but Q, which is symmetric, and L1,
   lower and upper where they are shared: one row for all problems. Without loops, entry j of problem j stays 0.
   B holds the starting points and then the solutions. Returns the sum of rounds, NO_MEMORY, or STOPPED; then a row of B
   is a solution, a point on the way to it or still the start. */
int64_t elastic_net(int d, int first, int last, const double *Q, const double *c, const double *G, const double *L1,
                    const double *ridge, const double *lower, const double *upper, double *B, double tolerance,
                    int max_rounds, int shared, int loops, const volatile int32_t *stop)
{
    int64_t stride = shared ? 0 : d;
    double *work = malloc(sizeof(double) * ((size_t)d * d + 6 * (size_t)d) + sizeof(int) * 2 * (size_t)d);
    if (!work)
        return NO_MEMORY;
    Problem p = {.d = d, .Q = Q, .stop = {.flag = stop}};
    p.gram = work;
    p.step = work + (size_t)d * d;
    p.fall = p.step + d;
    p.old = p.fall + d;
    p.q = p.old + d;
    double *low = p.q + d, *high = low + d;
    p.active = (int *)(high + d);
    p.free = p.active + d;
    int64_t total = 0;
    for (int j = first; j < last && !stopped(&p.stop); j++) {
        int64_t at = (int64_t)j * d;
        p.c = c[j];
        p.l1 = L1 + j * stride;
        p.ridge = ridge + at;
        p.lower = memcpy(low, lower + j * stride, sizeof(double) * d);
        p.upper = memcpy(high, upper + j * stride, sizeof(double) * d);
        if (!loops)
            low[j] = high[j] = 0;
        p.b = B + at;
        memcpy(p.q, G + at, sizeof(double) * d);
        for (int i = 0; i < d; i++)
            if (p.b[i] != 0)
                add_scaled(d, p.c * p.b[i], Q + (int64_t)i * d, p.q);
        total += minimise(&p, tolerance, max_rounds);
    }
    free(work);
    return p.stop.seen ? STOPPED : total;
}
