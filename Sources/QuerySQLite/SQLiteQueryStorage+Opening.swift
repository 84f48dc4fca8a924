public import FoundationEssentials
import Query

extension SQLiteQueryStorage {
  /// Opens the storage of an application, as `init(applicationID:partition:configuration:)` does, without
  /// keeping the caller's thread: a slow disk may take long.
  ///
  /// - Parameters:
  ///   - applicationID: The name of the folders, as `org.example.notes`.
  ///   - partition: The account.
  ///   - configuration: How the storage works.
  /// - Returns: The storage. A task that is cancelled meanwhile gets it, too.
  /// - Throws: `StorageError` for what a person must mend.
  public static func open(
    applicationID: String,
    partition: String = "",
    configuration: Configuration = Configuration()
  ) async throws -> SQLiteQueryStorage {
    try await Self.onThread {
      try SQLiteQueryStorage(
        applicationID: applicationID, partition: partition, configuration: configuration)
    }
  }

  /// Opens a storage with all its files in one folder, as `init(directory:partition:configuration:)`
  /// does, without keeping the caller's thread: a slow disk may take long.
  ///
  /// - Parameters:
  ///   - directory: The folder.
  ///   - partition: The account.
  ///   - configuration: How the storage works.
  /// - Returns: The storage. A task that is cancelled meanwhile gets it, too.
  /// - Throws: `StorageError` for what a person must mend.
  public static func open(
    directory: URL,
    partition: String = "",
    configuration: Configuration = Configuration()
  ) async throws -> SQLiteQueryStorage {
    try await Self.onThread {
      try SQLiteQueryStorage(
        directory: directory, partition: partition, configuration: configuration)
    }
  }

  // A thread of its own: those of tasks are as few as processors, and others wait for them.
  private static func onThread(
    _ open: @escaping @Sendable () throws -> SQLiteQueryStorage
  ) async throws -> SQLiteQueryStorage {
    try await withCheckedThrowingContinuation { continuation in
      startThread("query-open") { continuation.resume(with: Result { try open() }) }
    }
  }
}
