/* The shape of noise: how far numbers are from normal. */
#ifndef ACYCLIC_SHAPE_H
#define ACYCLIC_SHAPE_H
#include <stdint.h>

/* Negentropy, in nats, of n numbers whatever their mean and variance, as scores/blocks.py approximates it; 0 where the
   variance is at most `explained`. The result does not depend on the width of registers. */
double negentropy(const double *u, int64_t n, double explained);

#endif
