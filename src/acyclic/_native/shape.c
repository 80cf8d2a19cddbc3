/* The shape of noise. Under a score with it every set of parents that a search tries asks for one sum over all rows of
   log cosh and of x exp(-x^2 / 2): calls of the C library for each row would be nearly all of its time. */
#include "shape.h"
#include "kernels.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Sums go by lanes, one for every so manieth number, so that a compiler may take several at once without another order
   of the additions. */
enum { LANES = 16, ROUNDS = 32 };

static double total(const double *lane)
{
    double sum = 0;
    for (int l = 0; l < LANES; l++)
        sum += lane[l];
    return sum;
}

WIDE static double mean_of(const double *u, int64_t n)
{
    double sum[LANES] = {0};
    int64_t k = 0;
    for (; k + LANES <= n; k += LANES)
        for (int l = 0; l < LANES; l++)
            sum[l] += u[k + l];
    for (; k < n; k++)
        sum[0] += u[k];
    return total(sum) / (double)n;
}

WIDE static double variance_of(const double *u, int64_t n, double mean)
{
    double sum[LANES] = {0};
    int64_t k = 0;
    for (; k + LANES <= n; k += LANES)
        for (int l = 0; l < LANES; l++)
            sum[l] += (u[k + l] - mean) * (u[k + l] - mean);
    for (; k < n; k++)
        sum[0] += (u[k] - mean) * (u[k] - mean);
    return total(sum) / (double)n;
}

/* exp(x) of x <= 0 up to a share of 1e-14, and next to 0 below -700: 2^k e^r with |r| <= log(2) / 2, and of e^r twelve
   terms. Neither branches nor calls, lest a loop over it be scalar. */
static inline double exp_below(double x)
{
    const double shift = 0x1.8p52; /* beyond it doubles are whole numbers, and their last bits are k */
    x = x > -700 ? x : -700;
    double shifted = x * 1.4426950408889634 + shift, k = shifted - shift;
    double r = (x - k * 0x1.62e42feep-1) - k * 0x1.a39ef35793c76p-33;
    double p = 1. / 39916800;
    p = p * r + 1. / 3628800;
    p = p * r + 1. / 362880;
    p = p * r + 1. / 40320;
    p = p * r + 1. / 5040;
    p = p * r + 1. / 720;
    p = p * r + 1. / 120;
    p = p * r + 1. / 24;
    p = p * r + 1. / 6;
    p = p * r + 0.5;
    p = p * r + 1;
    p = p * r + 1;
    uint64_t bits, exponent;
    memcpy(&bits, &p, sizeof bits);
    memcpy(&exponent, &shifted, sizeof exponent);
    bits += exponent << 52;
    memcpy(&p, &bits, sizeof bits);
    return p;
}

/* Of numbers x = (u - mean) scale: |x|, the factor 1 + exp(-2 |x|) of a product whose logarithm, with the sum of |x| and
   without log 2 for each, is the sum of log cosh x, and x exp(-x^2 / 2). */
WIDE static void bend(int m, const double *restrict u, double mean, double scale, double *restrict size,
                      double *restrict factor, double *restrict odd)
{
    for (int k = 0; k < m; k++) {
        double x = (u[k] - mean) * scale, a = fabs(x);
        size[k] = a;
        factor[k] = 1 + exp_below(-2 * a);
        odd[k] = x * exp_below(-0.5 * x * x);
    }
}

WIDE static void add_up(const double *u, int64_t n, double mean, double scale, double *even, double *odd)
{
    double sizes[LANES] = {0}, odds[LANES] = {0}, logs = 0;
    double own_size[LANES * ROUNDS], own_factor[LANES * ROUNDS], own_odd[LANES * ROUNDS];
    for (int64_t from = 0; from < n; from += LANES * ROUNDS) {
        int m = n - from < LANES * ROUNDS ? (int)(n - from) : LANES * ROUNDS, k = 0;
        double product = 1, factors[LANES];
        bend(m, u + from, mean, scale, own_size, own_factor, own_odd);
        for (int l = 0; l < LANES; l++)
            factors[l] = 1;
        for (; m % LANES; m--) {
            sizes[0] += own_size[m - 1];
            factors[0] *= own_factor[m - 1];
            odds[0] += own_odd[m - 1];
        }
        for (; k < m; k += LANES)
            for (int l = 0; l < LANES; l++) {
                sizes[l] += own_size[k + l];
                factors[l] *= own_factor[k + l];
                odds[l] += own_odd[k + l];
            }
        for (int l = 0; l < LANES; l++) /* of all at most 2^(LANES ROUNDS), a finite number */
            product *= factors[l];
        logs += log(product);
    }
    *even = total(sizes) + logs;
    *odd = total(odds);
}

/* What the mean of log cosh x tells: the square of Hyvarinen, or where tails are heavy what scores/blocks.py says. */
static double even_part(double mean)
{
    double normal = 0.374567207491438, square = 79.047 * (mean - normal) * (mean - normal);
    if (!(mean > 0 && mean < normal))
        return square;
    double v = 2 * mean * (1 + mean * (0.98953513 + mean * (-0.40118385 + mean * 0.39033468)));
    double narrowed = -0.5 * log(v);
    return narrowed < square ? narrowed : square;
}

double negentropy(const double *u, int64_t n, double explained)
{
    double mean = mean_of(u, n), variance = variance_of(u, n, mean), even, odd;
    if (!(variance > explained))
        return 0;
    add_up(u, n, mean, 1 / sqrt(variance), &even, &odd);
    odd /= (double)n;
    return even_part(even / (double)n - 0.69314718055994531) + 7.4129 * odd * odd;
}

static uint64_t mix(uint64_t z)
{
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u; /* splitmix64 */
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

static int64_t place_of(const Shapes *s, uint64_t key)
{
    int64_t k = (int64_t)(key & (uint64_t)(s->room - 1));
    while (s->key[k] && s->key[k] != key)
        k = (k + 1) & (s->room - 1);
    return k;
}

/* Beyond so many sets, 64 MB, they are begun anew. */
static const int64_t MOST_SHAPES = 1 << 22;

static int widen(Shapes *s)
{
    if (s->room >= MOST_SHAPES) {
        memset(s->key, 0, (size_t)s->room * sizeof *s->key);
        s->count = 0;
        return 1;
    }
    Shapes wide = {.room = s->room ? 2 * s->room : 1024, .count = s->count};
    wide.key = calloc((size_t)wide.room, sizeof *wide.key);
    wide.value = malloc((size_t)wide.room * sizeof *wide.value);
    if (!wide.key || !wide.value) {
        shapes_close(&wide);
        return 0;
    }
    for (int64_t k = 0; k < s->room; k++)
        if (s->key[k]) {
            int64_t to = place_of(&wide, s->key[k]);
            wide.key[to] = s->key[k];
            wide.value[to] = s->value[k];
        }
    shapes_close(s);
    *s = wide;
    return 1;
}

double *shape_at(Shapes *s, int target, const int32_t *parents, int count, int *known)
{
    /* A sum, since a set has no order; of a million sets two share 64 bits once in ten million tables. */
    uint64_t key = mix(~(uint64_t)target);
    for (int k = 0; k < count; k++)
        key += mix((uint64_t)parents[k] + 1);
    key = mix(key) | 1;
    if (2 * s->count >= s->room && !widen(s))
        return NULL;
    int64_t k = place_of(s, key);
    *known = s->key[k] == key;
    s->key[k] = key;
    s->count += !*known;
    return s->value + k;
}

void shapes_close(Shapes *s)
{
    free(s->key);
    free(s->value);
}
