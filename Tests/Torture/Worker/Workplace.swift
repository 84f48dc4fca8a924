import Foundation
import Query
import QueryInspection
import QuerySQLite
import TestSupport

/// What a worker works with.
final class Workplace: Sendable {
  let order: WorkerOrder
  /// What tells the time to all workers.
  let clock: SharedClock
  private let log: LineLog
  private let server: LineLog
  private let generator: Locked<SeededGenerator>
  /// How many mutations this worker sends in one call, at most.
  let mostInOneCall: Int

  /// - Parameter order: What the worker was started with.
  /// - Throws: `POSIXError`.
  init(_ order: WorkerOrder) throws {
    self.order = order
    self.log = try LineLog(appendingTo: WorkerOrder.log(of: order.writer, in: order.folder))
    self.server = try LineLog(appendingTo: WorkerOrder.serverLog(in: order.folder))
    self.clock = try SharedClock(at: WorkerOrder.clock(in: order.folder))
    var generator = SeededGenerator(seed: order.seed)
    self.mostInOneCall = Bool.random(using: &generator) ? 1 : .random(in: 2...8, using: &generator)
    self.generator = Locked(generator)
  }

  /// Draws a number.
  func draw(_ range: ClosedRange<Int>) -> Int {
    self.generator.withLock { Int.random(in: range, using: &$0) }
  }

  /// Whether something comes about that does so often, in percent.
  func chance(_ percent: Int) -> Bool { self.draw(1...100) <= percent }

  /// The number of the first thing that this process does less 1: no earlier one of its name came so far.
  var firstNumber: Int { self.order.incarnation << 24 }

  /// Waits, at most until it is cancelled.
  func pause(milliseconds: ClosedRange<Int>) async {
    try? await Task.sleep(for: .milliseconds(self.draw(milliseconds)))
  }
}

// MARK: - Storage

extension Workplace {
  /// The configuration of this round.
  var configuration: SQLiteQueryStorage.Configuration {
    var configuration = SQLiteQueryStorage.Configuration()
    configuration.checkpointFrames = self.order.checkpointFrames
    configuration.leaseLength = .microseconds(self.order.lease)
    configuration.outboxClock = self.clock.outboxClock
    configuration.writeDelay = .milliseconds(5)
    if self.order.prunes { configuration.mutationHistory = .init(perMutation: 5, total: 50) }
    return configuration
  }

  /// Opens the storage for a while, and complains of what it tells that is not well.
  ///
  /// - Parameters:
  ///   - partition: The account.
  ///   - closing: Whether it is closed afterwards, or only released.
  ///   - body: What is done with it.
  func withStorage(
    partition: String = "",
    closing: Bool = true,
    _ body: (SQLiteQueryStorage) async throws -> Void
  ) async {
    do {
      let storage = try SQLiteQueryStorage(
        directory: self.order.storage, partition: partition, configuration: self.configuration)
      let events = storage.events
      let listener = Task {
        for await event in events { self.hear(event) }
      }
      defer { listener.cancel() }
      do {
        try await body(storage)
      } catch {
        self.complain(error, "")
      }
      if closing {
        await self.waitUntilHealthy(storage)
        try await storage.close()
      }
    } catch {
      self.complain(error, "")
    }
  }

  private func hear(_ event: StorageEvent) {
    switch event {
    case .degraded(let error): self.complain(error, "degraded: ")
    case .setAside(let name, let error): self.complain("\(name) was set aside: \(error)")
    case .quarantined(let identity, let miss):
      self.complain("the value of \(identity.text) was quarantined: \(miss)")
    default: break
    }
  }

  /// Waits until what was degraded works again, which it does by itself once there is room.
  private func waitUntilHealthy(_ storage: SQLiteQueryStorage) async {
    let end = Moment.now + .seconds(45)
    while storage.statistics.isDegraded {
      if Moment.now > end { return self.complain("still degraded after 45 s") }
      // Not `Task.sleep`, which ends at once if the task is cancelled.
      await withCheckedContinuation { continuation in
        DispatchQueue.global().asyncAfter(deadline: .now() + 0.05) { continuation.resume() }
      }
    }
  }
}

// MARK: - Logs

extension Workplace {
  /// Notes that a mutation is acknowledged.
  func acknowledge(_ mutation: SentMutation, key: String?) {
    self.log.append(["mutation", key ?? "-"] + mutation.words)
  }

  /// Notes that a value is on disk.
  func acknowledge(value: String, version: Int) {
    self.log.append(["value", value, "\(version)"])
  }

  /// Notes something that must not be.
  func complain(_ text: String, code: Int = 0) {
    self.log.append([
      "complaint", "\(Moment.now)", "\(code)", self.order.process, "\(self.order.role): \(text)",
    ])
  }

  /// Notes an error. A cancellation is the end of the round.
  func complain(_ error: any Error, _ what: String) {
    if error is CancellationError { return }
    self.complain("\(what)\(error)", code: Self.code(of: error))
  }

  /// SQLite's code, if it is one of the storage's errors; 0 for any other.
  private static func code(of error: any Error) -> Int {
    switch error {
    case let error as StorageError: Int(error.code.rawValue)
    case InspectionError.unavailable(let error): Int(error.code.rawValue)
    default: 0
    }
  }

  /// The server: notes what comes, and answers as it is told to.
  func receive(_ mutation: SentMutation, key: String) async throws {
    let process = self.order.process
    self.server.append(["began", "\(Moment.now)", process, key] + mutation.words)
    defer { self.server.append(["ended", "\(Moment.now)", process, key]) }
    try await Task.sleep(for: .milliseconds(self.chance(2) ? 200 : self.draw(0...10)))
    if mutation.isRefused { throw HTTPStatusError(statusCode: 422) }
    if self.chance(3) { throw HTTPStatusError(statusCode: 503) }
  }

  /// The server, of several mutations in one call: it carries them out in their order, and stops at the
  /// first that it cannot.
  func receive(_ notes: [BatchedMutation<LaneNote>]) async throws -> [Result<Void, any Error>] {
    if self.chance(3) { throw HTTPStatusError(statusCode: 503) }
    var results = [Result<Void, any Error>]()
    for note in notes {
      do {
        try await self.receive(note.arguments.mutation, key: note.attempt.idempotencyKey)
        results.append(.success(()))
      } catch let error as HTTPStatusError {
        results.append(.failure(error))
        if error.statusCode != 422 { break }
      }
    }
    // The answer is lost, whatever was carried out.
    if self.chance(3) { throw HTTPStatusError(statusCode: 503) }
    return results
  }
}
