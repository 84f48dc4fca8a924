import Foundation
import Query
import TestSupport

/// Servers and handlers that do whatever may go wrong, by chance, and what they saw.
final class HostileWorld: Sendable {
  /// A write: the lane that it is of, and which of that lane's it is.
  struct Write: Codable, Hashable, Sendable {
    var lane: Int
    var number: Int
    /// How often its arguments were changed by a conflict.
    var edition = 0

    var host: String { "host-\(abs(self.lane) % HostileWorld.hosts)" }
  }

  /// What one attempt meets.
  private enum Fate: CaseIterable {
    case success, lostAnswer, refused, busy, asksToWait, hangs, hangsOn, unknown, cancelsItself,
      conflict, slow, badGateway, halfAnswer
  }

  private struct Guarded {
    var random: SeededGenerator
    /// The writes of each lane that arrived, each with the key under which it came.
    var arrivals = [Int: [(write: Write, key: String)]]()
    var applied = [String: Write]()
    var running = [Int: [String]]()
    var overlaps = [String]()
    var conflicted = Set<Write>()
    var isKind = false
  }

  static let hosts = 5

  private let guarded: Locked<Guarded>

  init(seed: UInt64) { self.guarded = Locked(Guarded(random: SeededGenerator(seed: seed))) }

  /// From now on all goes well.
  func becomeKind() { self.guarded.withLock { $0.isKind = true } }

  /// How many attempts of one lane ran at a time where one of them should have been over.
  var overlaps: [String] { self.guarded.withLock { $0.overlaps } }

  /// The keys of what was carried out, each with the write.
  var applied: [String: Write] { self.guarded.withLock { $0.applied } }

  /// The numbers of each lane in the order in which they arrived first.
  var firstArrivals: [Int: [Int]] {
    self.guarded.withLock { world in
      world.arrivals.mapValues { arrivals in
        var seen = Set<Int>()
        return arrivals.map(\.write.number).filter { seen.insert($0).inserted }
      }
    }
  }

  private func fate(of write: Write) -> Fate {
    self.guarded.withLock { world in
      let fate = Fate.allCases.randomElement(using: &world.random) ?? .success
      let isLucky = Int.random(in: 0..<3, using: &world.random) == 0
      if world.isKind || isLucky { return .success }
      if fate == .conflict, !world.conflicted.insert(write).inserted { return .success }
      return fate
    }
  }

  private func arrive(_ write: Write, _ key: String) {
    self.guarded.withLock { $0.arrivals[write.lane, default: []].append((write, key)) }
  }

  private func apply(_ write: Write, _ key: String) {
    self.guarded.withLock { $0.applied[key] = write }
  }

  /// Sends writes of a lane one after another, up to the first that fails, as a server of batches does.
  func send(_ batch: [BatchedMutation<Write>]) async throws -> [Result<Void, any Error>] {
    var results = [Result<Void, any Error>]()
    for item in batch {
      do {
        results.append(.success(try await self.send(item.arguments, item.attempt)))
      } catch {
        if Bool.random() { throw error }
        return results + [.failure(error)]
      }
    }
    return results
  }

  /// Sends a write, as a handler does.
  func send(_ write: Write, _ attempt: MutationAttempt?) async throws {
    guard let attempt else { throw TestError() }
    let fate = self.fate(of: write)
    if fate == .refused { throw MutationUnreachedError(underlying: TestError()) }
    let key = attempt.idempotencyKey
    self.arrive(write, key)
    let what = "\(write) \(fate) attempt \(attempt.number) \(attempt.id)"
    if fate != .hangsOn { self.begin(write, what) }
    defer { if fate != .hangsOn { self.end(write, what) } }
    switch fate {
    case .success: self.apply(write, key)
    case .slow:
      try await Task.sleep(for: .milliseconds(10))
      self.apply(write, key)
    case .lostAnswer, .halfAnswer:
      self.apply(write, key)
      throw fate == .lostAnswer ? URLError(.networkConnectionLost) : URLError(.cannotParseResponse)
    case .refused: break
    case .busy: throw HTTPStatusError(statusCode: 503)
    case .badGateway: throw HTTPStatusError(statusCode: 520)
    case .asksToWait: throw HTTPStatusError(statusCode: 429, retryAfter: .milliseconds(20))
    case .hangs: try await Task.sleep(for: .seconds(3_600))
    case .hangsOn:
      // It does not listen, and goes on.
      await Task.detached { try? await Task.sleep(for: .milliseconds(60)) }.value
    case .unknown: throw TestError()
    case .cancelsItself: throw CancellationError()
    case .conflict: throw HTTPStatusError(statusCode: 409)
    }
    if fate == .hangsOn { self.apply(write, key) }
  }

  private func begin(_ write: Write, _ what: String) {
    self.guarded.withLock { world in
      let others = world.running[write.lane, default: []]
      if !others.isEmpty { world.overlaps.append("\(others) \(what)") }
      world.running[write.lane, default: []].append(what)
    }
  }

  private func end(_ write: Write, _ what: String) {
    self.guarded.withLock { $0.running[write.lane]?.removeAll { $0 == what } }
  }
}
