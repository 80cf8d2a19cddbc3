/* Weighted elastic nets that share one quadratic form: the step of the proximal Newton method, a column at a time.

   For column j, over the box lower <= b <= upper:

       min_b  c/2 b'Qb + g'b + sum_i l1[i] |b_i| + sum_i ridge[i] b_i^2

   Coordinate descent finds which entries are non-zero; a direct solve on those (Cholesky, moved along until an entry
   reaches zero or a bound) then ends what coordinate descent would do slowly on an ill-conditioned Q. Both only ever
   descend. Matrices hold columns of the problem as rows (transposed), so that each problem is contiguous. */
#include <float.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#if defined(__GNUC__) && defined(__x86_64__) && defined(__linux__) && !defined(__clang__)
#define WIDE __attribute__((target_clones("avx512f", "avx2", "default")))
#else
#define WIDE
#endif

WIDE static void add_scaled(int d, double t, const double *restrict x, double *restrict y)
{
    for (int i = 0; i < d; i++)
        y[i] += t * x[i];
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
    double *step; /* d work */
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

/* Lower Cholesky factor of A (m*m, row-major, lower part given), in place; 0 where A is not positive definite. */
static int cholesky(int m, double *A)
{
    for (int i = 0; i < m; i++) {
        double *row = A + (int64_t)i * m;
        for (int j = 0; j <= i; j++) {
            const double *other = A + (int64_t)j * m;
            double s = row[j];
            for (int k = 0; k < j; k++)
                s -= row[k] * other[k];
            if (i == j) {
                if (!(s > 1e-13 * row[i]))
                    return 0;
                row[i] = sqrt(s);
            } else {
                row[j] = s / other[j];
            }
        }
    }
    return 1;
}

static void solve(int m, const double *L, double *x)
{
    for (int i = 0; i < m; i++) {
        for (int k = 0; k < i; k++)
            x[i] -= L[(int64_t)i * m + k] * x[k];
        x[i] /= L[(int64_t)i * m + i];
    }
    for (int i = m - 1; i >= 0; i--) {
        x[i] /= L[(int64_t)i * m + i];
        for (int k = 0; k < i; k++)
            x[k] -= L[(int64_t)i * m + k] * x[i];
    }
}

enum taken { NONE, PART, ALL };

/* Where entry i has to stop on its way in direction v: at a bound, or at zero, where the L1 term bends. */
static double limit(const Problem *p, int i, double v)
{
    int bends = p->l1[i] > 0;
    if (v > 0)
        return bends && p->b[i] < 0 ? fmin(p->upper[i], 0) : p->upper[i];
    return bends && p->b[i] > 0 ? fmax(p->lower[i], 0) : p->lower[i];
}

/* Go to the minimiser over the free non-zero entries with their signs kept, or as far as that lasts. Returns how
   much of the step was taken; after a part of it one more entry is held by zero or a bound. */
static enum taken direct_step(Problem *p, int count)
{
    int m = 0;
    for (int t = 0; t < count; t++) {
        int i = p->active[t];
        if (p->b[i] != 0 && p->b[i] > p->lower[i] && p->b[i] < p->upper[i])
            p->free[m++] = i;
    }
    if (m == 0)
        return ALL;
    for (int s = 0; s < m; s++) {
        int i = p->free[s];
        const double *row = p->Q + (int64_t)i * p->d;
        for (int t = 0; t <= s; t++)
            p->gram[(int64_t)s * m + t] = p->c * row[p->free[t]];
        p->gram[(int64_t)s * m + s] += 2 * p->ridge[i];
        p->step[s] = -(p->q[i] + 2 * p->ridge[i] * p->b[i] + (p->b[i] > 0 ? p->l1[i] : -p->l1[i]));
    }
    if (!cholesky(m, p->gram))
        return NONE;
    solve(m, p->gram, p->step);
    double t_max = 1;
    int hit = -1;
    for (int s = 0; s < m; s++) {
        double v = p->step[s], reach = v != 0 ? (limit(p, p->free[s], v) - p->b[p->free[s]]) / v : INFINITY;
        if (reach < t_max) {
            t_max = reach;
            hit = s;
        }
    }
    for (int s = 0; s < m; s++) {
        int i = p->free[s];
        double v = p->step[s], end = limit(p, i, v), target = p->b[i] + t_max * v;
        /* Rounding must not carry an entry beyond its limit. */
        if (s == hit || (v > 0 ? target > end : target < end))
            target = end;
        double change = target - p->b[i];
        p->b[i] = target;
        add_scaled(p->d, p->c * change, p->Q + (int64_t)i * p->d, p->q);
    }
    return hit < 0 ? ALL : PART;
}

/* The size of changes that rounding of the gradient causes by itself. */
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
    while (rounds < max_rounds) {
        rounds++;
        double change = sweep(p, NULL, p->d);
        if (change < tolerance || change < resolution(p))
            break;
        int count = nonzeros(p, p->active);
        for (int k = 0; k < 2 && change >= tolerance; k++)
            change = sweep(p, p->active, count);
        while (direct_step(p, count) == PART)
            ;
    }
    return rounds;
}

/* Columns first..last-1 of the problems. All matrices d*d with row j = problem j, but Q, which is symmetric, and L1,
   lower and upper where they are shared: one row for all problems. Without loops, entry j of problem j stays 0.
   B holds the starting points and then the solutions. Returns the sum of rounds, or -1 where memory is short. */
int64_t elastic_net(int d, int first, int last, const double *Q, const double *c, const double *G, const double *L1,
                    const double *ridge, const double *lower, const double *upper, double *B, double tolerance,
                    int max_rounds, int shared, int loops)
{
    int64_t stride = shared ? 0 : d;
    double *work = malloc(sizeof(double) * ((size_t)d * d + 4 * (size_t)d) + sizeof(int) * 2 * (size_t)d);
    if (!work)
        return -1;
    Problem p = {.d = d, .Q = Q};
    p.gram = work;
    p.step = work + (size_t)d * d;
    p.q = p.step + d;
    double *low = p.q + d, *high = low + d;
    p.active = (int *)(high + d);
    p.free = p.active + d;
    int64_t total = 0;
    for (int j = first; j < last; j++) {
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
    return total;
}
