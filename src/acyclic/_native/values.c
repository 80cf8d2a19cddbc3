/* A hash of long columns of numbers that can be put together from those of their parts.

   The bits of x_1, ..., x_n are the coefficients of a polynomial, which is evaluated at two fixed points modulo the prime
   2^61 - 1: h(x, y) = h(x) r^m + h(y) for m numbers y behind x. Two columns of n numbers that differ have the same hash
   with a chance of about n^2 2^-122, unless somebody looks for such: it tells mistakes, not forgeries. */
#include "kernels.h"

#include <string.h>

#define PRIME ((UINT64_C(1) << 61) - 1)

typedef unsigned __int128 Wide;

/* The first bits of pi and of e, below the prime; acyclic/_native/values.py has the same. */
static const uint64_t POINT[2] = {UINT64_C(0x1921FB54442D1846), UINT64_C(0x15BF0A8B14576953)};

/* The remainder of any number below 2^127. */
static inline uint64_t reduced(Wide x)
{
    x = (x & PRIME) + (x >> 61);
    const uint64_t y = (uint64_t)(x & PRIME) + (uint64_t)(x >> 61);
    return y >= PRIME ? y - PRIME : y;
}

/* Each number enters in two ways, lest two whose bits differ by the prime be taken for each other. */
static inline Wide entry(const double *x, int lane)
{
    uint64_t bits;
    memcpy(&bits, x, sizeof bits);
    return lane ? bits << 32 | bits >> 32 : bits;
}

static uint64_t follow(uint64_t h, const double *x, int64_t n, int lane)
{
    const uint64_t r = POINT[lane], r2 = reduced((Wide)r * r), r3 = reduced((Wide)r2 * r), r4 = reduced((Wide)r2 * r2);
    int64_t i = 0;
    /* Four at once: only one of the products waits for the step before. */
    for (; i + 4 <= n; i += 4)
        h = reduced((Wide)h * r4 + entry(x + i, lane) * r3 + entry(x + i + 1, lane) * r2 + entry(x + i + 2, lane) * r
                    + entry(x + i + 3, lane));
    for (; i < n; i++)
        h = reduced((Wide)h * r + entry(x + i, lane));
    return h;
}

/* The hash h (d, 2) of d columns, when n numbers each, columns (d, n), follow those that it was the hash of. */
void hash_values(int64_t d, int64_t n, const double *columns, uint64_t *h)
{
    for (int64_t j = 0; j < d; j++)
        for (int lane = 0; lane < 2; lane++)
            h[2 * j + lane] = follow(h[2 * j + lane], columns + j * n, n, lane);
}
