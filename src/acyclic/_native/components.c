/* Strongly connected components of a dense 0/1 matrix: Tarjan's algorithm without recursion. */
#include "kernels.h"

/* support: d*d, row = source; d >= 1. labels: d. work: 4*d. Reads every entry once, which at any size that a matrix
   has in practice ends before a person could ask it to stop. Returns the number of components; work[0] = largest size. */
int strong_components(int d, const uint8_t *support, int32_t *labels, int32_t *work)
{
    int32_t *index = work, *low = work + d, *path = work + 2 * d, *next = work + 3 * d;
    int32_t *stack = labels; /* a node's slot holds its label once it has left the stack below */
    int clock = 0, count = 0, largest = 0;
    for (int v = 0; v < d; v++) {
        index[v] = -1;
        labels[v] = -1;
    }
    /* `stack` links the nodes awaiting a component: labels[v] = -2 - (node below), or -1 for the bottom. */
    int top = -1;
    for (int root = 0; root < d; root++) {
        if (index[root] >= 0)
            continue;
        int depth = 0;
        path[0] = root;
        index[root] = low[root] = clock++;
        next[root] = 0;
        stack[root] = -2 - top;
        top = root;
        while (depth >= 0) {
            int v = path[depth];
            const uint8_t *row = support + (int64_t)v * d;
            int w = next[v];
            for (; w < d; w++) {
                if (!row[w])
                    continue;
                if (index[w] < 0)
                    break;
                if (labels[w] < 0 && index[w] < low[v])
                    low[v] = index[w];
            }
            if (w < d) {
                next[v] = w + 1;
                index[w] = low[w] = clock++;
                next[w] = 0;
                stack[w] = -2 - top;
                top = w;
                path[++depth] = w;
                continue;
            }
            if (low[v] == index[v]) {
                int u, size = 0;
                do {
                    size++;
                    u = top;
                    top = -2 - stack[u];
                    labels[u] = count;
                } while (u != v);
                count++;
                if (size > largest)
                    largest = size;
            }
            depth--;
            if (depth >= 0 && low[v] < low[path[depth]])
                low[path[depth]] = low[v];
        }
    }
    work[0] = largest;
    return count;
}
