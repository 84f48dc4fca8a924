#ifndef QUERY_CZLIB_SHIM_H
#define QUERY_CZLIB_SHIM_H

#include <zlib.h>

// The header's name for it is a macro, which Swift does not see.

/// Begins to unpack.
///
/// @param windowBits What is packed: 15 as RFC 1950 says, 31 as RFC 1952, -15 as RFC 1951 alone.
static inline int czlib_inflate_begin(z_stream *stream, int windowBits) {
  return inflateInit2(stream, windowBits);
}

#endif
