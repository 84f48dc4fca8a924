#ifndef QUERY_CSQLITE_SHIM_H
#define QUERY_CSQLITE_SHIM_H

#include <sqlite3.h>
#include <sys/timex.h>
#include <sys/vfs.h>

// Swift imports neither functions with variable arguments nor macros that cast to a function, so
// each of them that is needed has a function of its own here.

/// Sets a switch of a connection, `SQLITE_DBCONFIG_DEFENSIVE` and the like.
static inline int csqlite_configure(sqlite3 *database, int option, int value) {
  return sqlite3_db_config(database, option, value, (int *)0);
}

/// Binds bytes, which SQLite copies. With no bytes `bytes` is not read, but must not be NULL, which
/// would bind a NULL.
static inline int csqlite_bind_bytes(
    sqlite3_stmt *statement, int index, const void *bytes, sqlite3_uint64 count) {
  return sqlite3_bind_blob64(statement, index, bytes, count, SQLITE_TRANSIENT);
}

/// Binds UTF-8, which SQLite copies, by its length, so that a NUL inside is kept.
static inline int csqlite_bind_text(
    sqlite3_stmt *statement, int index, const char *text, sqlite3_uint64 count) {
  return sqlite3_bind_text64(statement, index, text, count, SQLITE_TRANSIENT, SQLITE_UTF8);
}

/// The type of the file system that a path is on, or -1. Swift's module of the C library leaves
/// `statfs` out, and `statvfs` does not tell.
static inline long long csqlite_file_system_type(const char *path) {
  struct statfs status;
  return statfs(path, &status) == 0 ? (long long)(status.f_type & 0xffffffffL) : -1;
}

/// Whether the kernel says that the wall clock is synchronised. Swift's module of the C library leaves
/// `adjtimex` out.
static inline int csqlite_clock_is_synchronised(void) {
  struct timex status = {0};
  int state = adjtimex(&status);
  return state >= 0 && state != TIME_ERROR && (status.status & STA_UNSYNC) == 0;
}

#endif
