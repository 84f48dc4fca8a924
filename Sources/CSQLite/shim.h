#ifndef QUERY_CSQLITE_SHIM_H
#define QUERY_CSQLITE_SHIM_H

#include <errno.h>
#include <fcntl.h>
#include <linux/stat.h>
#include <sqlite3.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <sys/timex.h>
#include <sys/vfs.h>
#include <unistd.h>

// Swift imports neither variadic functions nor macros that cast to a function, so each one needed
// has a function here.

/// Sets an option of a connection, `SQLITE_DBCONFIG_DEFENSIVE` for example.
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
/// `statfs` out, and `statvfs` does not report it.
static inline long long csqlite_file_system_type(const char *path) {
  struct statfs status;
  return statfs(path, &status) == 0 ? (long long)(status.f_type & 0xffffffffL) : -1;
}

/// The numbers of a file and of its file system, by a name in a folder, with the flags of `fstatat`; with
/// an empty name those of the open file itself. Returns 0, or -1. It does not ask for the file's times, as
/// `stat` does: once someone has, Linux 6.13 and later change them at the next write, and the next
/// `fdatasync` of the file takes a second write to the disk. A system call, since the C library declares
/// `statx` to GNU sources alone, which the other modules are not.
static inline int csqlite_file_number(
    int folder, const char *name, int flags, uint64_t *device, uint64_t *number) {
  // AT_EMPTY_PATH, which is for GNU sources, too.
  if (*name == 0) flags |= 0x1000;
  struct statx status;
  if (syscall(SYS_statx, folder, name, flags, STATX_TYPE | STATX_INO, &status) == 0) {
    *device = (uint64_t)status.stx_dev_major << 32 | status.stx_dev_minor;
    *number = status.stx_ino;
    return 0;
  }
  struct stat old;
  if (errno != ENOSYS || fstatat(folder, name, &old, flags) != 0) return -1;
  *device = old.st_dev;
  *number = old.st_ino;
  return 0;
}

/// Whether the kernel says that the wall clock is synchronised. Swift's module of the C library leaves
/// `adjtimex` out.
static inline int csqlite_clock_is_synchronised(void) {
  struct timex status = {0};
  int state = adjtimex(&status);
  return state >= 0 && state != TIME_ERROR && (status.status & STA_UNSYNC) == 0;
}

/// A timer as a descriptor, which is readable once its time has come; or -1. Swift's module of the C
/// library leaves `timerfd_create` out.
static inline int csqlite_timer_create(void) {
  return timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
}

/// Sets a timer of `csqlite_timer_create` to come after so many nanoseconds, at least one.
static inline int csqlite_timer_set(int timer, long long nanoseconds) {
  struct itimerspec time = {0};
  time.it_value.tv_sec = nanoseconds / 1000000000;
  time.it_value.tv_nsec = nanoseconds % 1000000000;
  return timerfd_settime(timer, 0, &time, 0);
}

// MARK: The end of the files in a checkpoint

/// A file's methods while a checkpoint runs, with one of them replaced. `methods` comes first, so that
/// the file's pointer to its methods is a pointer to this.
typedef struct {
  sqlite3_io_methods methods;
  const sqlite3_io_methods *original;
  /// How many bytes the database keeps behind its last page.
  sqlite3_int64 room;
} csqlite_methods;

static inline void csqlite_replace_truncate(
    sqlite3_file *file, csqlite_methods *replacement, int (*truncate)(sqlite3_file *, sqlite3_int64)) {
  replacement->methods = *file->pMethods;
  // Bytes: SQLite calls it only during a checkpoint, whose locks it holds then.
  replacement->methods.xTruncate = truncate;
  replacement->original = file->pMethods;
  file->pMethods = &replacement->methods;
}

/// `xTruncate` of a WAL that keeps its disk space: a WAL without a header is empty, too.
static int csqlite_truncate_wal(sqlite3_file *file, sqlite3_int64 size) {
  const sqlite3_io_methods *original = ((const csqlite_methods *)file->pMethods)->original;
  static const char no_header[32];
  sqlite3_int64 length = 0;
  int result = original->xFileSize(file, &length);
  if (result != SQLITE_OK) return result;
  // Bytes: of the WAL, under the write lock and with no reader in it, as when SQLite truncates it.
  if (size != 0 || length < (sqlite3_int64)sizeof no_header) return original->xTruncate(file, size);
  result = original->xWrite(file, no_header, (int)sizeof no_header, 0);
  return result == SQLITE_OK ? original->xSync(file, SQLITE_SYNC_NORMAL) : result;
}

static inline sqlite3_int64 csqlite_big_endian(const unsigned char *bytes, int count) {
  sqlite3_int64 number = 0;
  for (int index = 0; index < count; index++) number = number << 8 | bytes[index];
  return number;
}

/// The length of a database's pages by its header (fileformat2.html, 1.3), which ends with the last page that
/// is in use; the one that SQLite asks for if the header does not tell. A connection that opens a file beside
/// an empty WAL takes all of its length for pages, with the room behind them, and asks for that.
static sqlite3_int64 csqlite_used_length(sqlite3_file *file, sqlite3_int64 size) {
  const csqlite_methods *methods = (const csqlite_methods *)file->pMethods;
  unsigned char header[100];
  if (methods->original->xRead(file, header, (int)sizeof header, 0) != SQLITE_OK) return size;
  // The count is valid for the change that made it alone.
  if (memcmp(header + 24, header + 92, 4) != 0) return size;
  sqlite3_int64 page = csqlite_big_endian(header + 16, 2);
  sqlite3_int64 length = (page == 1 ? 65536 : page) * csqlite_big_endian(header + 28, 4);
  return length > 0 && length < size ? length : size;
}

/// Whether a part of a file has no byte but zeros.
static int csqlite_is_zero(
    sqlite3_file *file, const sqlite3_io_methods *methods, sqlite3_int64 start, sqlite3_int64 end) {
  static const unsigned char zeros[4096];
  unsigned char bytes[sizeof zeros];
  while (start < end) {
    int count = end - start < (sqlite3_int64)sizeof bytes ? (int)(end - start) : (int)sizeof bytes;
    if (methods->xRead(file, bytes, count, start) != SQLITE_OK) return 0;
    if (memcmp(bytes, zeros, (size_t)count) != 0) return 0;
    start += count;
  }
  return 1;
}

/// `xTruncate` of a database that keeps room behind its last page. A full disk is not an error:
/// there is as much room as there was.
static int csqlite_truncate_database(sqlite3_file *file, sqlite3_int64 size) {
  const csqlite_methods *methods = (const csqlite_methods *)file->pMethods;
  sqlite3_int64 wanted = csqlite_used_length(file, size) + methods->room;
  sqlite3_int64 length = 0;
  int result = methods->original->xFileSize(file, &length);
  if (result != SQLITE_OK) return result;
  // SQLite takes a size hint only in chunks, and would round later truncations to them.
  int chunk = 64 << 10;
  int no_chunk = 1;
  // A bit of the header's count may have flipped: what it leaves out is cut off only if it is room.
  if (length > wanted + chunk && wanted < size) {
    if (!csqlite_is_zero(file, methods->original, wanted, size)) return SQLITE_OK;
  }
  // Bytes: of the database, under the locks of checkpoints and of writers.
  if (length > wanted + chunk) return methods->original->xTruncate(file, wanted);
  if (length >= wanted) return SQLITE_OK;
  methods->original->xFileControl(file, SQLITE_FCNTL_CHUNK_SIZE, &chunk);
  methods->original->xFileControl(file, SQLITE_FCNTL_SIZE_HINT, &wanted);
  methods->original->xFileControl(file, SQLITE_FCNTL_CHUNK_SIZE, &no_chunk);
  return SQLITE_OK;
}

/// A checkpoint that leaves free space in both files, for when the disk is full. SQLite calls
/// `xTruncate` of either file under the locks that the checkpoint holds, so no other process writes
/// to it meanwhile; outside a checkpoint that is never certain.
///
/// - keeps_wal: in the mode `SQLITE_CHECKPOINT_TRUNCATE` the WAL becomes empty and keeps its length.
/// - room: how many bytes the database keeps behind its last page.
static inline int csqlite_checkpoint(
    sqlite3 *database, int mode, int keeps_wal, sqlite3_int64 room, int *frames, int *copied) {
  sqlite3_file *file = 0;
  sqlite3_file *wal = 0;
  csqlite_methods of_file = {.room = room};
  csqlite_methods of_wal = {.room = 0};
  int result = sqlite3_file_control(database, "main", SQLITE_FCNTL_FILE_POINTER, &file);
  if (result == SQLITE_OK) {
    result = sqlite3_file_control(database, "main", SQLITE_FCNTL_JOURNAL_POINTER, &wal);
  }
  if (result != SQLITE_OK) return result;
  int changes_file = room > 0 && file && file->pMethods;
  int changes_wal = keeps_wal && wal && wal->pMethods;
  if (changes_file) csqlite_replace_truncate(file, &of_file, csqlite_truncate_database);
  if (changes_wal) csqlite_replace_truncate(wal, &of_wal, csqlite_truncate_wal);
  result = sqlite3_wal_checkpoint_v2(database, "main", mode, frames, copied);
  if (changes_wal) wal->pMethods = of_wal.original;
  if (changes_file) file->pMethods = of_file.original;
  return result;
}

// MARK: The frames of a commit

/// The methods of a WAL while `COMMIT` runs, and the frames that are not written yet. SQLite writes each
/// frame in two pieces, its header and its page; here all of a commit go to the system in one call.
/// `methods` comes first, so that the file's pointer to its methods is a pointer to this.
typedef struct {
  sqlite3_io_methods methods;
  const sqlite3_io_methods *original;
  sqlite3_file *file;
  /// Where the gathered bytes begin in the file, and how many there are.
  sqlite3_int64 start;
  int count;
  /// Whether they end with the header of a frame that ends the commit.
  int is_last;
  /// The end of all that was written so far.
  sqlite3_int64 end;
  unsigned char bytes[16 * (24 + 4096)];
} csqlite_gathering;

static int csqlite_write_gathered(csqlite_gathering *gathering) {
  int count = gathering->count;
  gathering->count = 0;
  if (count == 0) return SQLITE_OK;
  // Bytes: those that SQLite has given to the WAL's `xWrite`, under the write lock that it holds.
  return gathering->original->xWrite(gathering->file, gathering->bytes, count, gathering->start);
}

/// `xWrite` of a WAL: a frame that follows the last one waits for the next one. The one that ends the
/// commit waits for none, since SQLite publishes the commit once it has written that.
static int csqlite_gather_write(sqlite3_file *file, const void *bytes, int count, sqlite3_int64 offset) {
  csqlite_gathering *gathering = (csqlite_gathering *)file->pMethods;
  // A header before the end of what was written is one that SQLite corrects in a frame that it has
  // written already, and no page follows it.
  int is_header = count == 24 && offset >= gathering->end;
  int follows = gathering->count > 0 && offset == gathering->start + gathering->count;
  if (!follows || count > (int)sizeof gathering->bytes - gathering->count) {
    int result = csqlite_write_gathered(gathering);
    if (result != SQLITE_OK) return result;
    follows = 0;
  }
  if (gathering->end < offset + count) gathering->end = offset + count;
  // Bytes: SQLite's own call, under the locks that it holds.
  if (!follows && !is_header) return gathering->original->xWrite(file, bytes, count, offset);
  if (gathering->count == 0) gathering->start = offset;
  memcpy(gathering->bytes + gathering->count, bytes, (size_t)count);
  gathering->count += count;
  if (is_header) {
    // The pages of the database after the commit; 0 in the other frames.
    static const unsigned char none[4];
    gathering->is_last = memcmp((const unsigned char *)bytes + 4, none, sizeof none) != 0;
    return SQLITE_OK;
  }
  return gathering->is_last ? csqlite_write_gathered(gathering) : SQLITE_OK;
}

static int csqlite_gather_read(sqlite3_file *file, void *bytes, int count, sqlite3_int64 offset) {
  csqlite_gathering *gathering = (csqlite_gathering *)file->pMethods;
  int result = csqlite_write_gathered(gathering);
  return result == SQLITE_OK ? gathering->original->xRead(file, bytes, count, offset) : result;
}

static int csqlite_gather_truncate(sqlite3_file *file, sqlite3_int64 size) {
  csqlite_gathering *gathering = (csqlite_gathering *)file->pMethods;
  int result = csqlite_write_gathered(gathering);
  // Bytes: SQLite's own call, under the locks that it holds.
  return result == SQLITE_OK ? gathering->original->xTruncate(file, size) : result;
}

static int csqlite_gather_sync(sqlite3_file *file, int flags) {
  csqlite_gathering *gathering = (csqlite_gathering *)file->pMethods;
  int result = csqlite_write_gathered(gathering);
  return result == SQLITE_OK ? gathering->original->xSync(file, flags) : result;
}

static int csqlite_gather_size(sqlite3_file *file, sqlite3_int64 *size) {
  csqlite_gathering *gathering = (csqlite_gathering *)file->pMethods;
  int result = csqlite_write_gathered(gathering);
  return result == SQLITE_OK ? gathering->original->xFileSize(file, size) : result;
}

/// Begins to gather what `COMMIT` writes to the WAL, until `csqlite_end_gathering`.
static inline void csqlite_begin_gathering(sqlite3 *database, csqlite_gathering *gathering) {
  sqlite3_file *file = 0;
  gathering->file = 0;
  if (sqlite3_file_control(database, "main", SQLITE_FCNTL_JOURNAL_POINTER, &file) != SQLITE_OK) return;
  if (!file || !file->pMethods) return;
  gathering->methods = *file->pMethods;
  // Bytes: SQLite alone calls them, during `COMMIT`, and holds the write lock.
  gathering->methods.xWrite = csqlite_gather_write;
  gathering->methods.xRead = csqlite_gather_read;
  gathering->methods.xTruncate = csqlite_gather_truncate;
  gathering->methods.xSync = csqlite_gather_sync;
  gathering->methods.xFileSize = csqlite_gather_size;
  gathering->original = file->pMethods;
  gathering->file = file;
  gathering->count = 0;
  gathering->end = 0;
  file->pMethods = &gathering->methods;
}

/// Ends it. What a failed commit has left is not written: it is in no commit. The journal of a file without
/// a WAL, in which nothing is gathered, may be closed by now.
static inline void csqlite_end_gathering(csqlite_gathering *gathering) {
  sqlite3_file *file = gathering->file;
  if (file && file->pMethods == &gathering->methods) file->pMethods = gathering->original;
  gathering->file = 0;
}

/// Whether the system's last error on either file of a database came from the disk, which SQLite
/// reports as corruption: `pread` has failed with EIO, ENXIO or ERANGE.
static inline int csqlite_disk_has_failed(sqlite3 *database) {
  int number = 0;
  sqlite3_file *wal = 0;
  sqlite3_file_control(database, "main", SQLITE_FCNTL_LAST_ERRNO, &number);
  if (number == EIO || number == ENXIO || number == ERANGE) return 1;
  sqlite3_file_control(database, "main", SQLITE_FCNTL_JOURNAL_POINTER, &wal);
  if (!wal || !wal->pMethods) return 0;
  number = 0;
  wal->pMethods->xFileControl(wal, SQLITE_FCNTL_LAST_ERRNO, &number);
  return number == EIO || number == ENXIO || number == ERANGE;
}

#endif
