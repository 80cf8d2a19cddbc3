/* The shape of noise: how far numbers are from normal. */
#ifndef ACYCLIC_SHAPE_H
#define ACYCLIC_SHAPE_H
#include <stdint.h>

/* Negentropy, in nats, of n numbers whatever their mean and variance, as scores/blocks.py approximates it; 0 where the
   variance is at most `explained`. The result does not depend on the width of registers. */
double negentropy(const double *u, int64_t n, double explained);

/* What is known of the shapes that sets of parents leave to columns: selections that differ, detours above all, often
   shrink to the same set. */
typedef struct {
    uint64_t *key;
    double *value;
    int64_t room, count;
} Shapes;

/* Where the value of a target with these parents is, *known or to be filled in; NULL where there is no memory. */
double *shape_at(Shapes *s, int target, const int32_t *parents, int count, int *known);
void shapes_close(Shapes *s);

#endif
