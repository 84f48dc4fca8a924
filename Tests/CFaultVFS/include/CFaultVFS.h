#ifndef QUERY_CFAULTVFS_H
#define QUERY_CFAULTVFS_H

#include <sqlite3.h>

// A VFS over the default one that fails when a test says so. Each has a name and a state of its
// own, so that tests run beside one another; all functions may be called from any thread.

typedef struct fault_vfs fault_vfs;

/// What SQLite does to a file; may be combined.
enum {
  FAULT_VFS_READ = 1,
  FAULT_VFS_WRITE = 2,
  FAULT_VFS_SYNC = 4,
  FAULT_VFS_TRUNCATE = 8,
  FAULT_VFS_OPEN = 16,
  FAULT_VFS_DELETE = 32,
  /// A write past the end of a file: what a full disk has no room for.
  FAULT_VFS_GROW = 64,
};

/// In the place of a result: the process is killed (SIGKILL) before the operation.
enum { FAULT_VFS_KILL = -1 };

/// Registers a VFS. Its memory is kept for good, since a connection may still use it.
fault_vfs *fault_vfs_create(const char *name);

/// From now on the `nth` operation of these kinds fails with a result, the first is 1, and if
/// `is_persistent` all after it too. There is one such rule; a new one takes its place.
void fault_vfs_arm(fault_vfs *vfs, int operations, long nth, int is_persistent, int result);

/// From now on each read of the file that is at a path now fails with a result, whatever its name is
/// later.
void fault_vfs_damage(fault_vfs *vfs, const char *path, int result);

/// From now on nothing fails, but what was damaged.
void fault_vfs_disarm(fault_vfs *vfs);

/// How many operations of these kinds there were since the last `fault_vfs_arm`, failed ones too.
long fault_vfs_count(fault_vfs *vfs, int operations);

/// How many operations have failed since the VFS was made.
long fault_vfs_failures(fault_vfs *vfs);

/// How many writes there were to a database or a WAL without the lock that keeps other connections
/// from it: the file's exclusive one, or else that of checkpoints for a database, and that of writers
/// for a WAL.
long fault_vfs_unlocked_writes(fault_vfs *vfs);

/// From now on what a database file and its WAL or journal hold after each sync is remembered.
void fault_vfs_remember_syncs(fault_vfs *vfs);

/// Writes the files as they were after their last syncs into a folder: the worst that a power cut
/// leaves of them. Returns 0, or -1 on failure.
int fault_vfs_write_synced(fault_vfs *vfs, const char *folder);

#endif
