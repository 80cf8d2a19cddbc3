/* Parents that enter as blocks of features: numbers, splines of numbers, dummies of categories. See scores/blocks.py for
   the score; the arithmetic is that of selection.c with a block in the place of a column.

   Column i has the features at[i] .. at[i + 1] - 1. As a parent it enters with a prefix of them, whose lengths are
   levels[level_at[i]] .. levels[level_at[i + 1] - 1], ascending; as a child it is its first responses[i] features, whose
   parents may enter beyond their first level where bent[i] is not 0, with noise whose shape counts where shaped[i] is
   not 0.
   Features of one column are orthonormal over the rows. */
#include "lines.h"
#include "selection.h"
#include "shape.h"
#include <string.h>

typedef struct {
    Selector base;
    const int32_t *at, *level_at, *levels, *responses, *bent, *shaped;
    const double *G, *rows; /* moments of the features, F*F, and their rows (n_rows each, one feature after the other) */
    const double *prices;   /* of the features up to each of a column, for one response */
    double n, shape_price;
    int64_t n_rows;
    int F, widest, most, max_parents, target, r, locked;
    int count, features, room; /* parents and features that were chosen */
    int32_t *chosen, *level, *feature;
    double *Q;     /* room * F: rows of the factor */
    double *own;   /* for each column the moments of its features given the chosen, widest * widest each */
    double *cross; /* r rows: covariances of the response with all features, given the chosen */
    double *work;  /* small matrices */
    double *residual;
    int kept_features;
    int32_t *kept_feature, *begin; /* begin: where the features of each of the kept parents begin */
    double *factor, *inverse, *precision, *slope, *left;
} Blocks;

static void blocks_close(Selector *base)
{
    Blocks *b = (Blocks *)base;
    free(b->base.kept);
    free(b->chosen);
    free(b->feature);
    free(b->Q);
    free(b->own);
    free(b->factor);
    free(b->residual);
    free(b);
}

static int reserve(Blocks *b, int room)
{
    size_t k = (size_t)room, f = (size_t)b->F, r = (size_t)b->widest;
    double *Q = realloc(b->Q, sizeof(double) * k * f);
    if (Q)
        b->Q = Q;
    int32_t *feature = realloc(b->feature, sizeof(int32_t) * 2 * k);
    if (feature)
        b->feature = feature;
    double *factor = realloc(b->factor, sizeof(double) * (3 * k * k + 2 * k * r));
    if (factor)
        b->factor = factor;
    if (!Q || !feature || !factor)
        return NO_MEMORY;
    b->kept_feature = b->feature + k;
    b->inverse = b->factor + k * (k + r);
    b->precision = b->inverse + k * k;
    b->slope = b->precision + k * k;
    b->room = room;
    return 0;
}

/* ---- Choosing forward ---- */

static inline double *own_of(Blocks *b, int i)
{
    return b->own + (size_t)i * (size_t)b->widest * (size_t)b->widest;
}

static void start(Blocks *b, int target)
{
    size_t f = (size_t)b->F;
    b->target = target;
    b->r = b->responses[target];
    b->count = b->features = 0;
    for (int i = 0; i < b->base.d; i++) {
        int first = b->at[i], p = b->at[i + 1] - first;
        double *own = own_of(b, i);
        for (int k = 0; k < p; k++)
            memcpy(own + k * p, b->G + (size_t)(first + k) * f + first, sizeof(double) * (size_t)p);
    }
    for (int k = 0; k < b->r; k++)
        memcpy(b->cross + (size_t)k * f, b->G + (size_t)(b->at[target] + k) * f, sizeof(double) * f);
    b->base.work += (int64_t)b->F * b->widest / 4;
}

WIDE static void subtract(int m, double t, const double *restrict x, double *restrict y)
{
    for (int i = 0; i < m; i++)
        y[i] -= t * x[i];
}

/* Condition all features on one more. One that the chosen determine changes nothing. */
static int add_feature(Blocks *b, int feature)
{
    size_t f = (size_t)b->F;
    if (b->features == b->room && reserve(b, 2 * b->room) < 0)
        return NO_MEMORY;
    double *x = b->Q + (size_t)b->features * f;
    memcpy(x, b->G + (size_t)feature * f, sizeof(double) * f);
    for (int q = 0; q < b->features; q++)
        subtract(b->F, b->Q[(size_t)q * f + (size_t)feature], b->Q + (size_t)q * f, x);
    b->base.work += (int64_t)b->F * (b->features + b->r + b->widest) / 4;
    if (x[feature] <= DEPENDENT)
        return 0;
    double scale = 1 / sqrt(x[feature]);
    for (int k = 0; k < b->F; k++)
        x[k] *= scale;
    for (int k = 0; k < b->r; k++)
        subtract(b->F, x[b->at[b->target] + k], x, b->cross + (size_t)k * f);
    for (int i = 0; i < b->base.d; i++) {
        int first = b->at[i], p = b->at[i + 1] - first;
        double *own = own_of(b, i);
        const double *part = x + first;
        for (int k = 0; k < p; k++)
            for (int l = 0; l < p; l++)
                own[k * p + l] -= part[k] * part[l];
    }
    b->feature[b->features++] = feature;
    return 0;
}

/* log det of a positive matrix (m*m, overwritten): a direction with next to nothing left counts as explained. */
static double log_det(double *A, int m)
{
    double total = 0;
    for (int k = 0; k < m; k++) {
        for (int l = 0; l < k; l++)
            for (int i = k; i < m; i++)
                A[i * m + k] -= A[i * m + l] * A[k * m + l];
        double pivot = A[k * m + k] > EXPLAINED ? A[k * m + k] : EXPLAINED, root = sqrt(pivot);
        total += log(pivot);
        A[k * m + k] = root;
        for (int i = k + 1; i < m; i++)
            A[i * m + k] /= root;
    }
    return total;
}

static double response_log_det(Blocks *b)
{
    int r = b->r, first = b->at[b->target];
    if (r == 1)
        return log(b->cross[first] > EXPLAINED ? b->cross[first] : EXPLAINED);
    for (int k = 0; k < r; k++)
        memcpy(b->work + k * r, b->cross + (size_t)k * (size_t)b->F + first, sizeof(double) * (size_t)r);
    return log_det(b->work, r);
}

/* log det of the response's covariance if these `count` directions T (rows of r) were explained too. */
static double explained_log_det(Blocks *b, const double *T, int count)
{
    int r = b->r, first = b->at[b->target];
    for (int k = 0; k < r; k++)
        for (int l = 0; l < r; l++) {
            double sum = b->cross[(size_t)k * (size_t)b->F + (size_t)(first + l)];
            for (int t = 0; t < count; t++)
                sum -= T[t * r + k] * T[t * r + l];
            b->work[k * r + l] = sum;
        }
    return r == 1 ? log(b->work[0] > EXPLAINED ? b->work[0] : EXPLAINED) : log_det(b->work, r);
}

/* What the first `level` features of a parent cost beyond the price of a parent that has one, for one response. */
static inline double extra_price(const Blocks *b, int i, int level)
{
    const double *prices = b->prices + b->at[i];
    return level ? b->r * prices[level - 1] - prices[0] : 0;
}

/* How much column i lowers the score at its best level above `from` features, prices beyond the first feature's paid;
   *level is that level, or 0 where there is none. */
static double best_level(Blocks *b, int i, int from, double now, int *level)
{
    int first = b->at[i], p = b->at[i + 1] - first, r = b->r, k = 0;
    const double *own = own_of(b, i);
    double *T = b->work + r * r, *L = T + b->widest * r, best = 0;
    *level = 0;
    int end = b->bent[b->target] ? b->level_at[i + 1] : b->level_at[i] + 1;
    for (int at = b->level_at[i]; at < end; at++) {
        for (; k < b->levels[at]; k++) { /* one more row of the factor of the block, and its right sides */
            double *row = L + k * p, pivot = own[k * p + k];
            for (int l = 0; l < k; l++) {
                double sum = own[k * p + l];
                for (int q = 0; q < l; q++)
                    sum -= row[q] * L[l * p + q];
                row[l] = L[l * p + l] > 0 ? sum / L[l * p + l] : 0;
                pivot -= row[l] * row[l];
            }
            row[k] = pivot > DEPENDENT ? sqrt(pivot) : 0;
            for (int c = 0; c < r; c++) {
                double sum = b->cross[(size_t)c * (size_t)b->F + (size_t)(first + k)];
                for (int l = 0; l < k; l++)
                    sum -= row[l] * T[l * r + c];
                T[k * r + c] = row[k] > 0 ? sum / row[k] : 0;
            }
        }
        if (b->levels[at] <= from)
            continue;
        double extra = extra_price(b, i, b->levels[at]) - extra_price(b, i, from);
        double gain = b->n * (now - explained_log_det(b, T, k)) - extra;
        if (gain > best) {
            best = gain;
            *level = b->levels[at];
        }
    }
    return best;
}

static int raise_to(Blocks *b, int k, int level)
{
    int i = b->chosen[k];
    for (int f = b->level[k]; f < level; f++)
        if (add_feature(b, b->at[i] + f) < 0)
            return NO_MEMORY;
    b->level[k] = level;
    return 0;
}

/* Parents that are there take further features as long as one pays. */
static int raise_levels(Blocks *b)
{
    for (;;) {
        int which = -1, to = 0, level;
        double most = 0, now = response_log_det(b);
        for (int k = 0; k < b->count; k++) {
            double gain = best_level(b, b->chosen[k], b->level[k], now, &level);
            if (gain > most) {
                most = gain;
                which = k;
                to = level;
            }
        }
        b->base.work += (int64_t)b->count * b->widest * b->widest * 4;
        if (which < 0)
            return 0;
        if (raise_to(b, which, to) < 0)
            return NO_MEMORY;
    }
}

static int add_parent(Blocks *b, int i)
{
    int level;
    best_level(b, i, 0, response_log_det(b), &level);
    b->chosen[b->count] = i;
    b->level[b->count] = 0;
    if (raise_to(b, b->count, level ? level : b->levels[b->level_at[i]]) < 0)
        return NO_MEMORY;
    b->count++;
    return raise_levels(b);
}

static int blocks_load(Selector *base, int target, const int32_t *path, int depth)
{
    Blocks *b = (Blocks *)base;
    int fits = b->target == target && b->count - b->locked <= depth;
    for (int k = b->locked; fits && k < b->count; k++)
        fits = b->chosen[k] == path[k - b->locked];
    if (!fits) {
        start(b, target);
        b->target = -1; /* until the required are there */
        const uint8_t *required = base->required ? base->required + (int64_t)target * base->d : NULL;
        b->target = target;
        for (int i = 0; required && i < base->d; i++)
            if (required[i] && add_parent(b, i) < 0)
                return NO_MEMORY;
        b->locked = b->count;
    }
    while (b->count - b->locked < depth)
        if (add_parent(b, path[b->count - b->locked]) < 0)
            return NO_MEMORY;
    return 0;
}

static double blocks_gains(Selector *base, double *gain)
{
    Blocks *b = (Blocks *)base;
    double now = response_log_det(b);
    int level;
    for (int i = 0; i < base->d; i++)
        gain[i] = i == b->target ? 0 : best_level(b, i, 0, now, &level);
    for (int k = 0; k < b->count; k++)
        gain[b->chosen[k]] = 0;
    base->work += (int64_t)base->d * b->widest * b->widest * b->widest / 6;
    int full = b->count >= b->max_parents || 3 * b->features >= b->n || b->cross[b->at[b->target]] <= EXPLAINED;
    return full ? INFINITY : base->cost;
}

/* ---- Dropping backward ---- */

/* A precision beyond this is of nearly collinear features: what is left after one of them is dropped has lost as many
   digits, so that the rest is solved afresh. */
static const double FRAGILE = 1e6;

/* The factor U of the moments of the kept features, G = U'U by rows, with its right sides behind it. */
static void factorise(Blocks *b)
{
    int m = b->kept_features, r = b->r, width = m + r, first = b->at[b->target];
    for (int q = 0; q < m; q++) {
        const double *row = b->G + (size_t)b->kept_feature[q] * (size_t)b->F;
        double *x = b->factor + (size_t)q * (size_t)width;
        for (int k = q; k < m; k++)
            x[k] = row[b->kept_feature[k]];
        for (int c = 0; c < r; c++)
            x[m + c] = row[first + c];
        for (int p = 0; p < q; p++) {
            const double *y = b->factor + (size_t)p * (size_t)width;
            subtract(width - q, y[q], y + q, x + q);
        }
        double scale = 1 / sqrt(x[q] > DEPENDENT ? x[q] : DEPENDENT);
        for (int k = q; k < width; k++)
            x[k] *= scale;
    }
}

/* Of the kept features the precision matrix, the slopes (kept * r) of the response, and what they leave of it (r*r). */
static void solve(Blocks *b)
{
    int m = b->kept_features, r = b->r, first = b->at[b->target];
    size_t width = (size_t)(m + r), wide = (size_t)m;
    factorise(b);
    for (int c = 0; c < r; c++)
        for (int e = 0; e < r; e++)
            b->left[c * r + e] = b->G[(size_t)(first + c) * (size_t)b->F + (size_t)(first + e)];
    memset(b->precision, 0, sizeof(double) * wide * wide);
    memset(b->slope, 0, sizeof(double) * wide * (size_t)r);
    for (int i = 0; i < m; i++) { /* row i of the inverse of U', and what it adds */
        double *x = b->inverse + (size_t)i * wide, scale = 1 / b->factor[(size_t)i * width + (size_t)i];
        const double *z = b->factor + (size_t)i * width + m;
        memset(x, 0, sizeof(double) * wide);
        x[i] = 1;
        for (int k = 0; k < i; k++)
            subtract(k + 1, b->factor[(size_t)k * width + (size_t)i], b->inverse + (size_t)k * wide, x);
        for (int k = 0; k <= i; k++)
            x[k] *= scale;
        for (int k = 0; k <= i; k++) {
            subtract(i + 1, -x[k], x, b->precision + (size_t)k * wide);
            for (int c = 0; c < r; c++)
                b->slope[k * r + c] += x[k] * z[c];
        }
        for (int c = 0; c < r; c++)
            for (int e = 0; e < r; e++)
                b->left[c * r + e] -= z[c] * z[e];
    }
    b->base.work += (int64_t)m * m * m / 4 + (int64_t)m * m * (r + 2);
}

/* What log det of the response becomes without the kept features from..to-1. */
static double log_det_without(Blocks *b, int from, int to)
{
    int m = b->kept_features, r = b->r, s = to - from;
    double P[s * s], B[s * r], V[r * r];
    for (int i = 0; i < s; i++)
        for (int j = 0; j <= i; j++)
            P[i * s + j] = b->precision[(size_t)(from + i) * (size_t)m + (size_t)(from + j)];
    memcpy(B, b->slope + from * r, sizeof B);
    memcpy(V, b->left, sizeof V);
    for (int i = 0; i < s; i++) { /* V + B'P^-1 B by the factor of P */
        for (int j = 0; j <= i; j++) {
            double sum = P[i * s + j];
            for (int k = 0; k < j; k++)
                sum -= P[i * s + k] * P[j * s + k];
            P[i * s + j] = i == j ? sqrt(sum > 0 ? sum : DEPENDENT) : sum / P[j * s + j];
        }
        for (int c = 0; c < r; c++) {
            for (int k = 0; k < i; k++)
                B[i * r + c] -= P[i * s + k] * B[k * r + c];
            B[i * r + c] /= P[i * s + i];
        }
        for (int c = 0; c < r; c++)
            for (int e = 0; e < r; e++)
                V[c * r + e] += B[i * r + c] * B[i * r + e];
    }
    return log_det(V, r);
}

/* Features of the kept that were independent when they were chosen, sorted by parent: begin[k] is where those of the
   k-th begin. */
static void list_features(Blocks *b)
{
    int m = 0;
    for (int k = 0; k < b->base.kept_count; k++) {
        int i = b->base.kept[k];
        b->begin[k] = m;
        for (int q = 0; q < b->features; q++)
            if (b->feature[q] >= b->at[i] && b->feature[q] < b->at[i] + b->base.kept_level[k])
                b->kept_feature[m++] = b->feature[q];
        for (int q = b->begin[k] + 1; q < m; q++) { /* levels may have been raised later: ascending again */
            int32_t feature = b->kept_feature[q];
            int j = q;
            for (; j > b->begin[k] && b->kept_feature[j - 1] > feature; j--)
                b->kept_feature[j] = b->kept_feature[j - 1];
            b->kept_feature[j] = feature;
        }
    }
    b->begin[b->base.kept_count] = b->kept_features = m;
}

/* Take the kept features from..to-1 out of precision, slopes and what is left, one after the other. Returns whether the
   rest has to be solved afresh. */
static int take_out(Blocks *b, int from, int to)
{
    int m = b->kept_features, r = b->r, fragile = 0, gone = to - from;
    size_t wide = (size_t)m;
    for (int s = from; s < to; s++) {
        const double *row = b->precision + (size_t)s * wide, *own = b->slope + s * r;
        double pivot = row[s];
        fragile |= pivot > FRAGILE;
        for (int c = 0; c < r; c++)
            for (int e = 0; e < r; e++)
                b->left[c * r + e] += own[c] * own[e] / pivot;
        for (int i = 0; i < m; i++) {
            double share = b->precision[(size_t)i * wide + (size_t)s] / pivot;
            if (i == s || share == 0)
                continue;
            subtract(m, share, row, b->precision + (size_t)i * wide);
            for (int c = 0; c < r; c++)
                b->slope[i * r + c] -= share * own[c];
        }
    }
    for (int i = 0, to_row = 0; i < m; i++) { /* close the gap */
        if (i >= from && i < to)
            continue;
        double *x = b->precision + (size_t)to_row * (size_t)(m - gone), *y = b->precision + (size_t)i * wide;
        memmove(x, y, sizeof(double) * (size_t)from);
        memmove(x + from, y + to, sizeof(double) * (size_t)(m - to));
        memmove(b->slope + to_row * r, b->slope + i * r, sizeof(double) * (size_t)r);
        to_row++;
    }
    b->base.work += (int64_t)gone * m * m / 4;
    return fragile;
}

/* The drop of a parent, or of the last features of one, that lowers the score most, as *which and its new level; whether
   there is one. */
static int find_weakest(Blocks *b, int *which, int *to)
{
    Selector *base = &b->base;
    int r = b->r;
    double V[r * r], least = 0;
    memcpy(V, b->left, sizeof V);
    double now = log_det(V, r);
    base->misfit = b->n * now;
    *which = -1;
    for (int k = 0; k < base->kept_count; k++) {
        int i = base->kept[k], end = b->begin[k + 1];
        for (int at = b->level_at[i] - 1; at < b->level_at[i + 1]; at++) {
            int level = at < b->level_at[i] ? 0 : b->levels[at], from = b->begin[k];
            if (level >= base->kept_level[k])
                break;
            if (level == 0 && k < b->locked)
                continue;
            while (from < end && b->kept_feature[from] - b->at[i] < level)
                from++;
            double saved = extra_price(b, i, base->kept_level[k]) - extra_price(b, i, level);
            saved += level == 0 ? base->cost : 0;
            double change = (from == end ? 0 : b->n * (log_det_without(b, from, end) - now)) - saved;
            if (change <= least) {
                least = change;
                *which = k;
                *to = level;
            }
        }
    }
    return *which >= 0;
}

static void drop(Blocks *b, int which, int to)
{
    Selector *base = &b->base;
    int i = base->kept[which], end = b->begin[which + 1], from = b->begin[which];
    while (from < end && b->kept_feature[from] - b->at[i] < to)
        from++;
    int fragile = take_out(b, from, end);
    base->kept_level[which] = to;
    if (to == 0) {
        size_t rest = sizeof(int32_t) * (size_t)(base->kept_count - which - 1);
        memmove(base->kept + which, base->kept + which + 1, rest);
        memmove(base->kept_level + which, base->kept_level + which + 1, rest);
        base->kept_count--;
    }
    list_features(b);
    if (fragile)
        solve(b);
}

/* ---- The shape of the noise ---- */

static double shape_of_residual(Blocks *b)
{
    int64_t n = b->n_rows;
    double *u = b->residual;
    memcpy(u, b->rows + (size_t)b->at[b->target] * (size_t)n, sizeof(double) * (size_t)n);
    for (int k = 0; k < b->kept_features; k++) {
        const double *x = b->rows + (size_t)b->kept_feature[k] * (size_t)n;
        for (int64_t from = 0; from < n; from += 1 << 20)
            subtract((int)(n - from < 1 << 20 ? n - from : 1 << 20), b->slope[k], x + from, u + from);
    }
    b->base.work += n * (b->kept_features / 4 + 25);
    double gained = 2 * (double)n * negentropy(u, n, EXPLAINED) - b->shape_price;
    return gained > 0 ? -gained : 0;
}

static double blocks_shrink(Selector *base)
{
    Blocks *b = (Blocks *)base;
    base->kept_count = b->count;
    memcpy(base->kept, b->chosen, sizeof(int32_t) * (size_t)b->count);
    memcpy(base->kept_level, b->level, sizeof(int32_t) * (size_t)b->count);
    list_features(b);
    solve(b);
    for (int which, to; find_weakest(b, &which, &to) && !stopped(base->stop);)
        drop(b, which, to);
    base->price = 0;
    for (int k = 0; k < base->kept_count; k++)
        base->price += base->cost + extra_price(b, base->kept[k], base->kept_level[k]);
    base->shape = b->rows && b->shaped[b->target] ? shape_of_residual(b) : 0;
    return base->misfit + base->shape + base->price;
}

Selector *blocks_open(int d, const int32_t *at, const int32_t *level_at, const int32_t *levels,
                      const int32_t *responses, const int32_t *bent, const int32_t *shaped, const double *G,
                      const double *prices, double n, double cost, int64_t n_rows,
                      const double *rows, double shape_price, int max_parents)
{
    if (at[d] == d)
        return lines_open(d, shaped, G, n, cost, n_rows, rows, shape_price, max_parents);
    Blocks *b = calloc(1, sizeof *b);
    if (!b)
        return NULL;
    b->base = (Selector){.load = blocks_load, .gains = blocks_gains, .shrink = blocks_shrink, .close = blocks_close,
                         .d = d, .cost = cost, .slack = rows ? INFINITY : cost};
    b->at = at;
    b->level_at = level_at;
    b->levels = levels;
    b->responses = responses;
    b->bent = bent;
    b->shaped = shaped;
    b->G = G;
    b->rows = rows;
    b->n = n;
    b->prices = prices;
    b->n_rows = n_rows;
    b->shape_price = shape_price;
    b->max_parents = max_parents;
    b->F = at[d];
    b->target = -1;
    b->widest = 1;
    for (int i = 0; i < d; i++)
        b->widest = at[i + 1] - at[i] > b->widest ? at[i + 1] - at[i] : b->widest;
    size_t w = (size_t)b->widest, many = (size_t)d;
    b->base.kept = malloc(sizeof(int32_t) * 2 * many);
    b->base.kept_level = b->base.kept ? b->base.kept + d : NULL;
    b->chosen = malloc(sizeof(int32_t) * (3 * many + 1));
    b->level = b->chosen ? b->chosen + d : NULL;
    b->begin = b->chosen ? b->level + d : NULL;
    b->own = malloc(sizeof(double) * (many * w * w + w * (size_t)b->F + 5 * w * w));
    b->cross = b->own ? b->own + many * w * w : NULL;
    b->left = b->cross ? b->cross + w * (size_t)b->F : NULL;
    b->work = b->left ? b->left + w * w : NULL;
    b->residual = rows ? malloc(sizeof(double) * (size_t)n_rows) : NULL;
    if (!b->base.kept || !b->chosen || !b->own || (rows && !b->residual) || reserve(b, 16) < 0) {
        blocks_close(&b->base);
        return NULL;
    }
    return &b->base;
}
