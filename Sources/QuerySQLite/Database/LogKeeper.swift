import Query

/// Checkpoints the WAL of a database: when it has become long, and when nothing was committed for a
/// moment.
///
/// Never passively, which loses commits beside other processes. It does not wait for a reader in
/// the way, since no process can write meanwhile.
struct LogKeeper {
  private let kind: DatabaseKind
  private(set) var schedule: CheckpointSchedule

  /// Whether the first checkpoint that is due is left to the writing thread's other work, since a caller waits
  /// for what is committed.
  var leavesCheckpoints = false

  /// Whether one has been left to it.
  private(set) var isLeft = false

  init(kind: DatabaseKind, folder: String, frameLimit: Int) {
    self.kind = kind
    self.schedule = CheckpointSchedule(
      frameLimit: frameLimit, CheckpointPause(kind: kind, folder: folder))
  }

  /// When to call ``checkpointIfDue(_:_:)``, if nothing is committed until then; nil: not at all.
  var due: SuspendingClock.Instant? { self.schedule.due }

  /// Whether a reader was in the way of the last checkpoint.
  var isBlocked: Bool { self.schedule.pause != nil }

  /// The cache's next commit writes its WAL from the beginning. The outbox's WAL is emptied, too:
  /// it outlives a close, and the process that opens the file next would read the copied frames
  /// again, over newer pages if a bit of the WAL's end had flipped, or over another file that was
  /// copied to this place.
  private var mode: SQLiteConnection.CheckpointMode { self.kind == .cache ? .restart : .reset }

  /// Records a commit, and checkpoints if the WAL has become long.
  ///
  /// - Throws: `StorageError` if the file is damaged. Anything else is retried later.
  mutating func didCommit(_ connection: SQLiteConnection) throws(StorageError) {
    try self.didCommit(frames: connection.walFrames, connection)
  }

  /// Records a commit of this or an earlier process, and checkpoints if the WAL has become long.
  ///
  /// - Parameter frames: How many frames the WAL has.
  /// - Throws: `StorageError` if the file is damaged.
  mutating func didCommit(
    frames: Int, _ connection: SQLiteConnection
  ) throws(StorageError) {
    if self.schedule.didCommit(frames: frames) { try self.checkpoint(connection) }
  }

  /// Checkpoints if it is time to.
  ///
  /// - Throws: `StorageError` if the file is damaged.
  mutating func checkpointIfDue(
    _ connection: SQLiteConnection?, _ now: SuspendingClock.Instant
  ) throws(StorageError) {
    guard self.schedule.isDue(now), let connection else { return }
    try self.checkpoint(connection)
  }

  /// Checkpoints now, or has the writing thread do so.
  ///
  /// - Throws: `StorageError` if the file is damaged.
  mutating func checkpoint(_ connection: SQLiteConnection) throws(StorageError) {
    if self.leavesCheckpoints, !self.isLeft {
      self.isLeft = true
      return self.schedule.checkpointSoon()
    }
    self.isLeft = false
    do {
      let (outcome, held) = try connection.checkpointGivingWay(self.mode)
      self.schedule.didCheckpoint(outcome, held: held)
      connection.stepShare = self.schedule.limitShare
    } catch {
      let failure = StorageError(any: error, operation: "checkpoint")
      if failure.isDamage(of: self.kind) { throw failure }
      self.schedule.didCheckpoint(failure.code == .full ? .full : .blocked)
    }
  }
}
