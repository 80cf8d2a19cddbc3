/* Which columns may be parents or children of each: what a forward selection among all others takes, or nearly takes.
   A parent whose effect others cancel has no correlation of its own, but shows itself once these were chosen. */
#include "selection.h"
#include <string.h>

typedef struct {
    Regression g;
    int width, room, count; /* how many are noted at a step, and in all */
    int32_t *found, *best;
    uint8_t *is_found;
    double *gain, *most;
} Screen;

/* Note the candidates with the largest gains that are worth a detour; the first of them, or -1. */
static int note_best(Screen *s, double least)
{
    int count = 0;
    regression_gains(&s->g, s->gain);
    for (int i = 0; i < s->g.width; i++) {
        if (s->gain[i] <= least)
            continue;
        int k = count < s->width ? count++ : s->width - 1;
        for (; k > 0 && s->most[k - 1] < s->gain[i]; k--) {
            s->most[k] = s->most[k - 1];
            s->best[k] = s->best[k - 1];
        }
        s->most[k] = s->gain[i];
        s->best[k] = i;
        if (count == s->width)
            least = s->most[count - 1];
    }
    for (int k = 0; k < count; k++)
        if (!s->is_found[s->best[k]] && s->count < s->room) {
            s->is_found[s->best[k]] = 1;
            s->found[s->count++] = s->best[k];
        }
    return count ? s->best[0] : -1;
}

/* Bring those that selection has kept to the front of the found; how many they are. */
static int put_first(Screen *s)
{
    int count = 0;
    for (int k = 0; k < s->g.kept_count; k++)
        for (int i = count; i < s->count; i++)
            if (s->found[i] == s->g.kept[k]) {
                s->found[i] = s->found[count];
                s->found[count++] = s->g.kept[k];
                break;
            }
    return count;
}

static int screen(Screen *s, int target, int32_t *chosen)
{
    Regression *g = &s->g;
    regression_start(g, target, NULL, g->criterion.stride);
    s->count = 0;
    *chosen = 0;
    for (int detours = 0; s->count < s->room;) {
        double needed = regression_needed(g);
        int best = needed < INFINITY ? note_best(s, DETOUR_SHARE * needed) : -1;
        if (detours == 0 && (best < 0 || s->most[0] <= needed)) {
            regression_shrink(g, 0);
            if (stopped(&g->stop))
                return STOPPED;
            *chosen = put_first(s);
        }
        if (best < 0)
            break;
        detours = s->most[0] > needed ? 0 : detours + 1;
        if (detours > g->criterion.detours)
            break;
        if (regression_add(g, best) < 0)
            return NO_MEMORY;
        if (stopped(&g->stop))
            return STOPPED;
    }
    for (int k = 0; k < s->count; k++)
        s->is_found[s->found[k]] = 0;
    for (int k = s->count; k < s->room; k++)
        s->found[k] = -1;
    return 0;
}

/* Candidates of the nodes first..last-1, from covariances S (d*d) and 1 / deviation of each: at every step of a forward
   selection among all others those `width` that explain most, `room` in all, and in front as many as `chosen` (d) says
   that it kept; what is left of a row of found (d*room) is -1. Returns 0, NO_MEMORY or STOPPED. */
int screen_candidates(int d, int first, int last, const double *S, const double *scale, double n, double c,
                      int max_parents, int detours, int width, int room, int32_t *found, int32_t *chosen,
                      const volatile int32_t *stop)
{
    Criterion criterion = {d, S, n, c, NULL, max_parents, detours, NULL, scale};
    Screen s = {.width = width, .room = room};
    int status = regression_open(&s.g, &criterion, d);
    s.g.stop.flag = stop;
    s.best = malloc(sizeof(int32_t) * (size_t)width);
    s.is_found = calloc((size_t)d, 1);
    s.gain = malloc(sizeof(double) * (size_t)(d + width));
    if (!s.best || !s.is_found || !s.gain)
        status = NO_MEMORY;
    s.most = s.gain + d;
    for (int j = first; j < last && status == 0; j++) {
        s.found = found + (int64_t)j * room;
        status = screen(&s, j, chosen + j);
    }
    free(s.best);
    free(s.is_found);
    free(s.gain);
    regression_close(&s.g);
    return status;
}
