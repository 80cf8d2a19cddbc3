/* The shape of noise: how far numbers are from normal. */
#ifndef ACYCLIC_SHAPE_H
#define ACYCLIC_SHAPE_H
#include <stdint.h>

/* Hyvarinen's approximation of negentropy, in nats, of n numbers whatever their mean and variance; 0 where that is at
   most `explained`. The result does not depend on the width of registers. */
double negentropy(const double *u, int64_t n, double explained);

#endif
