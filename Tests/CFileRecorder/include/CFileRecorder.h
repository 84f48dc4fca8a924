#ifndef QUERY_CFILERECORDER_H
#define QUERY_CFILERECORDER_H

#include <stdint.h>

// Records what a program does to the files of a folder, below SQLite and the library: the functions of
// the C library that write, shorten, synchronise or name files are replaced in the program that this
// is linked into, and in all libraries that it loads. Until it is started they do as they always do.
//
// Shared memory of SQLite (`-shm`) is left out: it does not outlive a power cut.

/// What was done. A record is a sequence of a `file_record` each, its texts, and its bytes.
enum {
  FILE_RECORD_MARK = 1,
  FILE_RECORD_CREATE = 2,
  FILE_RECORD_WRITE = 3,
  FILE_RECORD_TRUNCATE = 4,
  FILE_RECORD_SYNC = 5,
  FILE_RECORD_SYNC_FOLDER = 6,
  FILE_RECORD_LINK = 7,
  FILE_RECORD_RENAME = 8,
  FILE_RECORD_UNLINK = 9,
  FILE_RECORD_MAKE_FOLDER = 10,
  FILE_RECORD_REMOVE_FOLDER = 11,
};

/// The head of what was done once, in the byte order of the machine.
typedef struct file_record {
  uint32_t kind;
  /// How many bytes of the path follow, relative to the folder; of a mark: of its text.
  uint32_t path_size;
  /// How many bytes of the new path follow that.
  uint32_t other_size;
  uint32_t reserved;
  /// The number of the file: another one may get it when the file is gone.
  uint64_t file;
  /// The offset of written bytes, or the new length.
  uint64_t offset;
  /// How many bytes were written, which follow.
  uint64_t size;
} file_record;

/// Begins to record what is done in a folder, behind what a file holds already.
///
/// @param folder The path of the folder, without links in it.
/// @param record The path of the record, outside of the folder.
/// @return 0, or what `errno` is.
int file_recorder_start(const char *folder, const char *record);

/// Writes a text into the record.
void file_recorder_mark(const char *text);

/// Kills the process (SIGKILL) before the `nth` call from now on that would be recorded; the first
/// is 1, and 0 means never.
void file_recorder_kill_before(long nth);

/// How many calls were recorded since `file_recorder_kill_before`.
long file_recorder_count(void);

#endif
