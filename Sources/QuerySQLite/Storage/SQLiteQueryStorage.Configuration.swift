public import Query

extension SQLiteQueryStorage {
  /// How a storage works. All storages of a process on one file share its connections, so of several
  /// configurations the first one counts for all but the limits.
  public struct Configuration: Sendable {
    /// How many bytes the values of the partition may have, with their identities and errors, before
    /// the least recently used go. 256 MiB.
    public var maximumBytes = 256 << 20

    /// How many queries the partition may have. 100 000.
    public var maximumEntries = 100_000

    /// How long a change may wait for others to be written with it. After `kill -9` at most the changes
    /// of this time are missing. 50 ms.
    public var writeDelay = Duration.milliseconds(50)

    /// How long a write waits for another process's. 5 s.
    public var busyTimeout = Duration.seconds(5)

    /// How many connections read. Stores that are created while all are taken get their value a moment
    /// later. 2.
    public var readConnections = 2

    /// How soon a commit of the cache is on the disk: `normal`, by the next checkpoint, so that a power
    /// cut may cost what was committed since.
    public var cacheDurability = Durability.normal

    /// How soon a commit of the outbox is on the disk: `full`, before a mutation is acknowledged.
    public var outboxDurability = Durability.full

    /// Values with more coded bytes than this are decoded off the thread that creates the store. 1 MiB.
    public var synchronousHydrationLimit = 1 << 20

    /// Values with more coded bytes than this are not stored, with a warning. 32 MiB.
    public var maximumValueBytes = 32 << 20

    /// Whether living stores take over the values that other processes write. `false`.
    public var followsOtherProcesses = false

    /// Whether errors show the values that were bound to a statement, in `StorageError.expandedSQL`,
    /// and so in whatever log they are written to. `false`.
    public var revealsBoundValues = false

    /// How much of the history of ended mutations is kept.
    public var mutationHistory = MutationHistoryLimits()

    /// What tells the outbox the time.
    package var outboxClock = OutboxClock.systemWithSync

    /// How long a process may keep a mutation without saying that it is still there, which it does
    /// three times as often. 60 s.
    package var leaseLength = Duration.seconds(60)

    /// The VFS of SQLite that tests put their faults into; nil: the default one.
    package var vfs: String?

    /// How many pages the log may have before it is copied into the file. 1 000.
    package var checkpointFrames = 1_000

    /// How many rows one transaction changes of work that has no end of its own, where it has the time.
    /// 500.
    package var stepRows = 500

    /// How long after a failure it is tried again, each time twice as long, at most 30 s. 100 ms.
    package var retryDelay = Duration.milliseconds(100)

    /// How many bytes of coded values wait in memory while nothing can be written. 64 MiB.
    package var maximumBacklogBytes = 64 << 20

    /// The type of the file system of a path, as `statfs` says it; nil: ask the system.
    package var fileSystemType: (@Sendable (_ path: String) -> Int?)?

    /// How long `erase()` waits for others who read an older state of the file.
    package var erasePatience = Duration.seconds(30)

    /// Creates the configuration that fits most programs.
    public init() {}
  }

  /// How soon a commit is on the disk.
  public enum Durability: Sendable {
    /// With the next checkpoint: the file stays intact whatever happens, and a power cut may cost what
    /// was committed since the last one.
    case normal
    /// Before the commit returns.
    case full
  }
}
