#define _GNU_SOURCE
#include "CFileRecorder.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

// Calls are made, and recorded, one after the other under `lock`, so that the record has their order.
// The record itself is written by system calls, which are not replaced.

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static _Atomic int is_recording;
static int record_descriptor = -1;
static char root[4096];
static size_t root_size;
static long calls;
static long kill_before;

// MARK: The record

static void give_up(const char *what) {
  fprintf(stderr, "file recorder: %s: %s\n", what, strerror(errno));
  abort();
}

static void append(file_record head, const char *path, const char *other, const void *bytes) {
  head.path_size = path ? (uint32_t)strlen(path) : 0;
  head.other_size = other ? (uint32_t)strlen(other) : 0;
  struct iovec parts[] = {
      {&head, sizeof head},
      {(void *)path, head.path_size},
      {(void *)other, head.other_size},
      {(void *)bytes, head.size},
  };
  size_t size = sizeof head + head.path_size + head.other_size + head.size;
  int number = errno;
  if (syscall(SYS_writev, record_descriptor, parts, 4) != (long)size) give_up("write");
  errno = number;
}

int file_recorder_start(const char *folder, const char *record) {
  record_descriptor = (int)syscall(
      SYS_openat, AT_FDCWD, record, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  if (record_descriptor < 0) return errno;
  root_size = strlen(folder);
  if (root_size >= sizeof root) return ENAMETOOLONG;
  memcpy(root, folder, root_size + 1);
  is_recording = 1;
  return 0;
}

void file_recorder_mark(const char *text) {
  if (!is_recording) return;
  pthread_mutex_lock(&lock);
  append((file_record){.kind = FILE_RECORD_MARK}, text, 0, 0);
  pthread_mutex_unlock(&lock);
}

void file_recorder_kill_before(long nth) {
  pthread_mutex_lock(&lock);
  calls = 0;
  kill_before = nth;
  pthread_mutex_unlock(&lock);
}

long file_recorder_count(void) {
  pthread_mutex_lock(&lock);
  long count = calls;
  pthread_mutex_unlock(&lock);
  return count;
}

/// Begins a call that is recorded.
static void begin_call(void) {
  pthread_mutex_lock(&lock);
  calls++;
  if (calls == kill_before) kill(getpid(), SIGKILL);
}

static void end_call(void) { pthread_mutex_unlock(&lock); }

// MARK: What is recorded

static int ends_with(const char *text, const char *end) {
  size_t size = strlen(text), end_size = strlen(end);
  return size >= end_size && strcmp(text + size - end_size, end) == 0;
}

/// The path relative to the folder, "" for the folder itself; nil if it is not inside.
static const char *in_folder(const char *path) {
  if (strncmp(path, root, root_size) != 0) return 0;
  if (path[root_size] == 0) return path + root_size;
  if (path[root_size] != '/' || ends_with(path, "-shm")) return 0;
  return path + root_size + 1;
}

static int path_of(int descriptor, char *path, size_t size) {
  char link[64];
  snprintf(link, sizeof link, "/proc/self/fd/%d", descriptor);
  ssize_t count = readlink(link, path, size - 1);
  if (count < 0) return 0;
  path[count] = 0;
  char *end = strstr(path, " (deleted)");
  if (end) *end = 0;
  return 1;
}

/// An open file of the folder.
typedef struct {
  char path[4096];
  const char *name;
  struct stat status;
} open_file;

static int find(int descriptor, open_file *file) {
  if (!is_recording) return 0;
  int number = errno;
  int found = path_of(descriptor, file->path, sizeof file->path) &&
              (file->name = in_folder(file->path)) && fstat(descriptor, &file->status) == 0 &&
              (S_ISREG(file->status.st_mode) || S_ISDIR(file->status.st_mode));
  errno = number;
  return found;
}

/// A path of the folder, from what a call names.
typedef struct {
  char path[8192];
  const char *name;
} named_file;

static int find_name(int folder, const char *path, named_file *file) {
  if (!is_recording) return 0;
  int number = errno;
  if (path[0] == '/') {
    snprintf(file->path, sizeof file->path, "%s", path);
  } else {
    char parent[4096];
    if (folder == AT_FDCWD ? !getcwd(parent, sizeof parent)
                           : !path_of(folder, parent, sizeof parent)) {
      errno = number;
      return 0;
    }
    snprintf(file->path, sizeof file->path, "%s/%s", parent, path);
  }
  size_t size = strlen(file->path);
  while (size > 1 && file->path[size - 1] == '/') file->path[--size] = 0;
  file->name = in_folder(file->path);
  errno = number;
  return file->name && file->name[0];
}

static uint64_t file_number(const char *path) {
  struct stat status;
  int number = errno;
  uint64_t result = lstat(path, &status) == 0 ? (uint64_t)status.st_ino : 0;
  errno = number;
  return result;
}

// MARK: Opening

static int open_at(int folder, const char *path, int flags, mode_t mode) {
  named_file named;
  if (!(flags & (O_CREAT | O_TRUNC)) || !find_name(folder, path, &named))
    return (int)syscall(SYS_openat, folder, path, flags, mode);
  begin_call();
  uint64_t before = file_number(named.path);
  int descriptor = (int)syscall(SYS_openat, folder, path, flags, mode);
  if (descriptor >= 0 && !before) {
    append(
        (file_record){.kind = FILE_RECORD_CREATE, .file = file_number(named.path)}, named.name, 0,
        0);
  } else if (descriptor >= 0 && flags & O_TRUNC) {
    append((file_record){.kind = FILE_RECORD_TRUNCATE, .file = before}, named.name, 0, 0);
  } else {
    calls--;
  }
  end_call();
  return descriptor;
}

#define MODE(flags)                                                    \
  mode_t mode = 0;                                                     \
  if ((flags)&O_CREAT || ((flags)&O_TMPFILE) == O_TMPFILE) {           \
    va_list arguments;                                                 \
    va_start(arguments, flags);                                        \
    mode = (mode_t)va_arg(arguments, int);                             \
    va_end(arguments);                                                 \
  }

int open(const char *path, int flags, ...) {
  MODE(flags)
  return open_at(AT_FDCWD, path, flags, mode);
}

int open64(const char *path, int flags, ...) {
  MODE(flags)
  return open_at(AT_FDCWD, path, flags, mode);
}

int openat(int folder, const char *path, int flags, ...) {
  MODE(flags)
  return open_at(folder, path, flags, mode);
}

int openat64(int folder, const char *path, int flags, ...) {
  MODE(flags)
  return open_at(folder, path, flags, mode);
}

int creat(const char *path, mode_t mode) {
  return open_at(AT_FDCWD, path, O_CREAT | O_WRONLY | O_TRUNC, mode);
}

int creat64(const char *path, mode_t mode) { return creat(path, mode); }

// MARK: Writing

static void did_write(open_file *file, const void *bytes, ssize_t count, off_t offset) {
  if (count <= 0) return;
  append(
      (file_record){
          .kind = FILE_RECORD_WRITE,
          .file = file->status.st_ino,
          .offset = (uint64_t)offset,
          .size = (uint64_t)count,
      },
      file->name, 0, bytes);
}

ssize_t pwrite(int descriptor, const void *bytes, size_t size, off_t offset) {
  open_file file;
  if (!find(descriptor, &file)) return syscall(SYS_pwrite64, descriptor, bytes, size, offset);
  begin_call();
  ssize_t count = syscall(SYS_pwrite64, descriptor, bytes, size, offset);
  did_write(&file, bytes, count, offset);
  end_call();
  return count;
}

ssize_t pwrite64(int descriptor, const void *bytes, size_t size, off64_t offset) {
  return pwrite(descriptor, bytes, size, offset);
}

ssize_t write(int descriptor, const void *bytes, size_t size) {
  open_file file;
  if (!find(descriptor, &file)) return syscall(SYS_write, descriptor, bytes, size);
  begin_call();
  int is_appending = fcntl(descriptor, F_GETFL) & O_APPEND;
  struct stat status = file.status;
  fstat(descriptor, &status);
  off_t offset = is_appending ? status.st_size : lseek(descriptor, 0, SEEK_CUR);
  ssize_t count = syscall(SYS_write, descriptor, bytes, size);
  did_write(&file, bytes, count, offset);
  end_call();
  return count;
}

static int resize(int descriptor, open_file *file, off_t size) {
  begin_call();
  int result = (int)syscall(SYS_ftruncate, descriptor, size);
  if (result == 0) {
    append(
        (file_record){
            .kind = FILE_RECORD_TRUNCATE,
            .file = file->status.st_ino,
            .offset = (uint64_t)size,
        },
        file->name, 0, 0);
  }
  end_call();
  return result;
}

int ftruncate(int descriptor, off_t size) {
  open_file file;
  if (!find(descriptor, &file)) return (int)syscall(SYS_ftruncate, descriptor, size);
  return resize(descriptor, &file, size);
}

int ftruncate64(int descriptor, off64_t size) { return ftruncate(descriptor, size); }

/// Nothing of this package does it; it must not be missed.
static void refuse(int descriptor, const char *what) {
  open_file file;
  if (find(descriptor, &file)) give_up(what);
}

int fallocate(int descriptor, int mode, off_t offset, off_t size) {
  refuse(descriptor, "fallocate");
  return (int)syscall(SYS_fallocate, descriptor, mode, offset, size);
}

int fallocate64(int descriptor, int mode, off64_t offset, off64_t size) {
  return fallocate(descriptor, mode, offset, size);
}

int posix_fallocate(int descriptor, off_t offset, off_t size) {
  return fallocate(descriptor, 0, offset, size) == 0 ? 0 : errno;
}

int posix_fallocate64(int descriptor, off64_t offset, off64_t size) {
  return posix_fallocate(descriptor, offset, size);
}

ssize_t sendfile(int output, int input, off_t *offset, size_t count) {
  refuse(output, "sendfile");
  return syscall(SYS_sendfile, output, input, offset, count);
}

ssize_t sendfile64(int output, int input, off64_t *offset, size_t count) {
  return sendfile(output, input, offset, count);
}

ssize_t copy_file_range(
    int input, off64_t *from, int output, off64_t *to, size_t count, unsigned flags) {
  refuse(output, "copy_file_range");
  return syscall(SYS_copy_file_range, input, from, output, to, count, flags);
}

// MARK: Synchronising

static int synchronise(int descriptor, long call) {
  open_file file;
  if (!find(descriptor, &file)) return (int)syscall(call, descriptor);
  begin_call();
  int result = (int)syscall(call, descriptor);
  if (result == 0) {
    int is_folder = S_ISDIR(file.status.st_mode);
    append(
        (file_record){
            .kind = is_folder ? FILE_RECORD_SYNC_FOLDER : FILE_RECORD_SYNC,
            .file = file.status.st_ino,
        },
        file.name, 0, 0);
  }
  end_call();
  return result;
}

int fsync(int descriptor) { return synchronise(descriptor, SYS_fsync); }

int fdatasync(int descriptor) { return synchronise(descriptor, SYS_fdatasync); }

// MARK: Names

int linkat(int old_folder, const char *old, int new_folder, const char *new, int flags) {
  named_file from, to;
  if (!find_name(new_folder, new, &to) || !find_name(old_folder, old, &from))
    return (int)syscall(SYS_linkat, old_folder, old, new_folder, new, flags);
  begin_call();
  int result = (int)syscall(SYS_linkat, old_folder, old, new_folder, new, flags);
  if (result == 0) {
    append(
        (file_record){.kind = FILE_RECORD_LINK, .file = file_number(to.path)}, from.name, to.name,
        0);
  }
  end_call();
  return result;
}

int link(const char *old, const char *new) { return linkat(AT_FDCWD, old, AT_FDCWD, new, 0); }

int renameat2(
    int old_folder, const char *old, int new_folder, const char *new, unsigned int flags) {
  named_file from, to;
  int is_from = find_name(old_folder, old, &from), is_to = find_name(new_folder, new, &to);
  if (!is_from && !is_to)
    return (int)syscall(SYS_renameat2, old_folder, old, new_folder, new, flags);
  if (!is_from || !is_to) give_up("a file is renamed into or out of the folder");
  begin_call();
  int result = (int)syscall(SYS_renameat2, old_folder, old, new_folder, new, flags);
  if (result == 0) {
    append(
        (file_record){.kind = FILE_RECORD_RENAME, .file = file_number(to.path)}, from.name,
        to.name, 0);
  }
  end_call();
  return result;
}

int renameat(int old_folder, const char *old, int new_folder, const char *new) {
  return renameat2(old_folder, old, new_folder, new, 0);
}

int rename(const char *old, const char *new) {
  return renameat2(AT_FDCWD, old, AT_FDCWD, new, 0);
}

int unlinkat(int folder, const char *path, int flags) {
  named_file named;
  if (!find_name(folder, path, &named)) return (int)syscall(SYS_unlinkat, folder, path, flags);
  begin_call();
  int result = (int)syscall(SYS_unlinkat, folder, path, flags);
  if (result == 0) {
    int is_folder = flags & AT_REMOVEDIR;
    append(
        (file_record){.kind = is_folder ? FILE_RECORD_REMOVE_FOLDER : FILE_RECORD_UNLINK},
        named.name, 0, 0);
  } else {
    calls--;
  }
  end_call();
  return result;
}

int unlink(const char *path) { return unlinkat(AT_FDCWD, path, 0); }

int rmdir(const char *path) { return unlinkat(AT_FDCWD, path, AT_REMOVEDIR); }

int mkdirat(int folder, const char *path, mode_t mode) {
  named_file named;
  if (!find_name(folder, path, &named)) return (int)syscall(SYS_mkdirat, folder, path, mode);
  begin_call();
  int result = (int)syscall(SYS_mkdirat, folder, path, mode);
  if (result == 0) {
    append((file_record){.kind = FILE_RECORD_MAKE_FOLDER}, named.name, 0, 0);
  } else {
    calls--;
  }
  end_call();
  return result;
}

int mkdir(const char *path, mode_t mode) { return mkdirat(AT_FDCWD, path, mode); }
