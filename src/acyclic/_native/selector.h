/* What a search over orders asks of a score: the parents of a node, chosen one by one, and what they cost. The linear
   Gaussian score is built into order.c; every other one is a Selector. */
#ifndef ACYCLIC_SELECTOR_H
#define ACYCLIC_SELECTOR_H
#include "kernels.h"

struct Selector {
    /* Bring the regression of `target` to the required parents and the first `depth` of the path: 0 or NO_MEMORY. */
    int (*load)(Selector *s, int target, const int32_t *path, int depth);
    /* How much every candidate lowers the score, its price already paid but for `cost`, which is what makes it worthy;
       0 for those that are no candidates. Returns that price, or infinity where no more parents are taken. */
    double (*gains)(Selector *s, double *gain);
    /* Drop what does not pay, into `kept`, and give the score of the rest. */
    double (*shrink)(Selector *s);
    void (*close)(Selector *s);
    int d;
    double cost, slack; /* of a parent; by how much fewer candidates may lower the score of a node */
    const uint8_t *required; /* d*d by target, or NULL */
    Stop *stop;
    int64_t work;
    int kept_count, failed;
    int32_t *kept, *kept_level; /* after shrink: the parents, and how many of their features count */
    double misfit, shape, price; /* the parts of the score after shrink */
};

#endif
