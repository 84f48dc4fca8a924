#define _GNU_SOURCE
#include "CCallCounts.h"

#include <fcntl.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

typedef struct {
  _Atomic long syncs;
  _Atomic long frames;
} call_counts;

static call_counts own;
static call_counts *counts = &own;

/// Keeps the counts in the file that the environment names.
__attribute__((constructor)) static void share(void) {
  const char *path = getenv(CALL_COUNTS_VARIABLE);
  int descriptor = path ? open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600) : -1;
  if (descriptor < 0) return;
  if (ftruncate(descriptor, sizeof own) == 0) {
    void *map = mmap(0, sizeof own, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
    if (map != MAP_FAILED) counts = map;
  }
  close(descriptor);
}

long call_counts_syncs(void) { return atomic_load(&counts->syncs); }

long call_counts_frames(void) { return atomic_load(&counts->frames); }

// Weak, so that a program which replaces the same functions for another reason can have both.
#define REPLACED __attribute__((weak))

REPLACED int fsync(int descriptor) {
  atomic_fetch_add(&counts->syncs, 1);
  return (int)syscall(SYS_fsync, descriptor);
}

REPLACED int fdatasync(int descriptor) {
  atomic_fetch_add(&counts->syncs, 1);
  return (int)syscall(SYS_fdatasync, descriptor);
}

/// A frame is 24 bytes and a page, behind a head of 32 bytes. SQLite writes one after the other, and the
/// library several frames together: nothing else is written in such pieces to such places.
static ssize_t count_and_write(int descriptor, const void *bytes, size_t size, long offset) {
  const size_t frame = 24 + 4096;
  if (offset >= 32 && (offset - 32) % frame == 0 && (size == 24 || size % frame == 0)) {
    atomic_fetch_add(&counts->frames, size == 24 ? 1 : size / frame);
  }
  return syscall(SYS_pwrite64, descriptor, bytes, size, offset);
}

REPLACED ssize_t pwrite(int descriptor, const void *bytes, size_t size, off_t offset) {
  return count_and_write(descriptor, bytes, size, offset);
}

REPLACED ssize_t pwrite64(int descriptor, const void *bytes, size_t size, off64_t offset) {
  return count_and_write(descriptor, bytes, size, offset);
}
