/* Put before every kernel with -include: leaks.c counts allocations and looks at the flag, lets the allocation that is
   asked for fail, and says stop at the glance that is asked for. */
#ifndef ACYCLIC_COUNTED_H
#define ACYCLIC_COUNTED_H
#include <stdint.h>
#include <stdlib.h>

void *counted_malloc(size_t size);
void *counted_calloc(size_t count, size_t size);
void *counted_realloc(void *old, size_t size);
void counted_free(void *memory);
int32_t counted_glance(const volatile int32_t *flag);

#define malloc counted_malloc
#define calloc counted_calloc
#define realloc counted_realloc
#define free counted_free
#define GLANCE counted_glance

#endif
