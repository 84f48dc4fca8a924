#include "CFaultVFS.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define FAULT_VFS_KINDS 7

/// What a file held after its last sync.
typedef struct synced_file {
  struct synced_file *next;
  char *path;
  unsigned char *bytes;
  sqlite3_int64 size;
} synced_file;

struct fault_vfs {
  sqlite3_vfs base;
  sqlite3_vfs *real;
  pthread_mutex_t lock;
  int operations;
  long countdown;
  int is_persistent;
  int result;
  long counts[FAULT_VFS_KINDS];
  long failures;
  int remembers_syncs;
  synced_file *synced;
  struct fault_file *databases;
  long unlocked_writes;
  ino_t damaged;
  int damaged_result;
};

typedef struct fault_file {
  sqlite3_file base;
  fault_vfs *vfs;
  const char *path;
  int is_remembered;
  sqlite3_file *real;
  /// Set of a database, and of a WAL.
  int is_database;
  int is_wal;
  ino_t inode;
  struct fault_file *next_database;
  /// What a connection holds of a database: the file's lock, and those of the shm, exclusively.
  int lock;
  int shm_locks;
  /// What the system said of the last read that failed as a disk's does.
  int last_errno;
} fault_file;

// MARK: Rules

/// Counts an operation; the result that it fails with, or SQLITE_OK.
static int fault(fault_vfs *vfs, int operation) {
  pthread_mutex_lock(&vfs->lock);
  for (int i = 0; i < FAULT_VFS_KINDS; i++) {
    if (operation == 1 << i) vfs->counts[i]++;
  }
  int result = SQLITE_OK;
  if (vfs->operations & operation) {
    if (vfs->countdown > 0) vfs->countdown--;
    if (vfs->countdown == 0) {
      result = vfs->result;
      vfs->failures++;
      if (!vfs->is_persistent) vfs->operations = 0;
    }
  }
  pthread_mutex_unlock(&vfs->lock);
  if (result == FAULT_VFS_KILL) raise(SIGKILL);
  return result;
}

void fault_vfs_arm(fault_vfs *vfs, int operations, long nth, int is_persistent, int result) {
  pthread_mutex_lock(&vfs->lock);
  vfs->operations = operations;
  vfs->countdown = nth;
  vfs->is_persistent = is_persistent;
  vfs->result = result;
  memset(vfs->counts, 0, sizeof vfs->counts);
  pthread_mutex_unlock(&vfs->lock);
}

void fault_vfs_damage(fault_vfs *vfs, const char *path, int result) {
  struct stat status;
  pthread_mutex_lock(&vfs->lock);
  vfs->damaged = stat(path, &status) == 0 ? status.st_ino : 0;
  vfs->damaged_result = result;
  pthread_mutex_unlock(&vfs->lock);
}

void fault_vfs_disarm(fault_vfs *vfs) { fault_vfs_arm(vfs, 0, 0, 0, SQLITE_OK); }

long fault_vfs_count(fault_vfs *vfs, int operations) {
  pthread_mutex_lock(&vfs->lock);
  long count = 0;
  for (int i = 0; i < FAULT_VFS_KINDS; i++) {
    if (operations & (1 << i)) count += vfs->counts[i];
  }
  pthread_mutex_unlock(&vfs->lock);
  return count;
}

long fault_vfs_failures(fault_vfs *vfs) {
  pthread_mutex_lock(&vfs->lock);
  long failures = vfs->failures;
  pthread_mutex_unlock(&vfs->lock);
  return failures;
}

// MARK: Writes without a lock

/// The locks of the shm, as the WAL's format names them.
enum { SHM_WRITE = 1 << 0, SHM_CHECKPOINT = 1 << 1 };

/// Counts a write to a database or a WAL from which other connections are not locked out. A
/// connection that holds the file exclusively is alone; otherwise a checkpoint writes a database,
/// and the holder of the write lock writes a WAL. The lock is not held.
static void note_write(fault_file *file) {
  fault_vfs *vfs = file->vfs;
  if (!file->is_database && !file->is_wal) return;
  pthread_mutex_lock(&vfs->lock);
  const fault_file *database = file;
  if (file->is_wal) {
    const char *path = sqlite3_filename_database(file->path);
    database = vfs->databases;
    while (database && database->path != path) database = database->next_database;
  }
  int needed = file->is_wal ? SHM_WRITE : SHM_CHECKPOINT;
  if (!database || (database->lock < SQLITE_LOCK_EXCLUSIVE && !(database->shm_locks & needed))) {
    vfs->unlocked_writes++;
  }
  pthread_mutex_unlock(&vfs->lock);
}

long fault_vfs_unlocked_writes(fault_vfs *vfs) {
  pthread_mutex_lock(&vfs->lock);
  long count = vfs->unlocked_writes;
  pthread_mutex_unlock(&vfs->lock);
  return count;
}

/// Adds a database to those that are open, or takes it away.
static void add_database(fault_file *file) {
  pthread_mutex_lock(&file->vfs->lock);
  file->next_database = file->vfs->databases;
  file->vfs->databases = file;
  pthread_mutex_unlock(&file->vfs->lock);
}

static void remove_database(fault_file *file) {
  pthread_mutex_lock(&file->vfs->lock);
  for (fault_file **link = &file->vfs->databases; *link; link = &(*link)->next_database) {
    if (*link != file) continue;
    *link = file->next_database;
    break;
  }
  pthread_mutex_unlock(&file->vfs->lock);
}

// MARK: What was synced

void fault_vfs_remember_syncs(fault_vfs *vfs) {
  pthread_mutex_lock(&vfs->lock);
  vfs->remembers_syncs = 1;
  pthread_mutex_unlock(&vfs->lock);
}

/// Remembers what a file holds now. The lock is held.
static int remember(fault_vfs *vfs, fault_file *file) {
  sqlite3_int64 size = 0;
  int result = file->real->pMethods->xFileSize(file->real, &size);
  if (result != SQLITE_OK) return result;
  unsigned char *bytes = malloc(size > 0 ? (size_t)size : 1);
  if (!bytes) return SQLITE_NOMEM;
  for (sqlite3_int64 offset = 0; offset < size; offset += 65536) {
    int count = size - offset < 65536 ? (int)(size - offset) : 65536;
    result = file->real->pMethods->xRead(file->real, bytes + offset, count, offset);
    if (result != SQLITE_OK) {
      free(bytes);
      return result;
    }
  }
  synced_file *entry = vfs->synced;
  while (entry && strcmp(entry->path, file->path) != 0) entry = entry->next;
  if (!entry) {
    entry = calloc(1, sizeof *entry);
    entry->path = strdup(file->path);
    entry->next = vfs->synced;
    vfs->synced = entry;
  }
  free(entry->bytes);
  entry->bytes = bytes;
  entry->size = size;
  return SQLITE_OK;
}

static void forget(fault_vfs *vfs, const char *path) {
  pthread_mutex_lock(&vfs->lock);
  for (synced_file **link = &vfs->synced; *link; link = &(*link)->next) {
    if (strcmp((*link)->path, path) != 0) continue;
    synced_file *entry = *link;
    *link = entry->next;
    free(entry->path);
    free(entry->bytes);
    free(entry);
    break;
  }
  pthread_mutex_unlock(&vfs->lock);
}

int fault_vfs_write_synced(fault_vfs *vfs, const char *folder) {
  int result = 0;
  pthread_mutex_lock(&vfs->lock);
  for (synced_file *entry = vfs->synced; entry; entry = entry->next) {
    const char *name = strrchr(entry->path, '/');
    char path[4096];
    snprintf(path, sizeof path, "%s/%s", folder, name ? name + 1 : entry->path);
    FILE *file = fopen(path, "wb");
    if (!file) {
      result = -1;
      break;
    }
    if (fwrite(entry->bytes, 1, (size_t)entry->size, file) != (size_t)entry->size) result = -1;
    if (fclose(file) != 0) result = -1;
  }
  pthread_mutex_unlock(&vfs->lock);
  return result;
}

// MARK: Methods of a file

#define REAL(file) (((fault_file *)(file))->real)
#define METHODS(file) (REAL(file)->pMethods)
#define FAIL(file, operation)                              \
  do {                                                     \
    int code = fault(((fault_file *)(file))->vfs, operation); \
    if (code != SQLITE_OK) return code;                    \
  } while (0)

/// What a read of a file that is damaged for good fails with.
static int damage(sqlite3_file *file) {
  fault_vfs *vfs = ((fault_file *)file)->vfs;
  pthread_mutex_lock(&vfs->lock);
  int is_damaged = vfs->damaged != 0 && ((fault_file *)file)->inode == vfs->damaged;
  int result = is_damaged ? vfs->damaged_result : SQLITE_OK;
  pthread_mutex_unlock(&vfs->lock);
  return result;
}

static int file_close(sqlite3_file *file) {
  if (((fault_file *)file)->is_database) remove_database((fault_file *)file);
  return METHODS(file)->xClose(REAL(file));
}

static int file_read(sqlite3_file *file, void *bytes, int count, sqlite3_int64 offset) {
  int code = fault(((fault_file *)file)->vfs, FAULT_VFS_READ);
  if (code == SQLITE_OK) code = damage(file);
  if (code == SQLITE_IOERR_CORRUPTFS) ((fault_file *)file)->last_errno = EIO;
  if (code != SQLITE_OK) return code;
  return METHODS(file)->xRead(REAL(file), bytes, count, offset);
}

static int file_write(sqlite3_file *file, const void *bytes, int count, sqlite3_int64 offset) {
  sqlite3_int64 size = 0;
  note_write((fault_file *)file);
  FAIL(file, FAULT_VFS_WRITE);
  int result = METHODS(file)->xFileSize(REAL(file), &size);
  if (result != SQLITE_OK) return result;
  if (offset + count > size) FAIL(file, FAULT_VFS_GROW);
  return METHODS(file)->xWrite(REAL(file), bytes, count, offset);
}

static int file_truncate(sqlite3_file *file, sqlite3_int64 size) {
  note_write((fault_file *)file);
  FAIL(file, FAULT_VFS_TRUNCATE);
  return METHODS(file)->xTruncate(REAL(file), size);
}

static int file_sync(sqlite3_file *file, int flags) {
  fault_file *self = (fault_file *)file;
  FAIL(file, FAULT_VFS_SYNC);
  int result = METHODS(file)->xSync(REAL(file), flags);
  if (result != SQLITE_OK || !self->is_remembered) return result;
  pthread_mutex_lock(&self->vfs->lock);
  if (self->vfs->remembers_syncs) result = remember(self->vfs, self);
  pthread_mutex_unlock(&self->vfs->lock);
  return result;
}

static int file_size(sqlite3_file *file, sqlite3_int64 *size) {
  return METHODS(file)->xFileSize(REAL(file), size);
}

static int file_lock(sqlite3_file *file, int lock) {
  int result = METHODS(file)->xLock(REAL(file), lock);
  if (result == SQLITE_OK) ((fault_file *)file)->lock = lock;
  return result;
}

static int file_unlock(sqlite3_file *file, int lock) {
  ((fault_file *)file)->lock = lock;
  return METHODS(file)->xUnlock(REAL(file), lock);
}

static int file_check_reserved_lock(sqlite3_file *file, int *result) {
  return METHODS(file)->xCheckReservedLock(REAL(file), result);
}

/// A hint makes a file longer, as a write does.
static int note_hint(sqlite3_file *file, const sqlite3_int64 *size) {
  sqlite3_int64 old = 0;
  int result = METHODS(file)->xFileSize(REAL(file), &old);
  if (result != SQLITE_OK || *size <= old) return result;
  note_write((fault_file *)file);
  FAIL(file, FAULT_VFS_GROW);
  return SQLITE_OK;
}

static int file_control(sqlite3_file *file, int code, void *argument) {
  int result = METHODS(file)->xFileControl(REAL(file), code, argument);
  int last_errno = ((fault_file *)file)->last_errno;
  if (code == SQLITE_FCNTL_LAST_ERRNO && last_errno != 0) *(int *)argument = last_errno;
  return result;
}

static int file_hint_or_control(sqlite3_file *file, int code, void *argument) {
  if (code == SQLITE_FCNTL_SIZE_HINT) {
    int result = note_hint(file, argument);
    if (result != SQLITE_OK) return result;
  }
  return file_control(file, code, argument);
}

static int file_sector_size(sqlite3_file *file) { return METHODS(file)->xSectorSize(REAL(file)); }

static int file_characteristics(sqlite3_file *file) {
  return METHODS(file)->xDeviceCharacteristics(REAL(file));
}

static int file_shm_map(sqlite3_file *file, int page, int size, int extend, void volatile **map) {
  return METHODS(file)->xShmMap(REAL(file), page, size, extend, map);
}

static int file_shm_lock(sqlite3_file *file, int offset, int count, int flags) {
  int result = METHODS(file)->xShmLock(REAL(file), offset, count, flags);
  if (result != SQLITE_OK || !(flags & SQLITE_SHM_EXCLUSIVE)) return result;
  int locks = ((1 << count) - 1) << offset;
  fault_file *self = (fault_file *)file;
  if (flags & SQLITE_SHM_LOCK) self->shm_locks |= locks;
  if (flags & SQLITE_SHM_UNLOCK) self->shm_locks &= ~locks;
  return result;
}

static void file_shm_barrier(sqlite3_file *file) { METHODS(file)->xShmBarrier(REAL(file)); }

static int file_shm_unmap(sqlite3_file *file, int is_deleted) {
  return METHODS(file)->xShmUnmap(REAL(file), is_deleted);
}

// Version 2: with a WAL, without memory mapping.
static const sqlite3_io_methods methods = {
    .iVersion = 2,
    .xClose = file_close,
    .xRead = file_read,
    .xWrite = file_write,
    .xTruncate = file_truncate,
    .xSync = file_sync,
    .xFileSize = file_size,
    .xLock = file_lock,
    .xUnlock = file_unlock,
    .xCheckReservedLock = file_check_reserved_lock,
    .xFileControl = file_hint_or_control,
    .xSectorSize = file_sector_size,
    .xDeviceCharacteristics = file_characteristics,
    .xShmMap = file_shm_map,
    .xShmLock = file_shm_lock,
    .xShmBarrier = file_shm_barrier,
    .xShmUnmap = file_shm_unmap,
};

// MARK: Methods of the VFS

static int vfs_open(
    sqlite3_vfs *vfs, const char *name, sqlite3_file *file, int flags, int *out_flags) {
  fault_vfs *self = (fault_vfs *)vfs;
  fault_file *opened = (fault_file *)file;
  opened->base.pMethods = 0;
  FAIL(&(fault_file){.vfs = self}, FAULT_VFS_OPEN);
  opened->vfs = self;
  // SQLite keeps the name until the file is closed.
  opened->path = name;
  opened->is_remembered =
      name && flags & (SQLITE_OPEN_MAIN_DB | SQLITE_OPEN_WAL | SQLITE_OPEN_MAIN_JOURNAL);
  opened->real = (sqlite3_file *)(opened + 1);
  int result = self->real->xOpen(self->real, name, opened->real, flags, out_flags);
  if (!opened->real->pMethods) return result;
  opened->base.pMethods = &methods;
  opened->is_database = flags & SQLITE_OPEN_MAIN_DB;
  opened->is_wal = flags & SQLITE_OPEN_WAL;
  opened->lock = opened->shm_locks = opened->last_errno = 0;
  struct stat status;
  opened->inode = name && stat(name, &status) == 0 ? status.st_ino : 0;
  if (opened->is_database) add_database(opened);
  return result;
}

static int vfs_delete(sqlite3_vfs *vfs, const char *name, int is_synced) {
  fault_vfs *self = (fault_vfs *)vfs;
  FAIL(&(fault_file){.vfs = self}, FAULT_VFS_DELETE);
  int result = self->real->xDelete(self->real, name, is_synced);
  if (result == SQLITE_OK) forget(self, name);
  return result;
}

static int vfs_access(sqlite3_vfs *vfs, const char *name, int flags, int *result) {
  sqlite3_vfs *real = ((fault_vfs *)vfs)->real;
  return real->xAccess(real, name, flags, result);
}

static int vfs_full_pathname(sqlite3_vfs *vfs, const char *name, int size, char *path) {
  sqlite3_vfs *real = ((fault_vfs *)vfs)->real;
  return real->xFullPathname(real, name, size, path);
}

static int vfs_randomness(sqlite3_vfs *vfs, int size, char *bytes) {
  sqlite3_vfs *real = ((fault_vfs *)vfs)->real;
  return real->xRandomness(real, size, bytes);
}

static int vfs_sleep(sqlite3_vfs *vfs, int microseconds) {
  sqlite3_vfs *real = ((fault_vfs *)vfs)->real;
  return real->xSleep(real, microseconds);
}

static int vfs_current_time(sqlite3_vfs *vfs, double *time) {
  sqlite3_vfs *real = ((fault_vfs *)vfs)->real;
  return real->xCurrentTime(real, time);
}

static int vfs_last_error(sqlite3_vfs *vfs, int size, char *text) {
  sqlite3_vfs *real = ((fault_vfs *)vfs)->real;
  return real->xGetLastError(real, size, text);
}

fault_vfs *fault_vfs_create(const char *name) {
  fault_vfs *vfs = calloc(1, sizeof *vfs);
  if (!vfs) return 0;
  vfs->real = sqlite3_vfs_find(0);
  pthread_mutex_init(&vfs->lock, 0);
  vfs->base = (sqlite3_vfs){
      .iVersion = 1,
      .szOsFile = (int)sizeof(fault_file) + vfs->real->szOsFile,
      .mxPathname = vfs->real->mxPathname,
      .zName = strdup(name),
      .xOpen = vfs_open,
      .xDelete = vfs_delete,
      .xAccess = vfs_access,
      .xFullPathname = vfs_full_pathname,
      .xRandomness = vfs_randomness,
      .xSleep = vfs_sleep,
      .xCurrentTime = vfs_current_time,
      .xGetLastError = vfs_last_error,
  };
  if (sqlite3_vfs_register(&vfs->base, 0) != SQLITE_OK) return 0;
  return vfs;
}
