public import Query

/// The settings of a storage. All storages of a process on one file share its connections, so the
/// first configuration applies to all of them, except for the limits.
public struct SQLiteStorageConfiguration: Sendable {
  /// The maximum bytes of the partition's values, with their identities and errors; beyond that
  /// the least recently used are evicted. 256 MiB.
  public var maximumBytes = 256 << 20

  /// The maximum number of queries in the partition. 100 000.
  public var maximumEntries = 100_000

  /// How long a change may wait to be written together with others. A `kill -9` loses at most the
  /// changes of this time. 50 ms.
  public var writeDelay = Duration.milliseconds(50)

  /// How long a write waits for another process's lock. 5 s.
  public var busyTimeout = Duration.seconds(5)

  /// The number of read connections. Stores created while all are in use get their value a moment
  /// later. 2.
  public var readConnections = 2

  /// When a commit of the cache reaches the disk: `normal`, with the next checkpoint, so that a
  /// power cut may lose the commits since.
  public var cacheDurability = Durability.normal

  /// When a commit of the outbox reaches the disk: `full`, before a mutation is acknowledged.
  public var outboxDurability = Durability.full

  /// Values with more encoded bytes than this are decoded off the thread that creates the store.
  /// 64 KiB, whose decoding takes some 3 ms: a screen makes several stores, and a frame is 8 to 16 ms.
  public var synchronousHydrationLimit = 64 << 10

  /// Values with more encoded bytes than this are not stored, with a warning. 32 MiB.
  public var maximumValueBytes = 32 << 20

  /// Whether living stores take over values that other processes write. `false`.
  public var followsOtherProcesses = false

  /// Whether errors include the values bound to a statement, in `StorageError.expandedSQL`, and
  /// so in any log they are written to. `false`.
  public var revealsBoundValues = false

  /// How much of the history of ended mutations is kept.
  public var mutationHistory = MutationHistoryLimits()

  /// What the waits of mutations go by in a test; nil: the clocks of the system.
  public var clock: MockQueryClock? {
    didSet { self.outboxClock = self.clock.map { OutboxClock($0) } ?? .systemWithSync }
  }

  /// The outbox's source of time.
  package var outboxClock = OutboxClock.systemWithSync

  /// How long a process may hold a mutation without a heartbeat, which it sends three times as
  /// often. 60 s.
  package var leaseLength = Duration.seconds(60)

  /// The SQLite VFS in which tests inject faults; nil: the default one.
  package var vfs: String?

  /// How many pages the WAL may have before it is checkpointed. 1 000.
  package var checkpointFrames = 1_000

  /// How many rows one transaction of long work changes, if it has the time. 250.
  package var stepRows = 250

  /// The delay before a failed write is retried, doubled each time, at most 30 s. 100 ms.
  package var retryDelay = Duration.milliseconds(100)

  /// The maximum bytes of encoded values in memory while nothing can be written. 64 MiB.
  package var maximumBacklogBytes = 64 << 20

  /// The type of a path's file system, as `statfs` reports it; nil: ask the system.
  package var fileSystemType: (@Sendable (_ path: String) -> Int?)?

  /// How long changes may wait before their bytes are counted.
  var countingDelay: Duration {
    min(self.writeDelay, max(self.writeDelay / 4, .milliseconds(10)), .seconds(1))
  }

  /// How long `erase()` waits for connections that read an older state of the file.
  package var erasePatience = Duration.seconds(30)

  /// Creates the default configuration, which suits most programs.
  public init() {}

  /// When a commit reaches the disk.
  public enum Durability: Sendable {
    /// With the next checkpoint: the file stays intact whatever happens, but a power cut may lose
    /// the commits since the last one.
    case normal
    /// Before the commit returns.
    case full
  }
}
