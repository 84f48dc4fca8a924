import Foundation
import Query
import Testing

// MARK: - History

extension OutboxContractTests {
  @Test(arguments: StorageUnderTest.withOutbox)
  func theEndOfAForgottenOneIsRemembered(_ kind: StorageUnderTest) async throws {
    let trial = try OutboxTrial(kind, limits: MutationHistoryLimits(perMutation: 1))
    let first = try await trial.add()
    try await trial.run(first, .success)
    #expect(try trial.outbox.forgottenEnd(of: first) == nil, "the history has it")
    trial.clock.advance(by: .seconds(90_000))
    for _ in 0..<20 { try await trial.run(try await trial.add(), .success) }
    guard case .unknown = try trial.outbox.standing(of: first) else {
      Issue.record("the history has not forgotten it")
      return
    }
    #expect(try trial.outbox.forgottenEnd(of: first)?.outcome == .succeeded)
    #expect(try trial.outbox.forgottenEnd(of: UUID()) == nil)
  }

  /// What the history has of the mutations with a name, as texts.
  private func texts(_ trial: OutboxTrial, _ name: String = "note") throws -> [String] {
    try trial.outbox.history(of: name, instance: "instance")
      .map { String(decoding: $0.arguments, as: UTF8.self) }
  }

  /// Adds a mutation with a text as its arguments, and lets it succeed.
  @discardableResult
  private func succeed(
    _ trial: OutboxTrial, _ text: String, _ name: String = "note"
  ) async throws -> UUID {
    let id = try await trial.add(name) { $0.arguments = Data(text.utf8) }
    try await trial.run(id, .success)
    return id
  }

  @Test(arguments: StorageUnderTest.withOutbox)
  func theHistoryHasWhatEndedAndWhatHasNot(_ kind: StorageUnderTest) async throws {
    let trial = try OutboxTrial(kind)
    let dead = try await trial.add()
    let cancelled = try await trial.add()
    let waiting = try await trial.add()
    let running = try await trial.add()
    let succeeded = try await trial.add()
    try await trial.add("other")
    try await trial.add { $0.instance = "other" }
    try await trial.run(succeeded, .success)
    try await trial.outbox.cancel(cancelled)
    trial.clock.advance(by: .seconds(1))
    try await trial.run(waiting, .failure(.wait(.backoff, .seconds(9))))
    try await trial.run(dead, .rejection)
    _ = try await trial.lease(running)
    let records = try trial.outbox.history(of: "note", instance: "instance")
    #expect(records.map(\.id) == [dead, cancelled, waiting, running, succeeded])
    #expect(
      records.map(\.state) == [
        .outbox(.dead, nil, .rejected), .ended(.cancelled), .outbox(.pending, .backoff, nil),
        .outbox(.leased, nil, nil), .ended(.succeeded),
      ])
    #expect(records.map(\.attempts) == [1, 0, 1, 1, 1])
    let now = trial.clock.wall
    #expect(records.map(\.createdAt) == Array(repeating: now - 1, count: 5))
    #expect(records.map(\.updatedAt) == [now, now - 1, now, nil, now - 1])
    #expect(records.map { $0.error != nil } == [true, false, true, false, false])
    #expect(records.map(\.number) == records.map(\.number).sorted())
  }

  @Test(arguments: StorageUnderTest.withOutbox)
  func eachMutationKeepsItsNewest(_ kind: StorageUnderTest) async throws {
    let trial = try OutboxTrial(kind, limits: MutationHistoryLimits(perMutation: 2))
    let first = try await self.succeed(trial, "1")
    try await self.succeed(trial, "other", "other")
    try await self.succeed(trial, "2")
    try await self.succeed(trial, "3")
    #expect(try self.texts(trial) == ["2", "3"])
    #expect(try self.texts(trial, "other") == ["other"])
    // A ticket knows for a day at least how its mutation ended, however many followed.
    trial.clock.advance(by: .seconds(24 * 3_600) - .microseconds(1))
    try await self.succeed(trial, "4")
    #expect(try trial.ending(first)?.outcome == .succeeded)
    trial.clock.advance(by: .microseconds(1))
    try await self.succeed(trial, "5")
    #expect(try self.texts(trial) == ["4", "5"])
    #expect(try trial.outbox.attempts(of: first) == [], "they go with the mutation")
    guard case .unknown = try trial.outbox.standing(of: first) else {
      Issue.record("it is forgotten")
      return
    }
    await #expect(throws: OutboxError.unknown(first)) { try await trial.outbox.retry(first) }
  }

  @Test(arguments: StorageUnderTest.withOutbox)
  func theFirstToEndIsTheFirstToGo(_ kind: StorageUnderTest) async throws {
    let trial = try OutboxTrial(kind, limits: MutationHistoryLimits(perMutation: 2))
    let ids = [try await trial.add(), try await trial.add(), try await trial.add()]
    try await trial.run(ids[2], .success)
    try await trial.run(ids[0], .success)
    try await trial.run(ids[1], .success)
    let records = try trial.outbox.history(of: "note", instance: "instance")
    #expect(records.map(\.id) == [ids[0], ids[1]])
  }

  @Test(arguments: StorageUnderTest.withOutbox)
  func allMutationsTogetherKeepTheirNewest(_ kind: StorageUnderTest) async throws {
    let trial = try OutboxTrial(kind, limits: MutationHistoryLimits(total: 3))
    for index in 1...3 {
      try await self.succeed(trial, "\(index)", "a")
      try await self.succeed(trial, "\(index)", "b")
    }
    #expect(try self.texts(trial, "a") == ["3"])
    #expect(try self.texts(trial, "b") == ["2", "3"])
  }

  @Test(arguments: StorageUnderTest.withOutbox)
  func theHistoryHasItsDays(_ kind: StorageUnderTest) async throws {
    let trial = try OutboxTrial(kind, limits: MutationHistoryLimits(days: 2))
    try await self.succeed(trial, "1")
    trial.clock.advance(by: .seconds(86_400))
    try await self.succeed(trial, "2")
    trial.clock.advance(by: .seconds(86_401))
    try await self.succeed(trial, "3")
    #expect(try self.texts(trial) == ["2", "3"])
  }

  @Test(arguments: StorageUnderTest.withOutbox)
  func theHistoryHasItsBytes(_ kind: StorageUnderTest) async throws {
    let trial = try OutboxTrial(kind, limits: MutationHistoryLimits(bytes: 10))
    for text in ["1234", "5678", "ab"] { try await self.succeed(trial, text) }
    #expect(try self.texts(trial) == ["1234", "5678", "ab"])
    try await self.succeed(trial, "c")
    #expect(try self.texts(trial) == ["5678", "ab", "c"])
    let large = String(repeating: "x", count: 100)
    let id = try await self.succeed(trial, large)
    #expect(try self.texts(trial) == [large], "whoever waits for it must hear of it")
    #expect(try trial.ending(id)?.outcome == .succeeded)
    try await self.succeed(trial, "d")
    #expect(try self.texts(trial) == ["d"])
  }

  @Test(arguments: StorageUnderTest.withOutbox)
  func resultsAndErrorsAreBytesToo(_ kind: StorageUnderTest) async throws {
    let trial = try OutboxTrial(kind, limits: MutationHistoryLimits(bytes: 30))
    let first = try await trial.add { $0.arguments = Data() }
    try await trial.run(
      first, .succeeded(SuccessfulAttempt(result: Data(String(repeating: "r", count: 25).utf8))))
    let second = try await trial.add { $0.arguments = Data() }
    // The type's name and the text: 12 and 9.
    try await trial.run(second, .failure(.drop))
    let records = try trial.outbox.history(of: "note", instance: "instance")
    #expect(records.map(\.id) == [second])
  }

  @Test(arguments: StorageUnderTest.withOutbox)
  func zeroTurnsALimitOff(_ kind: StorageUnderTest) async throws {
    let limits = MutationHistoryLimits(perMutation: 0, total: 0, days: 0, bytes: 0)
    let trial = try OutboxTrial(kind, limits: limits)
    for index in 0..<60 { try await self.succeed(trial, "\(index)") }
    trial.clock.advance(by: .seconds(400 * 86_400))
    try await self.succeed(trial, "last")
    #expect(try self.texts(trial).count == 61)
  }

  @Test(arguments: StorageUnderTest.withOutbox)
  func whatHasNotEndedIsNeverPruned(_ kind: StorageUnderTest) async throws {
    let limits = MutationHistoryLimits(perMutation: 1, total: 1, days: 1, bytes: 1)
    let trial = try OutboxTrial(kind, limits: limits)
    let dead = try await trial.add()
    try await trial.run(dead, .rejection)
    let pending = try await trial.add()
    try await trial.run(pending, .failure(.waitForCredentials))
    trial.clock.advance(by: .seconds(400 * 86_400))
    for index in 0..<3 { try await self.succeed(trial, "\(index)") }
    #expect(try trial.outbox.entries().map(\.id) == [dead, pending])
    #expect(try trial.outbox.attempts(of: dead).count == 1)
    #expect(try self.texts(trial) == ["{}", "{}", "2"])
  }

  @Test(arguments: StorageUnderTest.withOutbox)
  func clearingTheHistoryLeavesWhatHasNotEnded(_ kind: StorageUnderTest) async throws {
    let trial = try OutboxTrial(kind)
    let dead = try await trial.add()
    try await trial.run(dead, .rejection)
    let first = try await self.succeed(trial, "1")
    let pending = try await trial.add()
    try await self.succeed(trial, "other", "other")
    try await trial.outbox.clearHistory(of: "note", instance: "instance")
    let records = try trial.outbox.history(of: "note", instance: "instance")
    #expect(records.map(\.id) == [dead, pending])
    #expect(try trial.outbox.attempts(of: first) == [])
    #expect(try trial.outbox.attempts(of: dead).count == 1)
    #expect(try self.texts(trial, "other") == ["other"])
  }
}
