import Foundation
import Query
import TestSupport

/// An outbox and the reference, to which the same is done.
///
/// New keys are made at random by each, so they are compared by whether they are the one that was given.
struct OutboxPair {
  private let reference: OutboxTrial
  private let other: OutboxTrial
  private var ids = [UUID]()
  private var keys = Set<String>()
  /// The leases of both, in the order in which they were given.
  private var leases = [(reference: MutationLease, other: MutationLease)]()
  /// What the walk has met.
  var met = OutboxCoverage()

  static let names = ["a", "b"]
  static let maximumArgumentBytes = 64
  static let aliases = ["x", "y", "z"]

  init(_ kind: StorageUnderTest, _ limits: MutationHistoryLimits) throws {
    self.reference = try OutboxTrial(
      .memory, limits: limits, maximumArgumentBytes: Self.maximumArgumentBytes)
    self.other = try OutboxTrial(
      kind, limits: limits, maximumArgumentBytes: Self.maximumArgumentBytes)
  }
}

// MARK: - Choosing

extension OutboxPair {
  /// What is done next.
  func nextOperation(using generator: inout SeededGenerator) -> OutboxOperation {
    switch Int.random(in: 0..<100, using: &generator) {
    case 0..<3:
      return .enqueueTogether(
        (0..<Int.random(in: 1...4, using: &generator)).map { _ in
          self.mutation(using: &generator)
        })
    case 3..<28:
      return .enqueue(
        self.mutation(using: &generator), claiming: Bool.random(using: &generator))
    case 28..<45: return self.claim(using: &generator)
    case 45..<50: return .claimOne(self.id(using: &generator))
    case 50..<74: return self.settle(using: &generator)
    case 74..<79:
      return .retry(self.id(using: &generator), newKey: Bool.random(using: &generator))
    case 79..<80: return .retryWithArguments(self.id(using: &generator))
    case 80..<84: return .cancel(self.id(using: &generator))
    case 84..<87: return .discard(self.deadID(using: &generator))
    case 87: return .pause(self.pause(using: &generator))
    case 88..<90: return .resume(self.pause(using: &generator))
    case 90..<92: return .release(Bool.random(using: &generator) ? .offline : .authentication)
    case 92: return .clearHistory(Self.names.randomElement(using: &generator) ?? "a")
    case 93..<99:
      let seconds = [1, 5, 30, 3_600, 90_000].randomElement(using: &generator) ?? 1
      return .advance(.seconds(seconds))
    default: return Int.random(in: 0..<4, using: &generator) == 0 ? .erase : .resume(.everything)
    }
  }

  private func pause(using generator: inout SeededGenerator) -> OutboxPause {
    let pauses = [OutboxPause.everything, .lane("lane 1"), .name("a"), .host("host 1")]
    return pauses.randomElement(using: &generator) ?? .everything
  }

  /// Most often one of the newest, now and then one that nobody knows.
  private func id(using generator: inout SeededGenerator) -> UUID {
    let recent = self.ids.suffix(12)
    if Int.random(in: 0..<20, using: &generator) == 0 { return self.uuid(using: &generator) }
    return recent.randomElement(using: &generator) ?? self.uuid(using: &generator)
  }

  /// Most often one that is dead.
  private func deadID(using generator: inout SeededGenerator) -> UUID {
    let dead = (try? self.reference.outbox.entries(in: .dead)) ?? []
    if Int.random(in: 0..<4, using: &generator) == 0 { return self.id(using: &generator) }
    return dead.randomElement(using: &generator)?.id ?? self.id(using: &generator)
  }

  private func uuid(using generator: inout SeededGenerator) -> UUID {
    var bytes = [UInt8]()
    for _ in 0..<16 { bytes.append(UInt8.random(in: .min ... .max, using: &generator)) }
    return UUID(
      uuid: (
        bytes[0], bytes[1], bytes[2], bytes[3], bytes[4], bytes[5], bytes[6], bytes[7],
        bytes[8], bytes[9], bytes[10], bytes[11], bytes[12], bytes[13], bytes[14], bytes[15]
      ))
  }

  private func mutation(using generator: inout SeededGenerator) -> NewMutation {
    // Now and then one that is there, or was.
    let isKnown = Int.random(in: 0..<15, using: &generator) == 0
    let id = isKnown ? self.id(using: &generator) : self.uuid(using: &generator)
    var mutation = NewMutation(
      id: id, idempotencyKey: "key of \(id)", name: "a", instance: "instance", coder: "json",
      arguments: Data(count: Int.random(in: 0..<40, using: &generator)))
    if Int.random(in: 0..<25, using: &generator) == 0 {
      mutation.arguments = Data(count: Self.maximumArgumentBytes + 1)
    }
    mutation.name = Self.names.randomElement(using: &generator) ?? "a"
    mutation.version = Int.random(in: 1...2, using: &generator)
    mutation.lane = [nil, "lane 1", "lane 1", "lane 2"].randomElement(using: &generator) ?? nil
    mutation.host = [nil, "host 1", "host 2"].randomElement(using: &generator) ?? nil
    mutation.onFailure = Int.random(in: 0..<4, using: &generator) == 0 ? .halt : .continue
    if Int.random(in: 0..<5, using: &generator) == 0 { mutation.maxAge = .seconds(60) }
    mutation.priority =
      [MutationPriority.normal, .normal, .low, .high].randomElement(using: &generator) ?? .normal
    mutation.isRepeatable = isKnown && Bool.random(using: &generator)
    if Int.random(in: 0..<10, using: &generator) == 0 {
      mutation.delay = .seconds([0, 5, 100].randomElement(using: &generator) ?? 5)
    }
    if mutation.lane != nil, Int.random(in: 0..<3, using: &generator) == 0 {
      mutation.coalesce = .latest
    }
    if Int.random(in: 0..<8, using: &generator) == 0 { mutation.waitReason = .offline }
    if Int.random(in: 0..<4, using: &generator) == 0 {
      for _ in 0..<Int.random(in: 1...3, using: &generator) {
        mutation.dependencies.append(self.id(using: &generator))
      }
    }
    return mutation
  }

  private func claim(using generator: inout SeededGenerator) -> OutboxOperation {
    var handlers = Set<MutationHandler>()
    for name in Self.names where Int.random(in: 0..<5, using: &generator) > 0 {
      let version = Int.random(in: 0..<4, using: &generator) == 0 ? 1 : 2
      handlers.insert(.handler(name, version: version, upgradesOlder: version == 2))
    }
    var slots = HostSlots(
      ["host 1": Int.random(in: 0...2, using: &generator)],
      others: [1, 2, 10].randomElement(using: &generator) ?? 1)
    slots.repeatsFirst =
      [[], ["host 1"], ["host 1", "host 2", "name:a"]].randomElement(using: &generator) ?? []
    let lane = [nil, nil, nil, "lane 1"].randomElement(using: &generator) ?? nil
    return .claim(
      handlers, limit: Int.random(in: 1...4, using: &generator), slots, lane: lane,
      batches: [1, 1, 2, 5].randomElement(using: &generator) ?? 1)
  }

  private func settle(using generator: inout SeededGenerator) -> OutboxOperation {
    let place = max(0, self.leases.count - 1 - Int.random(in: 0..<6, using: &generator))
    let delay = Duration.seconds(Int.random(in: 1...20, using: &generator))
    let alias = Self.aliases.randomElement(using: &generator) ?? "x"
    let isUncertain = Bool.random(using: &generator)
    let reason =
      [MutationWaitReason.backoff, .retryAfter, .offline, .handler]
      .randomElement(using: &generator) ?? .backoff
    let deadReason = MutationDeadReason.allCases.randomElement(using: &generator) ?? .rejected
    var outcome: AttemptOutcome =
      switch Int.random(in: 0..<22, using: &generator) {
      case 0..<4: .success
      case 4: .success(publishing: alias, "value \(place)")
      case 5: .cancelled(maybeApplied: isUncertain)
      case 6: .failure(.now, maybeApplied: isUncertain)
      case 7, 8: .failure(.wait(reason, delay), maybeApplied: isUncertain)
      case 9: .noConnection(delay)
      case 10: .failure(.wait(.offline, delay), "connectivity", code: nil, isCharged: false)
      case 11: .failure(.waitForCredentials, "authentication", code: 401, isCharged: false)
      case 12: .failure(.waitForAlias(alias), isCharged: false)
      case 13:
        .failure(
          .retry(arguments: Data("merged".utf8), key: "merged \(place)", after: .zero),
          "conflict")
      case 14: .failure(.drop, "conflict", code: 409)
      default: .failure(.dead(deadReason), "permanent", code: 400)
      }
    if case .failed(var failure) = outcome, Int.random(in: 0..<3, using: &generator) == 0 {
      let reports = [
        HostReport.answered, .unreachable(pause: .seconds(20)), .unreachable(pause: .seconds(20)),
        .askedToWait(delay * 2), .refusedCredentials,
      ]
      failure.hostReport = reports.randomElement(using: &generator) ?? .nothing
      failure.isUnknown = failure.isCharged
      outcome = .failed(failure)
    }
    return .settle(place, outcome)
  }
}

// MARK: - Doing

extension OutboxPair {
  /// Does the same to both.
  ///
  /// - Returns: What they answer, as texts.
  mutating func apply(_ operation: OutboxOperation) async -> (reference: String, other: String) {
    var enqueued = [NewMutation]()
    if case .enqueue(let mutation, _) = operation { enqueued = [mutation] }
    if case .enqueueTogether(let mutations) = operation { enqueued = mutations }
    for mutation in enqueued {
      self.ids.append(mutation.id)
      self.keys.insert(mutation.idempotencyKey)
    }
    let pairs = self.leases
    var refusals = Set<String>()
    var first = [MutationLease]()
    var second = [MutationLease]()
    let answers = (
      reference: await Self.answer(
        to: operation, of: self.reference, leases: pairs.map(\.reference), new: &first, &refusals),
      other: await Self.answer(
        to: operation, of: self.other, leases: pairs.map(\.other), new: &second, &refusals)
    )
    self.met.refusals.formUnion(refusals)
    for (reference, other) in zip(first, second) { self.leases.append((reference, other)) }
    return answers
  }

  /// The codes that a walk may meet.
  private static let codes = [StorageError.Code.constraint: "constraint", .tooBig: "tooBig"]

  private static func answer(
    to operation: OutboxOperation,
    of trial: OutboxTrial,
    leases: [MutationLease],
    new: inout [MutationLease],
    _ refusals: inout Set<String>
  ) async -> String {
    do {
      return try await Self.answerOrThrow(to: operation, of: trial, leases: leases, new: &new)
    } catch let error as OutboxError {
      // The name of the case.
      refusals.formUnion(Mirror(reflecting: error).children.compactMap(\.label))
      return "\(error)"
    } catch let error as StorageError {
      refusals.insert(Self.codes[error.code] ?? "\(error)")
      return "\(error.code)"
    } catch {
      return "\(type(of: error))"
    }
  }

  private static func answerOrThrow(
    to operation: OutboxOperation,
    of trial: OutboxTrial,
    leases: [MutationLease],
    new: inout [MutationLease]
  ) async throws -> String {
    let outbox = trial.outbox
    switch operation {
    case .enqueue(let mutation, let claiming):
      let enqueued = try await outbox.enqueue(mutation, claiming: claiming)
      new = [enqueued.lease].compactMap(\.self)
      return "\(Self.describe(enqueued)) \(new.map(\.isReplay))"
    case .enqueueTogether(let mutations):
      return "\(try await outbox.enqueue(mutations).map(Self.describe))"
    case .claim(let handlers, let limit, let slots, let lane, let batches):
      let request = ClaimRequest(
        .lowest(handledBy: handlers), limit: limit, hostSlots: slots, lane: lane,
        batchLimits: Dictionary(uniqueKeysWithValues: handlers.map { ($0, batches) }))
      return Self.describe(try await outbox.claim(request), &new)
    case .claimOne(let id):
      var answer = try await outbox.claim(ClaimRequest(.mutation(id)))
      // What it says for one mutation alone is nobody's promise.
      answer.nextDue = nil
      return Self.describe(answer, &new)
    case .settle(let place, let outcome):
      guard leases.indices.contains(place) else { return "none" }
      return "\(try await outbox.settle(leases[place], outcome))"
    case .retry(let id, let newKey): return "\(try await outbox.retry(id, newKey: newKey))"
    case .retryWithArguments(let id):
      return "\(try await outbox.retry(id, withArguments: Data("edited".utf8)))"
    case .cancel(let id): return "\(try await outbox.cancel(id))"
    case .discard(let id): try await outbox.discard(id)
    case .pause(let pause): try await outbox.pause(pause)
    case .resume(let pause): try await outbox.resume(pause)
    case .release(let reason): try await outbox.release(reason)
    case .clearHistory(let name):
      try await outbox.clearHistory(of: name, instance: "instance")
    case .advance(let duration):
      trial.clock.advance(by: duration)
      // What is overdue ends with the next transaction: here, and not in the middle of the comparison, as
      // one of the writer's own would come.
      _ = try await outbox.claim(ClaimRequest(.mutation(UUID(uuidString: Self.unknownID)!)))
    case .erase: try await trial.storage.erase()
    }
    return "done"
  }

  private static let unknownID = "00000000-0000-4000-8000-000000000000"

  private static func describe(_ answer: ClaimAnswer, _ new: inout [MutationLease]) -> String {
    new = answer.leases
    let leases = answer.leases.map {
      "\($0.entry.id) \($0.entry.attempts) \($0.isReplay) \($0.earlier)"
    }
    return "\(leases) \(answer.nextDue as Any) \(answer.expired)"
  }
}

// MARK: - Comparing

/// All that an outbox tells of itself.
struct OutboxSnapshot: Equatable {
  var counts: OutboxCounts
  var entries = [OutboxEntry]()
  var areNext = [Bool?]()
  /// Why each entry does not run, or since when it does: by which process differs.
  var clauses = [Substring]()
  var history = [RecordedMutation]()
  var attempts = [[OutboxAttempt]]()
  var aliases = [String?]()
  var hosts = [String: OutboxCounts]()
  var pauses = [OutboxPause: Date]()
}

extension OutboxPair {
  /// All that both tell of themselves.
  func snapshots() throws -> (reference: OutboxSnapshot, other: OutboxSnapshot) {
    (try self.snapshot(of: self.reference), try self.snapshot(of: self.other))
  }

  private func snapshot(of trial: OutboxTrial) throws -> OutboxSnapshot {
    let outbox = trial.outbox
    var snapshot = OutboxSnapshot(
      counts: try outbox.counts, hosts: try outbox.countsByHost(), pauses: try outbox.pauses)
    for var entry in try outbox.entries() {
      entry.idempotencyKey = self.word(for: entry.idempotencyKey)
      snapshot.entries.append(entry)
      snapshot.areNext.append(try trial.isNext(entry.id))
      let clause = try outbox.why(entry.id)
      let since = entry.state == .leased ? clause.firstRange(of: " since ") : nil
      snapshot.clauses.append(since.map { clause[$0.lowerBound...] } ?? clause[...])
    }
    for name in Self.names {
      for var record in try outbox.history(of: name, instance: "instance") {
        record.idempotencyKey = self.word(for: record.idempotencyKey)
        snapshot.history.append(record)
        var attempts = try outbox.attempts(of: record.id)
        for index in attempts.indices {
          attempts[index].replacedKey = attempts[index].replacedKey.map { self.word(for: $0) }
        }
        snapshot.attempts.append(attempts)
      }
    }
    for alias in Self.aliases { snapshot.aliases.append(try outbox.value(ofAlias: alias)) }
    return snapshot
  }

  /// An answer without the key that a retry has made at random.
  private static func describe(_ enqueued: EnqueuedMutation) -> String {
    var entry = enqueued.entry
    let key = entry.idempotencyKey
    if !key.hasPrefix("key of"), !key.hasPrefix("merged") { entry.idempotencyKey = "another key" }
    return "\(entry) \(enqueued.superseded as Any) \(enqueued.isOld)"
  }

  private func word(for key: String) -> String {
    self.keys.contains(key) || key.hasPrefix("merged") ? key : "another key"
  }
}

extension OutboxSnapshot: CustomStringConvertible {
  /// A line each.
  var description: String {
    var lines = ["\(self.counts)"]
    for (entry, (isNext, clause)) in zip(self.entries, zip(self.areNext, self.clauses)) {
      lines.append("\(entry) next \(isNext as Any) \(clause)")
    }
    for (record, attempts) in zip(self.history, self.attempts) {
      lines.append("\(record) \(attempts)")
    }
    for (host, counts) in self.hosts { lines.append("host \(host) \(counts)") }
    for (pause, date) in self.pauses { lines.append("paused \(pause) \(date)") }
    return (lines + ["aliases \(self.aliases)"]).joined(separator: "\n")
  }

  /// The differences between the two, each with the name of the outbox that has it.
  func difference(from reference: OutboxSnapshot) -> String {
    let own = self.description.split(separator: "\n")
    let others = reference.description.split(separator: "\n")
    var lines = [String]()
    for line in others where !own.contains(line) { lines.append("reference: \(line)") }
    for line in own where !others.contains(line) { lines.append("other:     \(line)") }
    return lines.joined(separator: "\n")
  }
}
