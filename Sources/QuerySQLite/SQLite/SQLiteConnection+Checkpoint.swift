import CProbes
import CSQLite
import Query

extension SQLiteConnection {
  /// What a checkpoint does with the WAL. There is no passive mode: beside other processes it loses
  /// commits.
  enum CheckpointMode {
    /// Copies all of it into the database.
    case full
    /// Then also lets the next commit write from the WAL's beginning; the file keeps its size.
    case restart
    /// Then also empties the WAL, but its file keeps its length: a reader of it finds no commit,
    /// whatever bytes it has.
    case reset
    /// Then also truncates the WAL's file to nothing.
    case truncate

    fileprivate var code: Int32 {
      switch self {
      case .full: SQLITE_CHECKPOINT_FULL
      case .restart: SQLITE_CHECKPOINT_RESTART
      case .reset, .truncate: SQLITE_CHECKPOINT_TRUNCATE
      }
    }
  }

  /// The result of a checkpoint.
  struct CheckpointResult: Equatable {
    /// Whether it did all that its mode says. If not, another connection was checkpointing.
    let isComplete: Bool
    /// How many frames the WAL has.
    let walFrames: Int
    /// How many of them have been copied into the database.
    let copiedFrames: Int
  }

  /// Copies the WAL into the database. It waits for the write lock and then, holding it, for every
  /// reader of an older state.
  ///
  /// - Parameters:
  ///   - mode: What to do with the WAL.
  ///   - patience: How long to wait. nil, the rule, waits for ever: on a time-out SQLite would fall
  ///     back to a passive checkpoint.
  /// - Throws: `StorageError`; interrupted if the patience ended, and then nothing was copied;
  ///   misuse if the file has no WAL.
  func checkpoint(
    _ mode: CheckpointMode,
    patience: Duration? = nil
  ) throws(StorageError) -> CheckpointResult {
    precondition(self.transaction == .none, "a checkpoint runs outside transactions")
    let handle = try self.handle(for: "checkpoint")
    // A connection that has not read yet does not know of the WAL: the checkpoint would do nothing,
    // and report success.
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
    // SQLite returns busy at once if another connection is checkpointing, and at the end if that
    // one left frames to copy.
    if result & 0xff != SQLITE_BUSY { try self.check(result, "checkpoint") }
    probe_checkpoint(Int64(frames), Int64(copied))
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

extension SQLiteConnection {
  /// The bytes of a page in the WAL: a frame is the page and a header.
  static let frameBytes = 4_096 + 24
}

// MARK: - Giving way

extension SQLiteConnection {
  /// How long a checkpoint that gives way waits for readers while it keeps writers out. Reading one
  /// value takes some microseconds.
  static let readerPatience = Duration.milliseconds(2)

  /// How long it waits for the write lock.
  private static let writerPatience = Duration.milliseconds(250)

  /// Copies the WAL into the database, so that the next commit restarts it, unless a reader of an
  /// older state stays for longer than a few milliseconds: then nothing is copied.
  ///
  /// - Parameter mode: What to do with the WAL.
  /// - Returns: How it went, and how long it kept writers out.
  /// - Throws: `StorageError`.
  func checkpointGivingWay(
    _ mode: CheckpointMode
  ) throws -> (outcome: CheckpointOutcome, held: Duration) {
    do {
      // The few milliseconds are for readers. Waiting for other writers blocks no connection, and
      // one that has just released the lock gets it again at once.
      try self.waitForTurn()
    } catch StorageError.Code.busy {
      return (.busy, .zero)
    }
    // A checkpoint begins by syncing the WAL, which takes more than half of its time if nothing has
    // synced it before.
    try self.synchronise(SQLITE_FCNTL_JOURNAL_POINTER, "checkpoint")
    self.busyHandler.hasInterrupted = false
    let start = SuspendingClock.now
    defer { self.writeHolds.didHold(since: start) }
    return (try self.attemptCheckpoint(mode), start.duration(to: .now))
  }

  private func attemptCheckpoint(_ mode: CheckpointMode) throws -> CheckpointOutcome {
    do {
      let result = try self.checkpoint(mode, patience: Self.readerPatience)
      if result.isComplete { return .complete }
      // If a reader of the newest state stays, all is copied, and the WAL is not restarted.
      return self.busyHandler.hasInterrupted ? .blocked : .busy
    } catch StorageError.Code.interrupted {
      return .blocked
    }
  }

  /// Returns once this connection could get the write lock.
  private func waitForTurn() throws {
    let usual = self.busyHandler.patience
    self.busyHandler.patience = .limited(min(Self.writerPatience, self.options.busyTimeout))
    defer { self.busyHandler.patience = usual }
    try self.write {}
  }
}

/// How a checkpoint went.
enum CheckpointOutcome {
  /// The next commit restarts the WAL.
  case complete
  /// A reader was in the way.
  case blocked
  /// Another connection was checkpointing, or writing for too long: nothing is known about
  /// readers.
  case busy
  /// The disk is full, so that the file cannot grow.
  case full
}
