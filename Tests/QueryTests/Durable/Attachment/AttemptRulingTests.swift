import Foundation
import TestSupport
import Testing

@testable import Query

/// What becomes of a mutation whose attempt failed, class by class.
@Suite(.warningsAreIssues)
struct AttemptRulingTests {
  /// Mutates once, with attempts that throw an error.
  private func mutate(
    throwing error: any Error,
    _ options: MutationPersistenceOptions<Note> = .init(),
    on device: Device = Device()
  ) async throws -> (error: (any Error)?, entry: OutboxEntry?) {
    let save = SaveNote { _ in throw error }
    let store = device.launch().store(for: save.persisted(as: "save-note", options))
    let thrown = await failure { try await store.mutate(with: Note(id: 1, text: "a")) }
    return (thrown, try device.outbox.entries().first)
  }

  @Test func connectivityIsNotChargedAndWaits() async throws {
    let (error, entry) = try await self.mutate(throwing: URLError(.cannotConnectToHost))
    let queued = try #require(error as? MutationQueuedError)
    #expect(queued.waitReason == .backoff)
    #expect((queued.underlyingError as? URLError)?.code == .cannotConnectToHost)
    #expect(entry?.state == .pending)
    #expect(entry?.failures == 0)
    #expect(entry?.attempts == 1)
    #expect(entry?.maybeApplied == false)
  }

  @Test func aLostAnswerMayHaveBeenApplied() async throws {
    let (_, entry) = try await self.mutate(throwing: URLError(.networkConnectionLost))
    #expect(entry?.failures == 0)
    #expect(entry?.maybeApplied == true)
  }

  @Test func retryAfterIsAFloorOfTheWait() async throws {
    let error = HTTPStatusError(statusCode: 503, retryAfter: .seconds(120))
    let (thrown, entry) = try await self.mutate(throwing: error)
    #expect((thrown as? MutationQueuedError)?.waitReason == .retryAfter)
    #expect(entry?.waitReason == .retryAfter)
    #expect(entry?.failures == 1)
    let wait = try #require(entry?.nextAttemptAt)
    #expect(wait.timeIntervalSince1970 == 1_234_567_890 + 120)
  }

  @Test func credentialsAreWaitedForWithoutACharge() async throws {
    let (thrown, entry) = try await self.mutate(throwing: HTTPStatusError(statusCode: 401))
    #expect((thrown as? MutationQueuedError)?.waitReason == .authentication)
    #expect(entry?.waitReason == .authentication)
    #expect(entry?.failures == 0)
  }

  @Test(arguments: [(400, MutationDeadReason.rejected), (409, .conflict), (501, .rejected)])
  func aDeadRowIsThrownAsTheErrorItself(status: Int, reason: MutationDeadReason) async throws {
    let (thrown, entry) = try await self.mutate(throwing: HTTPStatusError(statusCode: status))
    #expect((thrown as? HTTPStatusError)?.statusCode == status)
    #expect(entry?.state == .dead)
    #expect(entry?.deadReason == reason)
  }

  @Test(arguments: [
    ConflictResolution<Note>.giveUp, .drop, .retry(with: Note(id: 1, text: "b")), nil,
  ])
  func aCancellationIsToldWhateverTheFailureWouldHaveLedTo(
    _ resolution: ConflictResolution<Note>?
  ) async throws {
    let device = Device()
    let save = SaveNote { _ in throw HTTPStatusError(statusCode: 409) }
    var options = MutationPersistenceOptions<Note>()
    options.onConflict = { _, _, context in
      let attempt = try #require(context.mutationAttempt)
      #expect(try await !device.outbox.cancel(attempt.id), "it is asked to cancel")
      guard let resolution else { throw HTTPStatusError(statusCode: 503) }
      return resolution
    }
    let store = device.launch().store(for: save.persisted(as: "save-note", options))
    let error = await failure { try await store.submit(with: Note(id: 1, text: "a")) }
    #expect((error as? MutationEndedError)?.reason == .cancelled)
    let shown = #expect(throws: MutationEndedError.self) {
      try store.history.last?.currentResult?.get()
    }
    #expect(shown?.reason == .cancelled)
    #expect(try device.outbox.counts == OutboxCounts())
  }

  @Test func onlyFailuresInWhichTheServerWasReachedExhaust() async throws {
    let device = Device()
    let errors: [any Error] = [
      URLError(.cannotConnectToHost), HTTPStatusError(statusCode: 503),
      URLError(.timedOut), HTTPStatusError(statusCode: 503),
    ]
    let calls = Counter()
    let save = SaveNote { _ in throw errors[calls.increment() - 1] }
    let store = device.launch().store(for: save.persisted(as: "save-note", .init(maxAttempts: 2)))
    _ = await failure { try await store.mutate(with: Note(id: 1, text: "a")) }
    for _ in 1...2 {
      #expect(await failure { try await store.retryLatest() } is MutationQueuedError)
    }
    // Retrying by hand starts the count anew, so the row is looked at instead.
    #expect(try device.outbox.entries().first?.failures == 1)
  }

  /// Neither five errors of a bad minute, nor one a day after a failure of another kind.
  @Test func anUnknownErrorIsTriedFiveTimesAndForADay() async throws {
    let device = Device()
    let calls = Counter()
    let runner = try #require(
      try device.launch().durableRunner(
        for: SaveNote { _ in
          if calls.increment() <= 4 { throw HTTPStatusError(statusCode: 503) }
          throw TestError()
        }.persisted(as: "save-note")))
    let store = device.launch().store(for: SaveNote().persisted(as: "save-note"))
    let ticket = try await store.enqueue(with: Note(id: 1, text: "a"))
    for number in 1...14 {
      // The first unknown one is the fifth, the last one a day after it.
      device.clock.advance(by: .seconds(number == 14 ? 24 * 3_600 - 8 * 600 : 600))
      #expect(try device.outbox.entry(ticket.id)?.state == .pending)
      let claim = try await device.outbox.claim(
        ClaimRequest(.lowest(handledBy: [runner.handler])))
      let lease = try #require(claim.leases.first)
      #expect(lease.entry.attempts == number)
      #expect(lease.entry.maybeApplied == (number > 1))
      _ = await runner.run(lease)
    }
    #expect(try device.outbox.entry(ticket.id)?.deadReason == .exhausted)
  }

  /// The server's worker dies of it, and answers all others.
  @Test func anAnswerThatIsLostWhileOthersArriveIsCharged() async throws {
    let device = Device()
    let save = SaveNote { call in
      if call.note.text == "poison" { throw URLError(.networkConnectionLost) }
      return call.note.text
    }
    let mutation = save.persisted(as: "save-note", .init(maxAttempts: 3))
    let runner = try #require(try device.launch().durableRunner(for: mutation))
    let store = device.launch().store(for: mutation)
    let ticket = try await store.enqueue(with: Note(id: 1, text: "poison"))
    var waits = [Double]()
    for _ in 0..<20 {
      try await store.mutate(with: Note(id: 2, text: "good"))
      let claim = try await device.outbox.claim(ClaimRequest(.mutation(ticket.id)))
      guard let lease = claim.leases.first else { break }
      _ = await runner.run(lease)
      guard let next = try device.outbox.entry(ticket.id)?.nextAttemptAt else { break }
      waits.append(next.timeIntervalSince(device.clock.clock.now().wall))
      device.clock.advance(by: .seconds(15))
    }
    #expect(try device.outbox.entry(ticket.id)?.deadReason == .exhausted)
    #expect(waits == [1, 1, 2])
  }

  @Test func answersThatAreLostNowAndThenAreWaitedForBriefly() async throws {
    let device = Device()
    let calls = Counter()
    let save = SaveNote { _ in
      if calls.increment() % 2 == 1 { throw HTTPStatusError(statusCode: 401) }
      throw URLError(.networkConnectionLost)
    }
    let mutation = save.persisted(as: "save-note")
    let runner = try #require(try device.launch().durableRunner(for: mutation))
    let ticket = try await device.launch().store(for: mutation)
      .enqueue(with: Note(id: 1, text: "a"))
    var waits = [Double]()
    for _ in 1...12 {
      try await device.outbox.release(.authentication)
      let claim = try await device.outbox.claim(ClaimRequest(.mutation(ticket.id)))
      _ = await runner.run(try #require(claim.leases.first))
      if let next = try device.outbox.entry(ticket.id)?.nextAttemptAt {
        waits.append(next.timeIntervalSince(device.clock.clock.now().wall))
      }
      device.clock.advance(by: .seconds(15))
    }
    #expect(waits == [1, 1, 1, 1, 1, 1])
    #expect(try device.outbox.entry(ticket.id)?.failures == 0)
  }

  @Test func backoffDoublesUpToFiveMinutesAndJittersInTheUpperHalf() {
    let full = MutationBackoff(random: { 1 })
    let waits = [1, 2, 3, 9, 10, 60].map { full.delay(after: $0) }
    #expect(waits == [1, 2, 4, 256, 300, 300].map { .seconds($0) })
    #expect(MutationBackoff(random: { 0 }).delay(after: 3) == .seconds(2))
  }

  @Test func aHostThatIsNotReachedIsLeftAloneForFifteenToThirtyFirstWaits() async throws {
    let device = Device()
    let client = device.launch()
    client.defaultContext.mutationBackoff.random = { 0.5 }
    let mutation = SaveNote { _ in throw URLError(.cannotConnectToHost) }
      .persisted(as: "save-note")
    let store = client.store(for: mutation)
    for id in 1...3 { _ = await failure { try await store.mutate(with: Note(id: id, text: "a")) } }
    let runner = try #require(try client.durableRunner(for: mutation))
    // Their own waits are over.
    device.clock.advance(by: .seconds(1))
    let claim = try await device.outbox.claim(ClaimRequest(.lowest(handledBy: [runner.handler])))
    #expect(claim.leases.isEmpty)
    // Fifteen seconds, and half as much again, of which one has passed.
    #expect(claim.nextDue == .seconds(21.5))
  }

  @Test func theMutationsOwnClosureClassifiesFirst() async throws {
    let options = MutationPersistenceOptions<Note>(classify: { error, attempt in
      attempt.number == 1 && error is TestError ? .permanent(reason: "no") : nil
    })
    let (thrown, entry) = try await self.mutate(throwing: TestError(), options)
    #expect(thrown is TestError)
    #expect(entry?.deadReason == .rejected)
    let (other, _) = try await self.mutate(throwing: HTTPStatusError(statusCode: 401), options)
    #expect((other as? MutationQueuedError)?.waitReason == .authentication)
  }

  @Test func aClassifierThatThrowsCountsAsTransient() async throws {
    let options = MutationPersistenceOptions<Note>(classify: { _, _ in throw TestError("classifier")
    })
    let (thrown, entry) = try await self.mutate(
      throwing: HTTPStatusError(statusCode: 400), options)
    #expect((thrown as? MutationQueuedError)?.waitReason == .backoff)
    #expect(entry?.state == .pending)
    #expect(entry?.failures == 1)
  }

  @Test func aConflictIsRetriedWithOtherArgumentsAndANewKeyInItsPlace() async throws {
    let device = Device()
    let save = SaveNote { call in
      if call.note.text == "mine" { throw HTTPStatusError(statusCode: 409) }
      return call.note.text
    }
    let options = MutationPersistenceOptions<Note>(onConflict: { note, _, _ in
      .retry(with: Note(id: note.id, text: "merged"))
    })
    let store = device.launch().store(for: save.persisted(as: "save-note", options))
    #expect(try await store.mutate(with: Note(id: 1, text: "mine")) == "merged")
    let attempts = save.calls.elements.map(\.attempt)
    #expect(attempts.count == 2)
    #expect(attempts[0]?.id == attempts[1]?.id)
    #expect(attempts[0]?.idempotencyKey != attempts[1]?.idempotencyKey)
    let id = try #require(attempts[0]?.id)
    let recorded = try device.outbox.attempts(of: id)
    #expect(recorded.first?.replacedKey == attempts[0]?.idempotencyKey)
    #expect(recorded.first?.outcome == "conflict")
    #expect(recorded.last?.outcome == "succeeded")
  }

  @Test func aConflictThatIsDroppedEndsTheMutation() async throws {
    let device = Device()
    let (thrown, entry) = try await self.mutate(
      throwing: HTTPStatusError(statusCode: 412), .init(onConflict: { _, _, _ in .drop }),
      on: device)
    #expect((thrown as? MutationEndedError)?.reason == .superseded)
    #expect(entry == nil)
  }

  @Test func aConflictThatIsGivenUpIsDead() async throws {
    let (thrown, entry) = try await self.mutate(
      throwing: HTTPStatusError(statusCode: 412), .init(onConflict: { _, _, _ in .giveUp }))
    #expect((thrown as? HTTPStatusError)?.statusCode == 412)
    #expect(entry?.deadReason == .conflict)
  }

  @Test func anErrorOfTheConflictsHandlerIsClassifiedInItsPlace() async throws {
    let (thrown, entry) = try await self.mutate(
      throwing: HTTPStatusError(statusCode: 409),
      .init(onConflict: { _, _, _ in throw URLError(.notConnectedToInternet) }))
    #expect((thrown as? MutationQueuedError)?.waitReason == .backoff)
    #expect(entry?.state == .pending)
  }

  @Test func anAliasThatNobodyWillPublishMakesTheRowDead() async throws {
    let save = SaveNote { call in try #require(call.attempt).resolve("9F2C") }
    let device = Device()
    let store = device.launch().store(for: save.persisted(as: "save-note"))
    let error = await failure { try await store.mutate(with: Note(id: 1, text: "a")) }
    #expect(error is MutationAliasError)
    #expect(try device.outbox.entries().first?.deadReason == .dependency)
  }
}
