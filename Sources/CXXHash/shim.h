#ifndef QUERY_CXXHASH_SHIM_H
#define QUERY_CXXHASH_SHIM_H

// Without XXH_INLINE_ALL, whose macros rename every function: Swift would see none of them.
#include <xxhash.h>

#endif
