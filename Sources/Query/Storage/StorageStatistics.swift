/// The content of a storage, and its activity since it was opened.
public struct StorageStatistics: Hashable, Sendable {
  /// How many queries are stored.
  public var entries = 0

  /// How many bytes they have, with their identities and errors.
  public var bytes = 0

  /// How many stores were hydrated.
  public var hits = 0

  /// How many stores found nothing that they could show.
  public var misses = 0

  /// How many entries were written.
  public var writes = 0

  /// How many transactions they were written in.
  public var commits = 0

  /// How many bytes were appended to the files' WALs: a page and 24 bytes for each page changed.
  public var bytesWritten = 0

  /// How many entries were removed to keep to the limits.
  public var evictions = 0

  /// How many entries could not be read.
  public var quarantined = 0

  /// Whether nothing can be written, or read, for now.
  public var isDegraded = false

  /// Creates statistics of nothing.
  public init() {}
}
