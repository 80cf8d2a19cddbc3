/* See lines.c. */
#ifndef ACYCLIC_LINES_H
#define ACYCLIC_LINES_H
#include "selector.h"

/* As blocks_open, for d columns of one feature each; NULL where there is no memory. */
Selector *lines_open(int d, const int32_t *shaped, const double *R, double n, double cost, int64_t n_rows,
                     const double *rows, double shape_price, int max_parents);

#endif
