/* Blocks of one feature each: parents enter as lines, by the regression of selection.c, and the shape of the noise may
   count. The score is that of blocks.c, without its arithmetic of groups. */
#include "lines.h"
#include "selection.h"
#include "shape.h"
#include <string.h>

typedef struct {
    Selector base;
    Regression g;
    int locked;
    const int32_t *shaped; /* columns whose noise has a shape that counts */
    const double *rows;    /* n_rows of each column, one column after the other, or NULL */
    int64_t n_rows;
    double shape_price;
    double *residual;
    Shapes shapes;
} Lines;

static void lines_close(Selector *base)
{
    Lines *l = (Lines *)base;
    regression_close(&l->g);
    free(l->base.kept);
    free(l->residual);
    shapes_close(&l->shapes);
    free(l);
}

static int add(Lines *l, int i)
{
    Regression *g = &l->g;
    l->base.work += (int64_t)g->width * (g->count + 2) / 4;
    return regression_add(g, i);
}

static int lines_load(Selector *base, int target, const int32_t *path, int depth)
{
    Lines *l = (Lines *)base;
    Regression *g = &l->g;
    int fits = g->target == target && g->count - l->locked <= depth;
    for (int k = l->locked; fits && k < g->count; k++)
        fits = g->chosen[k] == path[k - l->locked];
    if (!fits) {
        const uint8_t *required = base->required ? base->required + (int64_t)target * base->d : NULL;
        regression_start(g, target, NULL, base->d);
        base->work += base->d;
        for (int i = 0; required && i < base->d; i++)
            if (required[i] && regression_can_add(g, i) && add(l, i) < 0)
                return NO_MEMORY;
        l->locked = g->count;
    }
    while (g->count - l->locked < depth)
        if (add(l, path[g->count - l->locked]) < 0)
            return NO_MEMORY;
    return 0;
}

static double lines_gains(Selector *base, double *gain)
{
    Lines *l = (Lines *)base;
    regression_gains(&l->g, gain);
    base->work += base->d;
    return regression_needed(&l->g);
}

WIDE static void subtract(int64_t m, double t, const double *restrict x, double *restrict y)
{
    for (int64_t i = 0; i < m; i++)
        y[i] -= t * x[i];
}

static double shape_of_residual(Lines *l)
{
    int64_t n = l->n_rows;
    const Regression *g = &l->g;
    int known = 0;
    double *at = shape_at(&l->shapes, g->target, g->kept, g->kept_count, &known);
    if (known)
        return *at;
    memcpy(l->residual, l->rows + (size_t)g->target * (size_t)n, sizeof(double) * (size_t)n);
    for (int k = 0; k < g->kept_count; k++)
        subtract(n, g->slope[k], l->rows + (size_t)g->kept[k] * (size_t)n, l->residual);
    l->base.work += n * (g->kept_count + 16) / 8;
    double gained = 2 * (double)n * negentropy(l->residual, n, EXPLAINED) - l->shape_price;
    double shape = gained > 0 ? -gained : 0;
    if (at)
        *at = shape;
    return shape;
}

static double lines_shrink(Selector *base)
{
    Lines *l = (Lines *)base;
    Regression *g = &l->g;
    int64_t m = g->count;
    base->work += m * m * m / 6 + 4 * m * m;
    g->stop = *base->stop;
    regression_shrink(g, l->locked);
    base->stop->seen |= g->stop.seen;
    base->kept_count = g->kept_count;
    for (int k = 0; k < g->kept_count; k++) {
        base->kept[k] = g->kept[k];
        base->kept_level[k] = 1;
    }
    base->misfit = g->criterion.n * log(g->kept_variance > EXPLAINED ? g->kept_variance : EXPLAINED);
    base->price = base->cost * g->kept_count;
    base->shape = l->rows && l->shaped[g->target] ? shape_of_residual(l) : 0;
    return base->misfit + base->shape + base->price;
}

Selector *lines_open(int d, const int32_t *shaped, const double *R, double n, double cost, int64_t n_rows,
                     const double *rows, double shape_price, int max_parents)
{
    Lines *l = calloc(1, sizeof *l);
    if (!l)
        return NULL;
    l->base = (Selector){.load = lines_load, .gains = lines_gains, .shrink = lines_shrink, .close = lines_close,
                         .d = d, .cost = cost, .slack = rows ? INFINITY : cost};
    l->shaped = shaped;
    l->rows = rows;
    l->n_rows = n_rows;
    l->shape_price = shape_price;
    /* As many parents as a third of the rows explain whatever they are. */
    int most = 3.0 * max_parents > n ? (int)ceil(n / 3) : max_parents;
    Criterion criterion = {.stride = d, .R = R, .n = n, .c = cost, .max_parents = most};
    l->base.kept = malloc(sizeof(int32_t) * 2 * (size_t)d);
    l->base.kept_level = l->base.kept ? l->base.kept + d : NULL;
    l->residual = rows ? malloc(sizeof(double) * (size_t)n_rows) : NULL;
    if (regression_open(&l->g, &criterion, d) < 0 || !l->base.kept || (rows && !l->residual)) {
        lines_close(&l->base);
        return NULL;
    }
    l->g.target = -1;
    return &l->base;
}
