import CFileRecorder
import Foundation
import Query
import QuerySQLite

/// A partition of a storage; each change and each acknowledgement of it is marked in the record.
struct Account {
  let name: String
  let storage: SQLiteQueryStorage
  private let client: QueryClient

  /// Opens an account of a folder, with so short a log that checkpoints come all the time.
  init(
    _ name: String,
    in folder: String,
    _ edit: (inout SQLiteQueryStorage.Configuration) -> Void = { _ in }
  ) throws {
    self.name = name
    var configuration = SQLiteQueryStorage.Configuration()
    configuration.checkpointFrames = 5
    configuration.writeDelay = .milliseconds(1)
    configuration.retryDelay = .milliseconds(2)
    // On a loaded machine a salvage takes long, and reads wait for it.
    configuration.busyTimeout = .seconds(60)
    edit(&configuration)
    self.storage = try SQLiteQueryStorage(
      directory: URL(filePath: folder), partition: name, configuration: configuration)
    self.client = QueryClient(storage: self.storage)
  }

  static let handler = MutationHandler(
    name: "note", instance: "[]", version: 1, upgradesOlder: false)

  /// Writes a line into the record.
  static func mark(_ words: String...) { file_recorder_mark(words.joined(separator: " ")) }

  func close() async throws {
    try await self.storage.close()
    Self.mark("closed")
  }

  /// Removes all of it.
  func erase() async throws {
    Self.mark("erasing", self.name)
    try await self.storage.erase()
    Self.mark("erased", self.name)
  }
}

// MARK: - Mutations

extension Account {
  /// Commits a mutation.
  ///
  /// - Returns: Its lease, if it was claimed.
  @discardableResult
  func enqueue(
    _ text: String, lane: String? = nil, length: Int = 100, file: URL? = nil,
    claiming: Bool = false
  ) async throws -> MutationLease? {
    var mutation = NewMutation(
      name: "note", instance: "[]", lane: lane, coder: "json",
      arguments: Data(PowerNote(text, version: 0, length: length).text.utf8))
    mutation.bodies = file.map { [$0] } ?? []
    Self.mark("enqueue", self.name, mutation.id.uuidString, text)
    let enqueued = try await self.storage.outbox.enqueue(mutation, claiming: claiming)
    Self.mark("enqueued", mutation.id.uuidString)
    return enqueued.lease
  }

  /// Sends the lowest mutation.
  func send(_ outcome: AttemptOutcome = .succeeded(SuccessfulAttempt(result: nil))) async throws {
    let request = ClaimRequest(.lowest(handledBy: [Self.handler]))
    guard let lease = try await self.storage.outbox.claim(request).leases.first else { return }
    try await self.settle(lease, outcome)
  }

  /// Records how an attempt ended.
  func settle(_ lease: MutationLease, _ outcome: AttemptOutcome) async throws {
    let id = lease.entry.id.uuidString
    guard case .succeeded = outcome else {
      _ = try await self.storage.outbox.settle(lease, outcome)
      return
    }
    Self.mark("sent", id)
    guard try await self.storage.outbox.settle(lease, outcome) else { return }
    Self.mark("settled", id)
  }

  static let failure = AttemptOutcome.failed(
    FailedAttempt(
      error: RestoredError(typeName: "T", text: "failed"), outcome: "transient", isCharged: true,
      maybeApplied: true, next: .now))
}

// MARK: - Values

extension Account {
  /// Writes a value, and waits until it is committed.
  func set(_ name: String, version: Int, length: Int = 200) async throws {
    Self.mark("set", self.name, name, "\(version)")
    self.client.store(for: PowerQuery(name: name).persisted()).currentValue = PowerNote(
      name, version: version, length: length)
    try await self.storage.flush()
    Self.mark("flushed")
  }

  /// A value as the next launch finds it.
  func text(_ name: String) async -> String? {
    let store = QueryClient(storage: self.storage).store(for: PowerQuery(name: name).persisted())
    await store.hydrated()
    return store.currentValue?.text
  }
}
