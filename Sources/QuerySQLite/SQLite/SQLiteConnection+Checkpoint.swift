import CSQLite
import Query

extension SQLiteConnection {
  /// How much of the WAL a checkpoint wants to be rid of. There is no passive mode: beside other
  /// processes it loses commits.
  enum CheckpointMode {
    /// All of it is copied into the database.
    case full
    /// Then the next commit writes from the WAL's beginning again; the file keeps its size.
    case restart
    /// Then the WAL is empty, and its file keeps its length: who reads it finds no commit, whatever
    /// is in it.
    case reset
    /// Then the WAL's file is empty.
    case truncate

    fileprivate var code: Int32 {
      switch self {
      case .full: SQLITE_CHECKPOINT_FULL
      case .restart: SQLITE_CHECKPOINT_RESTART
      case .reset, .truncate: SQLITE_CHECKPOINT_TRUNCATE
      }
    }
  }

  /// What a checkpoint did.
  struct CheckpointResult: Equatable {
    /// Whether it did all that its mode asks for. Otherwise another connection was checkpointing.
    let isComplete: Bool
    /// How many frames the WAL has.
    let walFrames: Int
    /// How many of them the database has too.
    let copiedFrames: Int
  }

  /// Copies the WAL into the database. It waits for the write lock and then, holding it, for every
  /// reader of an older state.
  ///
  /// - Parameters:
  ///   - mode: What is wanted.
  ///   - patience: How long to wait. Nil, the rule, waits for ever: on a time-out SQLite would fall
  ///     back to a passive checkpoint.
  /// - Throws: `StorageError`; interrupted where the patience ended, and then nothing was copied;
  ///   misuse where the file has no WAL.
  func checkpoint(
    _ mode: CheckpointMode,
    patience: Duration? = nil
  ) throws(StorageError) -> CheckpointResult {
    precondition(self.transaction == .none, "a checkpoint runs outside transactions")
    let handle = try self.handle(for: "checkpoint")
    // A connection that has not read yet does not know of the WAL: it would do nothing, and say
    // that all is well.
    guard try self.pragma("PRAGMA journal_mode") == "wal" else {
      throw StorageError(
        operation: "checkpoint", code: .misuse, message: "the file has no WAL",
        fileName: self.fileName)
    }
    let usual = self.busyHandler.patience
    self.busyHandler.patience = patience.map { .interrupting(after: $0) } ?? .endless
    defer { self.busyHandler.patience = usual }
    var frames: Int32 = 0
    var copied: Int32 = 0
    let result = csqlite_checkpoint(
      handle, mode.code, mode == .reset ? 1 : 0, mode == .truncate ? 0 : Int64(self.reservedBytes),
      &frames, &copied)
    // Busy is what it answers at once where another connection is at it, and at the end where that
    // one left something to do.
    if result & 0xff != SQLITE_BUSY { try self.check(result, "checkpoint") }
    let isComplete = result == SQLITE_OK
    // The next commit is the WAL's first.
    if isComplete && mode != .full { self.walFrames = 0 }
    return CheckpointResult(
      isComplete: isComplete,
      walFrames: Int(frames),
      copiedFrames: Int(copied)
    )
  }
}

// MARK: - Giving way

extension SQLiteConnection {
  /// How long a checkpoint that gives way waits for readers while it keeps writers out. Reading one value
  /// takes some microseconds.
  static let readerPatience = Duration.milliseconds(2)

  /// How long it waits for its turn to write.
  private static let writerPatience = Duration.milliseconds(250)

  /// Copies the WAL into the database, so that the next commit begins it anew, unless a reader of an
  /// older state is in the way for longer than a few milliseconds: then nothing is copied.
  ///
  /// - Parameter mode: What becomes of the WAL.
  /// - Returns: How it went, and for how long it kept writers out.
  /// - Throws: `StorageError`.
  func checkpointGivingWay(
    _ mode: CheckpointMode
  ) throws -> (outcome: CheckpointSchedule.Outcome, held: Duration) {
    do {
      // The few milliseconds are for readers. To wait for other writers keeps nobody from anything, and
      // who has just had the lock gets it again at once.
      try self.waitForTurn()
    } catch StorageError.Code.busy {
      return (.busy, .zero)
    }
    // A checkpoint begins by syncing the WAL: the longer half of its time, if nobody did it before.
    try self.check(csqlite_sync_wal(self.handle(for: "checkpoint")), "checkpoint")
    self.busyHandler.hasInterrupted = false
    let start = SuspendingClock.now
    let outcome = try self.attemptCheckpoint(mode)
    self.writeHolds.didHold(since: start)
    return (outcome, start.duration(to: .now))
  }

  private func attemptCheckpoint(_ mode: CheckpointMode) throws -> CheckpointSchedule.Outcome {
    do {
      let result = try self.checkpoint(mode, patience: Self.readerPatience)
      if result.isComplete { return .complete }
      // Where a reader of the newest state stays, all is copied, and the WAL is not begun anew.
      return self.busyHandler.hasInterrupted ? .blocked : .busy
    } catch StorageError.Code.interrupted {
      return .blocked
    }
  }

  /// Returns when this connection could write.
  private func waitForTurn() throws {
    let usual = self.busyHandler.patience
    self.busyHandler.patience = .limited(min(Self.writerPatience, self.options.busyTimeout))
    defer { self.busyHandler.patience = usual }
    try self.write {}
  }
}
