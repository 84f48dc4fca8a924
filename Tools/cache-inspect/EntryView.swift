import QueryInspection

/// An entry in JSON.
struct EntryView: Encodable {
  let hash: String
  let partition: String
  let kind: String
  let coder: String
  let version: Int
  let identity: String
  let byteCount: Int
  let storedAt: String?
  let updates: Int
  let failedAt: String?
  let failures: Int
  let expiresAt: String?
  let freshness: String
  let hasError: Bool
  let isInvalidated: Bool
  let isPinned: Bool
  let revision: Int64
  let usedNumber: Int64

  /// - Parameter now: Microseconds since 1970.
  init(_ entry: InspectedEntry, now: Int64) {
    self.hash = entry.hash.description
    self.partition = entry.partition
    self.kind = entry.kind
    self.coder = entry.coder
    self.version = entry.version
    self.identity = entry.identity
    self.byteCount = entry.byteCount
    self.storedAt = Moments.exact(entry.storedAt)
    self.updates = entry.updates
    self.failedAt = Moments.exact(entry.failedAt)
    self.failures = entry.failures
    self.expiresAt = Moments.exact(entry.expiresAt)
    self.freshness = entry.freshness(at: now).rawValue
    self.hasError = entry.hasError
    self.isInvalidated = entry.isInvalidated
    self.isPinned = entry.isPinned
    self.revision = entry.revision
    self.usedNumber = entry.usedNumber
  }
}
