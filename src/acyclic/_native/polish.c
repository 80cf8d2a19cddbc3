/* Polishing an order under equal noise variances: its score is sum_k weight[k] L[k][k]^2, L the Cholesky factor of the
   covariance in that order. */
#include "kernels.h"
#include <math.h>
#include <string.h>

typedef struct {
    int d, reach;
    double *L; /* d*d, row k = k-th node */
    int32_t *order;
    const double *weight;
    const uint8_t *precede; /* d*d by node, or NULL: [i][j] = i has to come before j */
    double *cosine, *sine, *row;
} Polish;

static double *row_of(const Polish *p, int k)
{
    return p->L + (int64_t)k * p->d;
}

static int held(const Polish *p, int first, int second)
{
    return p->precede && p->precede[(int64_t)p->order[first] * p->d + p->order[second]];
}

/* The best place before k for the k-th node. Given the nodes before place i, it has the variance left = sum of its
   squared entries from i on; the i-th node loses its part of it where the mover comes first. */
static double best_before(const Polish *p, int k, int *place)
{
    const double *x = row_of(p, k), *w = p->weight;
    double left = x[k] * x[k], change = 0, best = 0, start = left * w[k];
    for (int i = k - 1; i >= 0 && !held(p, i, k); i--) {
        double a = row_of(p, i)[i], after = left;
        left += x[i] * x[i];
        change += a * a * (after / left * w[i + 1] - w[i]);
        if (change + left * w[i] - start < best) {
            best = change + left * w[i] - start;
            *place = i;
        }
    }
    return best;
}

static void rotate(double *row, int first, int last, const double *cosine, const double *sine)
{
    for (int i = first; i < last; i++) {
        double a = row[i], b = row[i + 1];
        row[i] = cosine[i] * a + sine[i] * b;
        row[i + 1] = sine[i] * a - cosine[i] * b;
    }
}

/* The best place after k, up to `reach` away; leaves the rotations that take the mover there one by one. */
static double best_after(const Polish *p, int k, int *place)
{
    const double *w = p->weight;
    double own = row_of(p, k)[k], left = own * own, start = left * w[k], change = 0, best = 0;
    int end = p->d - 1 - k < p->reach ? p->d - 1 : k + p->reach;
    for (int s = k + 1; s <= end && !held(p, k, s); s++) {
        memcpy(p->row + k, row_of(p, s) + k, sizeof(double) * (size_t)(s - k + 1));
        double a = p->row[s];
        rotate(p->row, k, s - 1, p->cosine, p->sine);
        double c = p->row[s - 1], rho = hypot(c, a);
        p->cosine[s - 1] = c / rho;
        p->sine[s - 1] = a / rho;
        left *= p->sine[s - 1] * p->sine[s - 1];
        change += rho * rho * w[s - 1] - a * a * w[s];
        if (change + left * w[s] - start < best) {
            best = change + left * w[s] - start;
            *place = s;
        }
    }
    return best;
}

static void shift(Polish *p, int from, int to)
{
    int step = to > from ? 1 : -1;
    int32_t node = p->order[from];
    memcpy(p->row, row_of(p, from), sizeof(double) * (size_t)p->d);
    for (int k = from; k != to; k += step) {
        p->order[k] = p->order[k + step];
        memcpy(row_of(p, k), row_of(p, k + step), sizeof(double) * (size_t)p->d);
    }
    p->order[to] = node;
    memcpy(row_of(p, to), p->row, sizeof(double) * (size_t)p->d);
}

static void move_later(Polish *p, int k, int to)
{
    shift(p, k, to);
    for (int t = k; t < p->d; t++)
        rotate(row_of(p, t), k, to, p->cosine, p->sine);
    for (int t = k; t < to; t++)
        memset(row_of(p, t) + t + 1, 0, sizeof(double) * (size_t)(to - t));
}

static void move_earlier(Polish *p, int k, int to)
{
    double *x = row_of(p, k), left = x[k];
    for (int i = k - 1; i >= to; i--) {
        double rho = hypot(x[i], left);
        p->cosine[i] = x[i] / rho;
        p->sine[i] = left / rho;
        left = rho;
    }
    x[to] = left;
    memset(x + to + 1, 0, sizeof(double) * (size_t)(k - to));
    shift(p, k, to);
    for (int t = to + 1; t < p->d; t++) {
        double *row = row_of(p, t);
        for (int i = (t <= k ? t : k) - 1; i >= to; i--) {
            double a = row[i], b = row[i + 1];
            row[i] = p->cosine[i] * a + p->sine[i] * b;
            row[i + 1] = p->sine[i] * a - p->cosine[i] * b;
        }
    }
}

/* Moves one node at a time to its best place within reach until none gains more than `tolerance`. L, order: updated,
   and at any stop the factor and the order that the moves so far have led to. Returns the number of sweeps, NO_MEMORY or
   STOPPED. */
int polish_order(int d, double *L, int32_t *order, const double *weight, const uint8_t *precede, int reach,
                 int max_sweeps, double tolerance, const volatile int32_t *stop)
{
    double *work = malloc(sizeof(double) * 3 * (size_t)d);
    if (!work)
        return NO_MEMORY;
    Stop asked = {.flag = stop};
    Polish p = {d, reach, L, order, weight, precede, work, work + d, work + 2 * d};
    int sweeps = 0, moved = 1;
    while (moved && sweeps < max_sweeps && !stopped(&asked)) {
        sweeps++;
        moved = 0;
        for (int k = 0; k < d && !stopped(&asked); k++) {
            int earlier = k, later = k;
            double before = best_before(&p, k, &earlier), after = best_after(&p, k, &later);
            if (before >= -tolerance && after >= -tolerance)
                continue;
            moved = 1;
            if (after < before)
                move_later(&p, k, later);
            else
                move_earlier(&p, k, earlier);
        }
    }
    free(work);
    return asked.seen ? STOPPED : sweeps;
}
