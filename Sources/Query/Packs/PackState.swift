/// How far a pack is.
public struct PackProgress: Hashable, Sendable {
  /// How many of its queries have their value in the storage. An infinite query counts when it has the
  /// pages that are wanted.
  public var done = 0
  /// How many queries it has.
  public var total = 0
  /// How many bytes the entries had when they were last fetched.
  public var bytes = 0
  /// How many queries could not be fetched, and are tried again by ``OfflinePacks/resume()``.
  public var failed = 0
  /// How many wait for the code that makes their request: for the same `keep`, or for `register` and
  /// ``OfflinePacks/resume()``.
  public var unregistered = 0

  /// Creates the progress of an empty pack.
  public init() {}

  init(_ counts: StoredPack.Counts) {
    (self.done, self.total, self.bytes) = (counts.done, counts.total, counts.bytes)
    (self.failed, self.unregistered) = (counts.failed, counts.unregistered)
  }

  /// The part that is there, from 0 to 1; 1 of an empty pack.
  public var fraction: Double {
    self.total > 0 ? Double(self.done) / Double(self.total) : 1
  }
}

/// What this process does for a pack.
public enum PackState: Hashable, Sendable {
  /// Nothing: it was not resumed, or was stopped.
  case idle
  /// It fetches.
  case fetching
  /// It waits, and goes on by itself.
  case waiting(PackWait)
  /// All is there. It goes on by itself if the pack is refreshed.
  case complete
  /// Something is missing, and it does not go on by itself but by a new `keep`, a removal of another
  /// pack, or ``OfflinePacks/resume()``.
  case stopped(PackError)
}

/// What a pack waits for.
public enum PackWait: Hashable, Sendable {
  /// The network.
  case network
  /// An unmetered network.
  case unmeteredNetwork
  /// Another process, or another client of this one, that fetches the rest.
  case others
  /// The storage, which cannot write.
  case storage(StorageError)
}

// MARK: - In words

extension PackState: CustomStringConvertible {
  /// The state in a few words of English, as for a log.
  public var description: String {
    switch self {
    case .idle: "idle"
    case .fetching: "fetching"
    case .waiting(let wait): "waiting for \(wait)"
    case .complete: "complete"
    case .stopped(let error): "stopped: \(error)"
    }
  }
}

extension PackWait: CustomStringConvertible {
  /// What is waited for, in a few words of English.
  public var description: String {
    switch self {
    case .network: "the network"
    case .unmeteredNetwork: "an unmetered network"
    case .others: "another process or client"
    case .storage(let error): "the storage: \(error)"
    }
  }
}
