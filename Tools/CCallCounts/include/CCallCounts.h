#ifndef QUERY_CCALLCOUNTS_H
#define QUERY_CCALLCOUNTS_H

// Counts calls of this process to the system, below SQLite and the library: the functions of the C library
// that synchronise and write files are replaced in the program that this is linked into, and in all
// libraries that it loads. A count costs a nanosecond, so it is made in rounds that are timed, too.

/// The variable of the environment that names a file in which the counts are kept, as two numbers of eight
/// bytes, for the process that waits for this one.
#define CALL_COUNTS_VARIABLE "CALL_COUNTS"

/// How often the process has called fsync and fdatasync.
long call_counts_syncs(void);

/// How many frames with pages of 4096 bytes the process has written to WALs of SQLite.
long call_counts_frames(void);

#endif
