import Foundation
import Query
import StorageTestSupport
import Testing

@testable import QuerySQLite

// MARK: - Claiming

extension OutboxContractTests {
  @Test(arguments: StorageUnderTest.withOutbox)
  func aClaimTakesTheLowestAndNoMoreThanItsLimit(_ kind: StorageUnderTest) async throws {
    let trial = try OutboxTrial(kind)
    var ids = [UUID]()
    for _ in 0..<5 { ids.append(try await trial.add()) }
    #expect(try await trial.claim(limit: 0).leases.isEmpty)
    #expect(try await trial.claim(limit: 2).leases.map(\.entry.id) == Array(ids[..<2]))
    #expect(try await trial.claim(limit: 9).leases.map(\.entry.id) == Array(ids[2...]))
  }

  @Test(arguments: StorageUnderTest.withOutbox)
  func aRowIsLeasedOnce(_ kind: StorageUnderTest) async throws {
    let trial = try OutboxTrial(kind)
    let id = try await trial.add()
    _ = try await trial.lease(id)
    #expect(try await trial.claimed() == [])
    #expect(try await trial.outbox.claim(ClaimRequest(.mutation(id))).leases.isEmpty)
  }

  /// Of many that come at once, several are committed together.
  @Test(arguments: StorageUnderTest.withOutbox)
  func whatComesAtOnceLeasesNoRowTwice(_ kind: StorageUnderTest) async throws {
    let trial = try OutboxTrial(kind)
    for _ in 0..<100 { try await trial.add("a") }
    let leases = try await withThrowingTaskGroup(of: [MutationLease].self) { group in
      for _ in 0..<200 {
        group.addTask {
          try await trial.outbox.claim(ClaimRequest(.lowest(handledBy: [.handler("a")]))).leases
        }
        group.addTask {
          let mutation = NewMutation(
            name: "a", instance: "instance", coder: "json", arguments: Data())
          let enqueued = try await trial.outbox.enqueue(mutation, claiming: true)
          return [enqueued.lease].compactMap(\.self)
        }
      }
      return try await group.reduce(into: []) { $0 += $1 }
    }
    #expect(Set(leases.map(\.entry.id)).count == leases.count)
    #expect(leases.allSatisfy { $0.entry.attempts == 1 && $0.revocation == nil })
    for lease in leases { #expect(try await trial.outbox.settle(lease, .failure(.now))) }
  }

  @Test(arguments: StorageUnderTest.withOutbox)
  func aClaimTakesWhatItsHandlersCanRun(_ kind: StorageUnderTest) async throws {
    let trial = try OutboxTrial(kind)
    let old = try await trial.add("a")
    let new = try await trial.add("a") { $0.version = 2 }
    let other = try await trial.add("b")
    let instance = try await trial.add("a") { $0.instance = "other" }
    func claimed(_ handlers: MutationHandler...) async throws -> [UUID] {
      let answer = try await trial.outbox.claim(
        ClaimRequest(.lowest(handledBy: Set(handlers)), limit: 10))
      for lease in answer.leases { _ = try await trial.outbox.settle(lease, .failure(.now)) }
      return answer.leases.map(\.entry.id)
    }
    #expect(try await claimed() == [])
    #expect(try await claimed(.handler("a")) == [old])
    #expect(try await claimed(.handler("a", version: 2)) == [new])
    #expect(try await claimed(.handler("a", version: 3)) == [])
    #expect(try await claimed(.handler("a", version: 3, upgradesOlder: true)) == [old, new])
    #expect(try await claimed(.handler("a"), .handler("b")) == [other, old])
    let handler = MutationHandler(
      name: "a", instance: "other", version: 1, upgradesOlder: false)
    #expect(try await claimed(handler) == [instance])
  }

  @Test(arguments: StorageUnderTest.withOutbox)
  func aClaimOfOneTakesThatOneWhateverIsHandled(_ kind: StorageUnderTest) async throws {
    let trial = try OutboxTrial(kind)
    try await trial.add("a")
    let id = try await trial.add("b")
    #expect(try await trial.lease(id).entry.id == id)
  }

  @Test(arguments: StorageUnderTest.withOutbox)
  func aHostGetsNoMoreThanItsSlots(_ kind: StorageUnderTest) async throws {
    let trial = try OutboxTrial(kind)
    let busy = try await trial.add { $0.host = "busy" }
    var ids = [UUID]()
    for host in ["one", "one", "two", "two", "two", nil, nil, nil] {
      ids.append(try await trial.add { $0.host = host })
    }
    let slots = HostSlots(["busy": 0, "one": 1], others: 2)
    let answer = try await trial.claim(slots: slots)
    #expect(answer.leases.map(\.entry.id) == [ids[0], ids[2], ids[3], ids[5], ids[6]])
    #expect(try trial.entry(busy).attempts == 0)
    let name = HostSlots(["name:note": 1, "one": -1], others: 0)
    #expect(try await trial.claim(slots: name).leases.map(\.entry.id) == [ids[7]])
  }

  @Test(arguments: StorageUnderTest.withOutbox)
  func aLeaseSaysWhetherItIsAReplay(_ kind: StorageUnderTest) async throws {
    let trial = try OutboxTrial(kind)
    let id = try await trial.add()
    let first = try await trial.lease(id)
    #expect(!first.isReplay, "the one who enqueued it was waiting for its turn")
    #expect(try await trial.outbox.settle(first, .failure(.now)))
    #expect(try await trial.lease(id).isReplay)
    try await trial.add()
    #expect(try await trial.claim().leases.map(\.isReplay) == [true])
  }

  @Test(arguments: StorageUnderTest.withOutbox)
  func eachLeaseIsAnAttemptWithItsOwnNumber(_ kind: StorageUnderTest) async throws {
    let trial = try OutboxTrial(kind)
    let id = try await trial.add()
    var tokens = [Int]()
    for number in 1...3 {
      let lease = try await trial.lease(id)
      tokens.append(lease.token)
      #expect(lease.entry.attempts == number)
      #expect(lease.entry.state == .leased)
      #expect(try lease.entry == trial.entry(id))
      #expect(try await trial.outbox.settle(lease, .failure(.now)))
    }
    #expect(tokens == tokens.sorted())
    #expect(Set(tokens).count == 3)
    #expect(try trial.outbox.attempts(of: id).map(\.number) == [1, 2, 3])
  }

  @Test(arguments: StorageUnderTest.withOutbox)
  func aClaimSaysWhenTheNextOneIsDue(_ kind: StorageUnderTest) async throws {
    let trial = try OutboxTrial(kind)
    #expect(try await trial.claim().nextDue == nil)
    let first = try await trial.add(lane: "lane")
    let behind = try await trial.add(lane: "lane")
    let second = try await trial.add()
    let other = try await trial.add("other")
    try await trial.run(first, .failure(.wait(.backoff, .seconds(30))))
    try await trial.run(second, .failure(.wait(.retryAfter, .seconds(20))))
    try await trial.run(other, .failure(.wait(.backoff, .seconds(1))))
    #expect(try await trial.claim().nextDue == .seconds(20))
    #expect(try await trial.claim(["other", "note"]).nextDue == .seconds(1))
    trial.clock.advance(by: .milliseconds(19_999))
    #expect(try await trial.claim().nextDue == .milliseconds(1))
    trial.clock.advance(by: .milliseconds(1))
    let answer = try await trial.claim()
    #expect(answer.leases.map(\.entry.id) == [second])
    #expect(answer.nextDue == .seconds(10))
    try await trial.outbox.cancel(first)
    let last = try await trial.claim()
    #expect(last.leases.map(\.entry.id) == [behind])
    #expect(last.nextDue == nil)
  }

  @Test(arguments: StorageUnderTest.withOutbox)
  func whatIsDueAndNotTakenIsNotWaitedFor(_ kind: StorageUnderTest) async throws {
    let trial = try OutboxTrial(kind)
    try await trial.add()
    try await trial.add()
    #expect(try await trial.claim(limit: 1).nextDue == nil)
  }

  /// One that got as many as it asked for asks again when one of them has ended.
  @Test(arguments: StorageUnderTest.withOutbox)
  func aClaimThatGotAllItAskedForTellsNoTime(_ kind: StorageUnderTest) async throws {
    let trial = try OutboxTrial(kind)
    try await trial.run(try await trial.add(), .failure(.wait(.backoff, .seconds(30))))
    try await trial.add()
    let first = try await trial.claim(limit: 1)
    #expect(first.leases.count == 1 && first.nextDue == nil)
    #expect(try await trial.claim(limit: 0).nextDue == .seconds(30))
    #expect(try await trial.claim(limit: 1).nextDue == .seconds(30))
  }
}

// MARK: - Age

extension OutboxContractTests {
  @Test(arguments: StorageUnderTest.withOutbox)
  func whatGrewTooOldIsDeadAndNotSent(_ kind: StorageUnderTest) async throws {
    let trial = try OutboxTrial(kind)
    let old = try await trial.add(lane: "lane") { $0.maxAge = .seconds(60) }
    let next = try await trial.add(lane: "lane") { $0.maxAge = .seconds(120) }
    trial.clock.advance(by: .seconds(61))
    let answer = try await trial.claim(limit: 1)
    #expect(answer.expired == 1)
    #expect(answer.leases.map(\.entry.id) == [next], "an expired one takes nothing of the limit")
    let entry = try trial.entry(old)
    #expect(entry.state == .dead)
    #expect(entry.deadReason == .expired)
    #expect(entry.attempts == 0)
  }

  /// Whatever they wait for: paused, behind another one, of a handler that nobody has.
  @Test(arguments: StorageUnderTest.withOutbox)
  func whatNobodyClaimsGrowsTooOldToo(_ kind: StorageUnderTest) async throws {
    let trial = try OutboxTrial(kind)
    let first = try await trial.add(lane: "lane")
    var old = [try await trial.add(lane: "lane") { $0.maxAge = .seconds(60) }]
    old.append(try await trial.add("unknown") { $0.maxAge = .seconds(60) })
    old.append(try await trial.add(after: [first]) { $0.maxAge = .seconds(60) })
    let young = try await trial.add("unknown") { $0.maxAge = .seconds(90) }
    try await trial.outbox.pause()
    trial.clock.advance(by: .seconds(61))
    // Any change does; an outbox with a thread needs none.
    try await trial.add()
    for id in old { #expect(try trial.entry(id).deadReason == .expired) }
    #expect(try trial.entry(young).state == .pending)
    #expect(try trial.outbox.counts.dead == 3)
  }

  /// The writing thread looks by itself.
  @Test func anOutboxOnDiskExpiresRowsWhileNothingIsDone() async throws {
    let folder = try TemporaryFolder()
    let scratch = try OutboxScratch(in: folder)
    var mutation = OutboxScratch.mutation()
    mutation.maxAge = .milliseconds(50)
    let id = try await scratch.outbox.enqueue(mutation, claiming: false).entry.id
    for await counts in scratch.outbox.changes where counts.dead == 1 { break }
    #expect(try scratch.outbox.entry(id)?.deadReason == .expired)
    try await scratch.storage.close()
  }

  @Test func rowsOfAnEarlierBootGrowTooOld() async throws {
    let folder = try TemporaryFolder()
    let clock = BootClock()
    let first = try OutboxScratch(in: folder) { $0.outboxClock = clock.clock }
    var mutation = OutboxScratch.mutation()
    mutation.maxAge = .seconds(60)
    let id = try await first.outbox.enqueue(mutation, claiming: false).entry.id
    try await first.storage.close()
    clock.edit { time in
      time.bootID = "boot-b"
      (time.boottime, time.monotonic) = (61_000_000, 61_000_000)
    }
    let second = try OutboxScratch(in: folder) { $0.outboxClock = clock.clock }
    for await counts in second.outbox.changes where counts.dead == 1 { break }
    #expect(try second.outbox.entry(id)?.deadReason == .expired)
    try await second.storage.close()
  }

  @Test(arguments: StorageUnderTest.withOutbox)
  func oneThatIsClaimedByItselfMayBeTooOld(_ kind: StorageUnderTest) async throws {
    let trial = try OutboxTrial(kind)
    let id = try await trial.add { $0.maxAge = .seconds(60) }
    trial.clock.advance(by: .seconds(61))
    let answer = try await trial.outbox.claim(ClaimRequest(.mutation(id)))
    #expect(answer.expired == 1)
    #expect(answer.leases.isEmpty)
    #expect(try trial.entry(id).deadReason == .expired)
  }

  @Test(arguments: StorageUnderTest.withOutbox)
  func whatIsAtItsMaximumAgeIsSent(_ kind: StorageUnderTest) async throws {
    let trial = try OutboxTrial(kind)
    let id = try await trial.add { $0.maxAge = .seconds(60) }
    trial.clock.advance(by: .seconds(60))
    #expect(try await trial.claimed() == [id])
  }

  @Test(arguments: StorageUnderTest.withOutbox)
  func aRetryBeginsTheAgeAnew(_ kind: StorageUnderTest) async throws {
    let trial = try OutboxTrial(kind)
    let id = try await trial.add { $0.maxAge = .seconds(60) }
    trial.clock.advance(by: .seconds(61))
    #expect(try await trial.claim().expired == 1)
    try await trial.outbox.retry(id)
    trial.clock.advance(by: .seconds(59))
    try await trial.run(id, .failure(.now))
    trial.clock.advance(by: .seconds(2))
    #expect(try await trial.claim().expired == 1)
  }
}
