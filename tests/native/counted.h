/* Put before every kernel with -include: leaks.c counts allocations, and lets the one that is asked for fail. */
#ifndef ACYCLIC_COUNTED_H
#define ACYCLIC_COUNTED_H
#include <stdlib.h>

void *counted_malloc(size_t size);
void *counted_calloc(size_t count, size_t size);
void *counted_realloc(void *old, size_t size);
void counted_free(void *memory);

#define malloc counted_malloc
#define calloc counted_calloc
#define realloc counted_realloc
#define free counted_free

#endif
