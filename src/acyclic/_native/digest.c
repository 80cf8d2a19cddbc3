/* Which sources the library was compiled from: Python refuses one that does not belong to the sources beside it. */
#include "kernels.h"

#ifndef ACYCLIC_DIGEST
#define ACYCLIC_DIGEST "unknown"
#endif

const char *kernels_digest(void)
{
    return ACYCLIC_DIGEST;
}
