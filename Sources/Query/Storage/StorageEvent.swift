/// What happened in a storage.
public enum StorageEvent: Hashable, Sendable {
  /// Changes were written: so many entries, in one transaction.
  case committed(entries: Int)

  /// Entries were removed to keep to the limits of the storage.
  case evicted(entries: Int)

  /// A store found nothing that it can show, and runs its request.
  case missed(QueryIdentity, StorageMiss)

  /// An entry could not be read. It was moved to the quarantine, for a person to look at.
  case quarantined(QueryIdentity, StorageMiss)

  /// Nothing can be written for the time being, or nothing read: queries go on from memory and
  /// network.
  case degraded(StorageError)

  /// A storage that was ``degraded(_:)`` works again.
  case recovered

  /// A file that could not be used was renamed, and a new one took its place.
  ///
  /// - Parameters:
  ///   - fileName: The new name of the old one.
  ///   - reason: What was wrong with it.
  case setAside(fileName: String, reason: StorageError)

  /// Another process wrote a new value of a query.
  case changedByAnotherProcess(QueryIdentity)
}

/// Why a store was not hydrated.
public enum StorageMiss: Hashable, Sendable {
  /// Nothing is stored.
  case absent
  /// The value is older than the query's `maxAge`. It stays where it is.
  case expired
  /// A newer release of the application has written the value, with this version. It stays where it
  /// is, and this store writes nothing.
  case newerVersion(Int)
  /// An older release has written the value, with this version, and the query has no `upgrade`.
  case olderVersion(Int)
  /// The value was coded by this coder, which is not the query's.
  case otherCoder(String)
  /// The value does not decode, or belongs to another kind of state.
  case undecodable(String)
  /// The bytes are not those that were written.
  case wrongChecksum
  /// The hash of the identity is that of another identity, which is stored already.
  case collision
  /// It could not be read now, so whether there is one is not known.
  case failed(StorageError)

  /// Whether the entry is moved to the quarantine, since this release cannot use it. It does not come back from
  /// there, though another release could read it.
  public var isQuarantined: Bool {
    switch self {
    case .olderVersion, .otherCoder, .undecodable, .wrongChecksum: true
    case .absent, .expired, .newerVersion, .collision, .failed: false
    }
  }

  /// Whether there is nothing that a failed fetch must not hide.
  var isNothing: Bool { self == .absent || self.isQuarantined }
}
