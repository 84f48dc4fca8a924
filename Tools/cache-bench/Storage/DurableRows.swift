import Foundation
import Query
import QuerySQLite

/// Mutations that are on disk before they are sent.
enum DurableRows {
  /// - Parameter pending: How many mutations wait when a claim among them is measured.
  static func all(pending: Int) -> [Row] {
    [Self.mutate, Self.steady, Self.atOnce] + Claims.allCases.map { Self.claim($0, pending) }
  }

  private static let mutate = Self.mutate(
    "mutate-durable", "durable mutate, two FULL commits", after: 0)

  /// With as many in the history as it keeps of one day: each that ends takes the place of another one.
  private static let steady = Self.mutate(
    "mutate-durable-steady", "durable mutate, history full", after: 5_200)

  private static func mutate(_ name: String, _ title: String, after ended: Int) -> Row {
    Row(
      name: name, title: title, goal: .timesFloor(1.2),
      floor: "a plain C program: JSON, rows, two FULL commits",
      lean: .program("the same of one row each, without an index"), unit: .nanoseconds
    ) { try await Self.trial(of: name, after: ended) }
  }

  private static func trial(of name: String, after ended: Int) async throws -> Trial {
    let desk = try await Desk(name)
    for _ in 0..<ended / 100 { _ = try await Self.mutateHundred(on: desk) }
    return Trial(
      counting: { try await Self.mutate(100, on: desk) },
      floor: { try desk.outbox(.floor).mutate(100) },
      lean: { try desk.outbox(.lean).mutate(100) },
      end: { try await desk.storage.close() }
    )
  }

  private static let atOnce = Row(
    name: "mutate-100-at-once",
    title: "100 durable mutations at once, commits",
    goal: .atMost(12),
    floor: "a commit for all, and one for all results",
    lean: .program("the same of one row each, without an index"),
    unit: .commits
  ) {
    let desk = try await Desk("at-once")
    return Trial(
      counting: { try await Self.mutateHundred(on: desk) },
      floor: { try Self.mutateHundred(by: desk.outbox(.floor)) },
      lean: { try Self.mutateHundred(by: desk.outbox(.lean)) },
      mostRounds: 21,
      end: { try await desk.storage.close() }
    )
  }

  /// What the mutations are that wait while one is claimed.
  enum Claims: String, CaseIterable {
    case ready
    case waiting
    case unknown

    var title: String {
      switch self {
      case .ready: "50 lanes ready"
      case .waiting: "all heads waiting"
      case .unknown: "all but 100 of an unknown handler"
      }
    }
  }

  private static func claim(_ claims: Claims, _ pending: Int) -> Row {
    Row(
      name: "claim-\(claims.rawValue)",
      title: "claim at \(pending) pending, \(claims.title)",
      goal: .above(100_000),
      floor: "a plain C program changes the rows, one FULL commit",
      lean: .program("the same of one row without an index"),
      unit: .nanoseconds
    ) {
      let desk = try await Desk("claim-\(claims.rawValue)")
      try await desk.fill(claims, pending)
      let expected = claims == .waiting ? 0 : 1
      return Trial(
        counting: { try await Self.claim(20, on: desk, expecting: expected) },
        floor: { try desk.outbox(.floor).lease(times: 20) },
        lean: { try desk.outbox(.lean).lease(times: 20) },
        end: { try await desk.storage.close() }
      )
    }
  }
}

// MARK: - Rounds

extension DurableRows {
  @concurrent
  private static func mutate(_ count: Int, on desk: Desk) async throws -> Reading {
    let store = QueryClient.withoutObservers(storage: desk.storage).store(for: SaveNote.durable)
    let notes = (0..<count).map { Note($0, edition: 0) }
    var sum = 0
    let gauge = Gauge()
    for note in notes { sum += try await store.mutate(with: note) }
    let reading = gauge.reading(per: count)
    try expect(sum, count * (count - 1) / 2, "the sum of the results")
    try expect(try desk.storage.outbox.counts, OutboxCounts(), "what is left in the outbox")
    return reading
  }

  /// The commits of a hundred, and what all of them used.
  @concurrent
  private static func mutateHundred(on desk: Desk) async throws -> Reading {
    let store = QueryClient.withoutObservers(storage: desk.storage).store(for: SaveNote.durable)
    let before = desk.storage.outboxCommits
    let gauge = Gauge()
    let sum = try await withThrowingTaskGroup(of: Int.self) { group in
      for number in 0..<100 {
        group.addTask { try await store.mutate(with: Note(number, edition: 0)) }
      }
      return try await group.reduce(0, +)
    }
    try expect(sum, 4_950, "the sum of the results")
    return gauge.reading(of: Double(desk.storage.outboxCommits - before))
  }

  private static func mutateHundred(by outbox: any PlainOutbox) throws -> Reading {
    let notes = (0..<100).map { Note($0, edition: 0) }
    let gauge = Gauge()
    try outbox.enqueueAndSettle(notes, JSONQueryCoder())
    return gauge.reading(of: 2)
  }

  @concurrent
  private static func claim(
    _ count: Int, on desk: Desk, expecting expected: Int
  ) async throws -> Reading {
    var sum = Reading.zero
    for _ in 0..<count {
      let gauge = Gauge()
      let answer = try await desk.storage.outbox.claim(desk.request)
      sum += gauge.reading()
      try expect(answer.leases.count, expected, "the mutations claimed")
      for lease in answer.leases {
        try expect(try await desk.storage.outbox.settle(lease, .givenBack), true, "a settled lease")
      }
    }
    return sum / count
  }
}

extension AttemptOutcome {
  /// That of an attempt that leaves the row as it was.
  fileprivate static let givenBack = AttemptOutcome.failed(
    FailedAttempt(
      error: RestoredError(typeName: "", text: ""), outcome: "cancelled", isCharged: false,
      maybeApplied: false, next: .now))
}

// MARK: - What they work on

/// The outbox of one row, and those of C beside it.
// @unchecked: the rounds of a row run one after another.
final class Desk: @unchecked Sendable {
  let folder: URL
  let storage: SQLiteQueryStorage
  private let bare: BareOutbox
  private let lean: LeanOutbox
  let request: ClaimRequest

  init(_ name: String) async throws {
    let bareFolder = try Scratch.makeFolder("outbox-\(name)-bare")
    let model = try SQLiteQueryStorage(directory: bareFolder)
    try await QueryClient.withoutObservers(storage: model).store(for: SaveNote.durable)
      .mutate(with: Note(0, edition: 0))
    try await model.close()
    self.bare = try BareOutbox(path: bareFolder.appendingPathComponent("mutations.sqlite").path)
    self.lean = try LeanOutbox(path: bareFolder.appendingPathComponent("lean.sqlite").path)
    self.folder = try Scratch.makeFolder("outbox-\(name)")
    self.storage = try SQLiteQueryStorage(directory: self.folder)
    self.request = ClaimRequest(
      .lowest(handledBy: [
        MutationHandler(
          name: "save-note", instance: #"["save-note"]"#, version: 1, upgradesOlder: false)
      ]))
  }

  /// The outbox of a plain C program.
  func outbox(_ program: PlainProgram) -> any PlainOutbox {
    switch program {
    case .floor: self.bare
    case .lean: self.lean
    }
  }

  /// Lets so many mutations wait.
  func fill(_ claims: DurableRows.Claims, _ count: Int) async throws {
    let arguments = try JSONEncoder().encode(Note(0, edition: 0))
    let outbox = self.storage.outbox
    for start in stride(from: 0, to: count, by: 1_000) {
      try await withThrowingTaskGroup(of: Void.self) { group in
        for number in start..<min(start + 1_000, count) {
          group.addTask {
            let isKnown = claims != .unknown || number >= count - 100
            let mutation = NewMutation(
              name: isKnown ? "save-note" : "other", instance: #"["save-note"]"#,
              lane: claims == .unknown ? nil : "lane-\(number % 50)", coder: "json",
              arguments: arguments)
            _ = try await outbox.enqueue(mutation, claiming: false)
          }
        }
        try await group.waitForAll()
      }
    }
    if claims == .waiting { try await self.makeAllWait() }
    try expect(try outbox.counts.pending, count, "the mutations that wait")
  }

  private func makeAllWait() async throws {
    let failed = FailedAttempt(
      error: RestoredError(typeName: "", text: ""), outcome: "transient", isCharged: true,
      maybeApplied: false, next: .wait(.backoff, .seconds(3_600)))
    while let lease = try await self.storage.outbox.claim(self.request).leases.first {
      _ = try await self.storage.outbox.settle(lease, .failed(failed))
    }
  }
}

/// A durable mutation that returns at once.
struct SaveNote: MutationRequest, Hashable {
  var path: QueryPath { ["save-note"] }

  typealias Durable = ModifiedQuery<SaveNote, _PersistedMutationModifier<SaveNote>>

  static var durable: Durable { Self().persisted(as: "save-note") }

  /// The same in so many lanes by the number of the note; nil: each in its own.
  static func durable(inLanes count: Int?) -> Durable {
    guard let count else { return Self.durable }
    let scope = MutationScope<Note>.by { "lane-\($0.number % count)" }
    return Self().persisted(as: "save-note", MutationPersistenceOptions(scope: scope))
  }

  func mutate(
    with note: Note,
    in context: QueryContext,
    with continuation: QueryContinuation<Int>
  ) async throws -> Int { note.number }
}
