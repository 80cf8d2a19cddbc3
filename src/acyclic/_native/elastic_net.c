/* Weighted elastic nets that share one quadratic form: the step of the proximal Newton method, a column at a time.

   For column j, over the box lower <= b <= upper:

       min_b  c/2 b'Qb + g'b + sum_i l1[i] |b_i| + sum_i ridge[i] b_i^2

   Coordinate descent finds which entries are non-zero; a direct solve on those (Cholesky, cut at zero and at bounds)
   then ends what coordinate descent would do slowly on an ill-conditioned Q. Both only ever descend. What happens among
   the non-zero entries alone happens in a copy of their part of Q, which for m of them costs m where all of Q costs d,
   and stays in the cache. Matrices hold columns of the problem as rows (transposed), so that each problem is
   contiguous. */
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

/* Four of them at once, so that y is read and written once. */
WIDE static void add_four(int d, const double *restrict t, const double *restrict p, const double *restrict q,
                          const double *restrict r, const double *restrict s, double *restrict y)
{
    double a = t[0], b = t[1], c = t[2], e = t[3];
    for (int i = 0; i < d; i++)
        y[i] += (a * p[i] + b * q[i]) + (c * r[i] + e * s[i]);
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
    double *b; /* the solution, updated in place */
    double *q; /* gradient of the smooth part without the ridge: c Q b + g */
    int count;
    int *active;   /* indices of the entries that are not zero, `count` of them */
    int *place;    /* d: where an active entry stands in the list */
    double *gram;  /* count*count: c Q at the active entries */
    double *x;     /* b at the active entries, `old` as it was before */
    double *slope; /* q at the active entries */
    double *old;
    int size;
    int *held;      /* indices of the entries whose curvature is factored, `size` of them: active, and held by no bound */
    int *free;      /* d: whether an entry is one of these */
    double *factor; /* d*d: the upper Cholesky factor of the curvature at them, rows d apart */
    double *fall;   /* minus the gradient at the active entries */
    double *step;   /* d work */
    double *kept;   /* 2*d work */
    Stop stop;
} Problem;

/* The minimiser over entry i alone, now at b with the slope q. */
static double minimiser(const Problem *p, int i, double b, double q)
{
    double curvature = p->c * p->Q[(int64_t)i * p->d + i];
    double total = curvature + 2 * p->ridge[i];
    double z = curvature * b - q;
    double shrunk = z > p->l1[i] ? z - p->l1[i] : z < -p->l1[i] ? z + p->l1[i] : 0.0;
    double value = total > 0 ? shrunk / total : 0.0;
    return value < p->lower[i] ? p->lower[i] : value > p->upper[i] ? p->upper[i] : value;
}

/* A change of entry i, in units of the square root of the objective. */
static double scaled(const Problem *p, int i, double change)
{
    return fabs(change) * sqrt(p->c * p->Q[(int64_t)i * p->d + i] + 2 * p->ridge[i]);
}

/* One pass of coordinate descent over all entries; largest scaled change. */
static double sweep(Problem *p)
{
    double largest = 0;
    for (int i = 0; i < p->d; i++) {
        if (p->lower[i] == 0 && p->upper[i] == 0)
            continue;
        if (p->b[i] == 0 && fabs(p->q[i]) <= p->l1[i] && p->lower[i] <= 0 && p->upper[i] >= 0)
            continue; /* where most entries stay */
        double change = minimiser(p, i, p->b[i], p->q[i]) - p->b[i];
        if (change == 0)
            continue;
        p->b[i] += change;
        add_scaled(p->d, p->c * change, p->Q + (int64_t)i * p->d, p->q);
        double size = scaled(p, i, change);
        if (size > largest)
            largest = size;
        if (stopped(&p->stop))
            break;
    }
    return largest;
}

/* The entries that are not zero, and their part of the problem. */
static void gather(Problem *p)
{
    p->count = 0;
    for (int i = 0; i < p->d; i++)
        if (p->b[i] != 0)
            p->active[p->count++] = i;
    for (int t = 0; t < p->count; t++) {
        int i = p->active[t];
        const double *row = p->Q + (int64_t)i * p->d;
        double *to = p->gram + (int64_t)t * p->count;
        for (int s = 0; s < p->count; s++)
            to[s] = p->c * row[p->active[s]];
        p->place[i] = t;
        p->x[t] = p->old[t] = p->b[i];
        p->slope[t] = p->q[i];
    }
}

/* One pass of coordinate descent over the active entries; largest scaled change. Counts those that cross or leave
   zero, or come to it. */
static double sweep_active(Problem *p, int *crossed)
{
    double largest = 0;
    *crossed = 0;
    for (int t = 0; t < p->count; t++) {
        int i = p->active[t];
        if (p->lower[i] == 0 && p->upper[i] == 0)
            continue;
        double before = p->x[t], change = minimiser(p, i, before, p->slope[t]) - before;
        if (change == 0)
            continue;
        p->x[t] += change;
        *crossed += !(before * p->x[t] > 0);
        add_scaled(p->count, change, p->gram + (int64_t)t * p->count, p->slope);
        double size = scaled(p, i, change);
        if (size > largest)
            largest = size;
        if (stopped(&p->stop))
            break;
    }
    return largest;
}

/* Write the active entries back, and bring the gradient to where they are. */
static void scatter(Problem *p)
{
    const double *rows[4];
    double steps[4];
    int waiting = 0;
    for (int t = 0; t < p->count; t++) {
        int i = p->active[t];
        if (p->x[t] == p->old[t])
            continue;
        p->b[i] = p->x[t];
        rows[waiting] = p->Q + (int64_t)i * p->d;
        steps[waiting++] = p->c * (p->x[t] - p->old[t]);
        if (waiting == 4) {
            add_four(p->d, steps, rows[0], rows[1], rows[2], rows[3], p->q);
            waiting = 0;
        }
    }
    for (int k = 0; k < waiting; k++)
        add_scaled(p->d, steps[k], rows[k], p->q);
}

/* Eight neighbours in a row, wherever it begins. */
typedef double Eight __attribute__((vector_size(64), aligned(8), may_alias));

/* Subtract the products of rows first..last-1 of a factor from the rows after them: A[i][t] -= sum_k U[k][i] U[k][t],
   for i >= last and t >= i, four rows and eight columns at a time, which stay in registers. What is written below the
   diagonal on the way is never read. */
WIDE static void subtract_products(int m, int stride, double *restrict A, int first, int last)
{
    int i = last;
    for (; i + 4 <= m; i += 4) {
        double *row = A + (int64_t)i * stride;
        int t = i;
        for (; t + 8 <= m; t += 8) {
            Eight *p = (Eight *)(row + t), *q = (Eight *)(row + stride + t);
            Eight *r = (Eight *)(row + 2 * (int64_t)stride + t), *s = (Eight *)(row + 3 * (int64_t)stride + t);
            Eight a = *p, b = *q, c = *r, d = *s;
            for (int k = first; k < last; k++) {
                const double *above = A + (int64_t)k * stride, *own = above + i;
                Eight x = *(const Eight *)(above + t);
                a -= own[0] * x;
                b -= own[1] * x;
                c -= own[2] * x;
                d -= own[3] * x;
            }
            *p = a, *q = b, *r = c, *s = d;
        }
        for (; t < m; t++)
            for (int j = 0; j < 4; j++) {
                double left = row[(int64_t)j * stride + t];
                for (int k = first; k < last; k++)
                    left -= A[(int64_t)k * stride + i + j] * A[(int64_t)k * stride + t];
                row[(int64_t)j * stride + t] = left;
            }
    }
    for (; i < m; i++)
        for (int k = first; k < last; k++) {
            const double *above = A + (int64_t)k * stride;
            for (int t = i; t < m; t++)
                A[(int64_t)i * stride + t] -= above[i] * above[t];
        }
}

/* Upper Cholesky factor U of A = U'U (m*m, row-major, rows `stride` apart, upper part given), in place, a block of rows
   at a time; 0 where A is not positive definite, or where it is told to stop. `size` has the diagonal of A. */
WIDE static int cholesky(int m, int stride, double *restrict A, const double *restrict size, Stop *stop)
{
    enum { BLOCK = 16, PANEL = 4 };
    for (int begin = 0; begin < m; begin += BLOCK) {
        if (stopped(stop))
            return 0;
        int end = begin + BLOCK < m ? begin + BLOCK : m;
        for (int first = begin; first < end; first += PANEL) {
            int last = first + PANEL < end ? first + PANEL : end;
            for (int k = first; k < last; k++) {
                double *row = A + (int64_t)k * stride;
                for (int j = first; j < k; j++) {
                    const double *above = A + (int64_t)j * stride;
                    for (int t = k; t < m; t++)
                        row[t] -= above[k] * above[t];
                }
                if (!(row[k] > SINGULAR * size[k]))
                    return 0;
                double scale = 1 / sqrt(row[k]);
                for (int t = k; t < m; t++)
                    row[t] *= scale;
            }
            /* A panel that is not full is the last: no row of the block is left below it. */
            const double *p = A + (int64_t)first * stride, *q = p + stride, *r = q + stride, *s = r + stride;
            for (int i = last; i < end; i++) {
                double *row = A + (int64_t)i * stride;
                double a = p[i], b = q[i], c = r[i], d = s[i];
                for (int t = i; t < m; t++)
                    row[t] -= (a * p[t] + b * q[t]) + (c * r[t] + d * s[t]);
            }
        }
        subtract_products(m, stride, A, begin, end);
    }
    return 1;
}

/* x := inv(U') x, for a factor with rows `stride` apart. */
static void solve_lower(int m, int stride, const double *U, double *x)
{
    for (int i = 0; i < m; i++) {
        const double *row = U + (int64_t)i * stride;
        x[i] /= row[i];
        add_scaled(m - i - 1, -x[i], row + i + 1, x + i + 1);
    }
}

/* x := inv(U'U) x. */
static void solve(int m, int stride, const double *U, double *x)
{
    solve_lower(m, stride, U, x);
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

/* Leave out the entry at place s of the factor: what its row gave to the rows below it is added to those. */
static void leave_out(Problem *p, int s)
{
    int n = p->size - s - 1, stride = p->d;
    double *U = p->factor, *work = p->step;
    memcpy(work, U + (int64_t)s * stride + s + 1, sizeof(double) * n);
    for (int k = 0; k < s; k++) {
        double *row = U + (int64_t)k * stride + s;
        memmove(row, row + 1, sizeof(double) * n);
    }
    for (int k = 0; k < n; k++) {
        double *row = U + (int64_t)(s + k) * stride + s + k;
        memcpy(row, row + stride + 1, sizeof(double) * (n - k));
        double length = sqrt(row[0] * row[0] + work[k] * work[k]), c = row[0] / length, t = work[k] / length;
        row[0] = length;
        rotate(n - k - 1, c, t, row + 1, work + k + 1);
    }
    memmove(p->held + s, p->held + s + 1, sizeof(int) * n);
    p->size--;
}

/* Take entry i into the factor; 0 where the curvature is not positive definite with it. */
static int take_in(Problem *p, int i)
{
    const double *row = p->gram + (int64_t)p->place[i] * p->count;
    double *column = p->step, own = row[p->place[i]] + 2 * p->ridge[i];
    for (int s = 0; s < p->size; s++)
        column[s] = row[p->place[p->held[s]]];
    solve_lower(p->size, p->d, p->factor, column);
    double left = own - dot(p->size, column, column);
    if (!(left > SINGULAR * own))
        return 0;
    for (int s = 0; s < p->size; s++)
        p->factor[(int64_t)s * p->d + p->size] = column[s];
    p->factor[(int64_t)p->size * p->d + p->size] = sqrt(left);
    p->held[p->size++] = i;
    return 1;
}

static int is_free(const Problem *p, int i)
{
    double value = p->x[p->place[i]];
    return value != 0 && value > p->lower[i] && value < p->upper[i];
}

/* The factor for the entries that are free now, anew; 0 where the curvature there is not positive definite. */
static int factorise(Problem *p)
{
    int m = 0;
    for (int t = 0; t < p->count; t++)
        if (p->free[p->active[t]])
            p->held[m++] = p->active[t];
    for (int s = 0; s < m; s++) {
        int i = p->held[s];
        const double *row = p->gram + (int64_t)p->place[i] * p->count;
        double *to = p->factor + (int64_t)s * p->d;
        for (int t = s; t < m; t++)
            to[t] = row[p->place[p->held[t]]];
        p->step[s] = to[s] += 2 * p->ridge[i];
    }
    p->size = cholesky(m, p->d, p->factor, p->step, &p->stop) ? m : 0;
    return p->size > 0;
}

/* Bring the factor to the entries that are free now: the few that came or went one by one, which takes m^2 operations
   for one that comes and three times as many for one that goes, where all of it anew takes m^3/3. */
static int renew_factor(Problem *p)
{
    int m = 0, gone = 0;
    for (int s = 0; s < p->size; s++)
        p->free[p->held[s]] = 0;
    for (int t = 0; t < p->count; t++)
        m += p->free[p->active[t]] = is_free(p, p->active[t]);
    for (int s = 0; s < p->size; s++)
        gone += !p->free[p->held[s]];
    if (m == 0 || 3 * (m - (p->size - gone)) + 9 * gone > m)
        return factorise(p);
    for (int s = p->size - 1; s >= 0; s--)
        if (!p->free[p->held[s]] && !stopped(&p->stop))
            leave_out(p, s);
    for (int s = 0; s < p->size; s++)
        p->free[p->held[s]] = 0;
    int whole = 1;
    for (int t = 0; t < p->count && whole; t++)
        if (p->free[p->active[t]])
            whole = take_in(p, p->active[t]) && !stopped(&p->stop);
    return whole;
}

/* Where an entry at x has to stop on its way in direction v: at a bound, or at zero, where the L1 term bends. */
static double limit(const Problem *p, int i, double x, double v)
{
    int bends = p->l1[i] > 0;
    if (v > 0)
        return bends && x < 0 ? fmin(p->upper[i], 0) : p->upper[i];
    return bends && x > 0 ? fmax(p->lower[i], 0) : p->lower[i];
}

/* Move the entries of the factor by a share of their step, each no further than its limit, which `hit` reaches. */
static void advance(Problem *p, double share, int hit)
{
    for (int s = 0; s < p->size; s++) {
        int i = p->held[s], t = p->place[i];
        double v = p->step[s], end = limit(p, i, p->x[t], v), target = p->x[t] + share * v;
        /* Rounding must not carry an entry beyond its limit. */
        p->x[t] = s == hit || (v > 0 ? target > end : target < end) ? end : target;
        /* The step solves for the whole gradient, so that a part of it leaves the rest in proportion. */
        p->fall[t] *= 1 - share;
    }
}

/* Take the whole step, each entry no further than its limit, if that lowers the objective by at least `least`. */
static int take_cut_step(Problem *p, int hit, double least)
{
    double *bend = p->kept, *before = p->kept + p->d, change = 0;
    memset(bend, 0, sizeof(double) * p->count);
    memcpy(before, p->x, sizeof(double) * p->count);
    for (int s = 0; s < p->size; s++) {
        int i = p->held[s], t = p->place[i];
        double v = p->step[s], end = limit(p, i, p->x[t], v), target = p->x[t] + v;
        p->x[t] = s == hit || (v > 0 ? target > end : target < end) ? end : target;
        add_scaled(p->count, p->x[t] - before[t], p->gram + (int64_t)t * p->count, bend);
    }
    for (int s = 0; s < p->size; s++) {
        int i = p->held[s], t = p->place[i];
        double move = p->x[t] - before[t];
        bend[t] += 2 * p->ridge[i] * move;
        change += move * (0.5 * bend[t] - p->fall[t]);
    }
    if (!(change <= -least)) {
        memcpy(p->x, before, sizeof(double) * p->count);
        return 0;
    }
    for (int s = 0; s < p->size; s++)
        p->fall[p->place[p->held[s]]] -= bend[p->place[p->held[s]]];
    return 1;
}

/* Go to the minimiser over the free non-zero entries with their signs kept, leaving out those that reach zero or a
   bound on the way: all that the whole step would carry across, where there are some and that is lower than where the
   first of them arrives; else that one. */
static void direct_steps(Problem *p)
{
    enum { SOME = 3 };
    int going = renew_factor(p), trying = 1;
    for (int t = 0; t < p->count; t++) {
        int i = p->active[t];
        p->fall[t] = -(p->slope[t] + 2 * p->ridge[i] * p->x[t] + (p->x[t] > 0 ? p->l1[i] : -p->l1[i]));
    }
    for (; going && !stopped(&p->stop); going = renew_factor(p)) {
        for (int s = 0; s < p->size; s++)
            p->step[s] = p->fall[p->place[p->held[s]]];
        solve(p->size, p->d, p->factor, p->step);
        double share = 1, gain = 0;
        int hit = -1, crossing = 0;
        for (int s = 0; s < p->size; s++) {
            int i = p->held[s], t = p->place[i];
            double v = p->step[s], reach = v != 0 ? (limit(p, i, p->x[t], v) - p->x[t]) / v : INFINITY;
            gain += v * p->fall[t];
            crossing += reach < 1;
            if (reach < share) {
                share = reach;
                hit = s;
            }
        }
        trying = trying && crossing >= SOME && take_cut_step(p, hit, share * (1 - share / 2) * gain);
        if (!trying)
            advance(p, share, hit);
        if (hit < 0)
            return;
    }
}

/* The size of changes that rounding of the gradient causes by itself: some units in the last place of its terms. */
static double resolution(const Problem *p)
{
    double size = 0;
    for (int i = 0; i < p->d; i++)
        if (p->b[i] != 0)
            size += fabs(p->b[i]) * sqrt(p->c * p->Q[(int64_t)i * p->d + i]);
    return 8 * DBL_EPSILON * size;
}

/* Passes over the active entries before a direct solve: two, and more, up to this, while some still cross zero. One
   pass costs about what it costs to leave one entry out of the factor. */
static const int MOST_PASSES = 20;

/* tolerance bounds the last change of an entry, in units of the square root of the objective. Returns the sweeps made. */
static int minimise(Problem *p, double tolerance, int max_rounds)
{
    int rounds = 0;
    while (rounds < max_rounds && !stopped(&p->stop)) {
        rounds++;
        double change = sweep(p);
        if (change < tolerance || change < resolution(p))
            break;
        gather(p);
        int crossed = 1;
        for (int k = 0; k < MOST_PASSES && change >= tolerance && (k < 2 || crossed) && !stopped(&p->stop); k++)
            change = sweep_active(p, &crossed);
        direct_steps(p);
        scatter(p);
    }
    return rounds;
}

/* Columns first..last-1 of the problems. All matrices d*d with row j = problem j, but Q, which is symmetric, and L1,
   lower and upper where they are shared: one row for all problems. G has the linear terms g or, where `around` says so,
   the gradients c Q b + g at the starting points. Without loops, entry j of problem j stays 0.
   B holds the starting points and then the solutions. Returns the sum of rounds, NO_MEMORY, or STOPPED; then a row of B
   is a solution, a point on the way to it or still the start. */
int64_t elastic_net(int d, int first, int last, const double *Q, const double *c, const double *G, const double *L1,
                    const double *ridge, const double *lower, const double *upper, double *B, double tolerance,
                    int max_rounds, int shared, int loops, int around, const volatile int32_t *stop)
{
    int64_t stride = shared ? 0 : d;
    size_t all = (size_t)d * d;
    double *work = malloc(sizeof(double) * (2 * all + 10 * (size_t)d) + sizeof(int) * 4 * (size_t)d);
    if (!work)
        return NO_MEMORY;
    Problem p = {.d = d, .Q = Q, .stop = {.flag = stop}};
    p.gram = work;
    p.factor = p.gram + all;
    p.x = p.factor + all;
    p.old = p.x + d;
    p.slope = p.old + d;
    p.fall = p.slope + d;
    p.step = p.fall + d;
    p.kept = p.step + d;
    p.q = p.kept + 2 * (size_t)d;
    double *low = p.q + d, *high = low + d;
    p.active = (int *)(high + d);
    p.place = p.active + d;
    p.held = p.place + d;
    p.free = p.held + d;
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
        p.size = 0;
        memcpy(p.q, G + at, sizeof(double) * d);
        for (int i = 0; i < d && !around; i++)
            if (p.b[i] != 0)
                add_scaled(d, p.c * p.b[i], Q + (int64_t)i * d, p.q);
        total += minimise(&p, tolerance, max_rounds);
    }
    free(work);
    return p.stop.seen ? STOPPED : total;
}
