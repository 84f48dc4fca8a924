import Foundation
import QuerySQLite
import TestSupport
import Testing

@testable import Query

/// Random walks over a server, two programs that share a storage, and a tool that knows no edit: nothing
/// that was seen entered may vanish, unless somebody undid it or wrote over it.
///
/// Programs enqueue, are told late, fetch several times at once, are answered late and in another order,
/// and are started again; answers are lost, mutations refused, superseded and given other arguments. A
/// walk prints its seed; `SEED` repeats it. With `FULL` there are 2 000 walks of 400 steps.
@Suite(.warningsAreIssues) struct OptimisticModelTests {
  private static let isFull = ProcessInfo.processInfo.environment["FULL"] != nil

  @Test(arguments: StorageKind.allCases) func nothingThatWasSeenVanishes(
    _ kind: StorageKind
  ) async throws {
    let isRepeated = ProcessInfo.processInfo.environment["SEED"] != nil
    let walks: UInt64 = Self.isFull ? 2_000 : kind == .memory ? 40 : 10
    for seed in isRepeated ? SeededGenerator.seeds(1) : SeededGenerator.seeds(walks) {
      let faults = try await self.walk(kind, seed: seed, steps: Self.isFull ? 400 : 150)
      #expect(faults == [], "SEED=\(seed)")
      if faults != [] { return }
    }
  }

  /// The walk finds mistakes: with the mark that a fetch would have at its end, edits vanish.
  @Test func aMarkOfTheFetchesEndIsFound() async throws {
    var faults = [String]()
    for seed in UInt64(1)...200 where faults.isEmpty {
      faults = try await self.walk(.memory, seed: seed, steps: 150, marksAtEnd: true)
    }
    #expect(!faults.isEmpty)
  }

  private func walk(
    _ kind: StorageKind, seed: UInt64, steps: Int, marksAtEnd: Bool = false
  ) async throws -> [String] {
    let folder = try ScratchFolder()
    let storage = try kind.make(in: folder)
    let world = try OptimisticWorld(storage, seed: seed, marksAtEnd: marksAtEnd)
    for _ in 0..<steps where world.faults.isEmpty {
      try await world.step()
      world.check()
    }
    if world.faults.isEmpty { try await world.drain() }
    await world.end()
    try await storage.close()
    return world.faults
  }
}

/// The world of a walk. Used by one task.
private final class OptimisticWorld {
  /// A fetch that is under way.
  private final class HeldFetch: Sendable {
    let reading = Gate()
    let landing = Gate()
    let task = Locked<Task<Void, any Error>?>(nil)
    let hasRead = Locked(false)

    func end() async {
      let task = self.task.withLock { $0 }
      task?.cancel()
      try? await task?.value
    }
  }

  private final class Program {
    let name: String
    var client: QueryClient
    var notes: QueryStore<QueryState<[Note]?, [Note]>>
    var changes: QueryStore<MutationState<NoteChange, Bool>>
    var fetches = [HeldFetch]()
    var isTold = true

    init(
      _ name: String, _ client: QueryClient, _ notes: QueryStore<QueryState<[Note]?, [Note]>>,
      _ changes: QueryStore<MutationState<NoteChange, Bool>>
    ) {
      (self.name, self.client, self.notes, self.changes) = (name, client, notes, changes)
    }
  }

  private let storage: any QueryStorage
  private let server = NotesServer()
  private let nextFetch = Locked<HeldFetch?>(nil)
  private var random: SeededGenerator
  private var programs = [Program]()
  private let marksAtEnd: Bool
  private var lastText = 0
  private(set) var faults = [String]()
  private var log = [String]()
  /// The edits that a program has shown.
  private var seen = [String: [UUID: NoteChange]]()
  /// What became of mutations, in the order of their ends; and those that were undone.
  private var acknowledged = [(id: UUID, change: NoteChange)]()
  private var undone = Set<UUID>()
  /// What the server has carried out, whether that is known or not; and over which of it somebody else has
  /// written: a program that shows that shows the truth.
  private var carriedOut = [UUID: NoteChange]()
  private var overwritten = Set<UUID>()
  private var live = [(id: UUID, change: NoteChange)]()

  init(_ storage: any QueryStorage, seed: UInt64, marksAtEnd: Bool) throws {
    self.storage = storage
    self.random = SeededGenerator(seed: seed)
    self.marksAtEnd = marksAtEnd
    for name in ["a", "b"] { self.programs.append(try self.launch(name)) }
  }

  private func launch(_ name: String) throws -> Program {
    let client = QueryClient.toldByHand(self.storage)
    let change = ChangeNote().persisted(
      as: "change-note", .init(scope: .by { $0.id }, coalesce: .latest)
    ).optimistic(
      on: { _ in NotesQuery() },
      { notes, change, _ in change.apply(to: &notes, default: []) })
    try client.register(change)
    let (server, nextFetch) = (self.server, self.nextFetch)
    let marksAtEnd = self.marksAtEnd
    // The client has the store, whose query must not have the client.
    let list = NotesQuery { [weak client] context in
      guard let held = nextFetch.withLock({ $0.take() }) else { return server.list }
      try await held.reading.pass()
      let answer = server.list
      try await held.landing.pass()
      if marksAtEnd { context.fetchWork?.mark = client?.optimistic.endedSequence }
      return answer
    }.persisted()
    return Program(name, client, client.store(for: list), client.store(for: change))
  }

  // MARK: - Steps

  func step() async throws {
    let program = self.programs.randomElement(using: &self.random)!
    let dice = Double.random(in: 0..<1, using: &self.random)
    let what: String
    if dice < 0.22 {
      what = try await self.enqueue(in: program)
    } else if dice < 0.45 {
      what = try await self.send(program)
    } else if dice < 0.55 {
      self.tell(program)
      what = "told"
    } else if dice < 0.68 {
      what = await self.beginFetch(in: program)
    } else if dice < 0.80 {
      what = await self.read(in: program)
    } else if dice < 0.92 {
      what = try await self.land(in: program)
    } else if dice < 0.96 {
      what = try await self.restart(program)
    } else {
      what = self.somebodyWrites()
    }
    self.log.append("\(program.name): \(what)")
  }

  private func record() -> String { "n\(Int.random(in: 0...5, using: &self.random))" }

  private func enqueue(in program: Program) async throws -> String {
    self.lastText += 1
    let isRemoval = Int.random(in: 0..<4, using: &self.random) == 0
    let change = NoteChange(id: self.record(), text: isRemoval ? nil : "\(self.lastText)")
    let id = try await program.changes.enqueue(with: change).id
    // Another of the same lane may have been superseded.
    for old in self.live where try self.storage.outbox.entry(old.id) == nil { self.undo(old.id) }
    self.live.append((id, change))
    for other in self.programs where other !== program { other.isTold = false }
    return "enqueue \(change.id) \(change.text ?? "-")"
  }

  private func undo(_ id: UUID) {
    self.live.removeAll { $0.id == id }
    self.undone.insert(id)
  }

  private func send(_ program: Program) async throws -> String {
    var heads = [String: UUID]()
    for entry in try self.storage.outbox.entries() where entry.state != .dead {
      if let lane = entry.lane, heads[lane] == nil { heads[lane] = entry.id }
    }
    let ids = heads.sorted { $0.key < $1.key }.map(\.value)
    guard let id = ids.randomElement(using: &self.random) else { return "nothing to send" }
    let change = self.live.first { $0.id == id }!.change
    var fate = Double.random(in: 0..<1, using: &self.random)
    let key = try self.storage.outbox.entry(id)!.idempotencyKey
    if self.server.keys.contains(key) { fate = max(fate, 0.3) }
    try await self.storage.outbox.retry(id)
    for program in self.programs { program.isTold = false }
    func failed(_ next: FailedAttempt.Next, maybeApplied: Bool = false) -> AttemptOutcome {
      .failed(
        FailedAttempt(
          error: RestoredError(typeName: "E", text: "-"), outcome: "x", isCharged: false,
          maybeApplied: maybeApplied, next: next))
    }
    switch fate {
    case ..<0.12:
      try await self.storage.outbox.sendWithoutCode(id) { _ in failed(.now) }
      return "unreachable"
    case ..<0.16:
      try await self.storage.outbox.sendWithoutCode(id) { _ in failed(.dead(.rejected)) }
      self.undo(id)
      return "dead \(change.id)"
    case ..<0.20:
      try await self.storage.outbox.sendWithoutCode(id) { _ in failed(.drop) }
      self.undo(id)
      return "dropped \(change.id)"
    case ..<0.26:
      self.lastText += 1
      let other = NoteChange(id: change.id, text: "\(self.lastText)")
      let data = try JSONEncoder().encode(other)
      try await self.storage.outbox.sendWithoutCode(id) { _ in
        failed(.retry(arguments: data, key: UUID().uuidString, after: .zero))
      }
      if let place = self.live.firstIndex(where: { $0.id == id }) {
        self.live[place].change = other
      }
      self.carriedOut[id] = nil
      self.overwritten.remove(id)
      for name in self.seen.keys { self.seen[name]?[id] = nil }
      return "conflict \(change.id)"
    case ..<0.45:
      let server = self.server
      self.carriedOut[id] = change
      try await self.storage.outbox.sendWithoutCode(id) { lease in
        server.apply(change, key: lease.entry.idempotencyKey)
        return failed(.now, maybeApplied: true)
      }
      return "answer lost \(change.id)"
    default:
      try await self.storage.outbox.deliver(id, to: self.server)
      self.carriedOut[id] = change
      self.live.removeAll { $0.id == id }
      self.acknowledged.append((id, change))
      return "sent \(change.id) \(change.text ?? "-")"
    }
  }

  private func tell(_ program: Program) {
    program.client.optimistic.read()
    program.isTold = true
  }

  private func beginFetch(in program: Program) async -> String {
    guard program.fetches.count < 3 else { return "enough fetches" }
    let held = HeldFetch()
    self.nextFetch.withLock { $0 = held }
    let notes = program.notes
    let task = Task { _ = try await notes.fetch() }
    held.task.withLock { $0 = task }
    await held.reading.arrival()
    program.fetches.append(held)
    return "fetch begins"
  }

  private func read(in program: Program) async -> String {
    let open = program.fetches.filter { !$0.hasRead.withLock { $0 } }
    guard let held = open.randomElement(using: &self.random) else { return "no fetch to read" }
    held.hasRead.withLock { $0 = true }
    held.reading.open()
    await held.landing.arrival()
    return "server reads"
  }

  private func land(in program: Program) async throws -> String {
    let ready = program.fetches.filter { $0.hasRead.withLock { $0 } }
    guard let held = ready.randomElement(using: &self.random) else { return "no fetch to land" }
    program.fetches.removeAll { $0 === held }
    held.landing.open()
    try await held.task.withLock { $0 }?.value
    return "answer lands \(program.notes.storedValue?.map { "\($0.id)=\($0.text)" } ?? [])"
  }

  private func restart(_ program: Program) async throws -> String {
    await self.endFetches(of: program)
    if Bool.random(using: &self.random) { try await self.storage.flush() }
    let place = self.programs.firstIndex { $0 === program }!
    self.programs[place] = try self.launch(program.name)
    return "restarted"
  }

  private func endFetches(of program: Program) async {
    for held in program.fetches { await held.end() }
    program.fetches = []
  }

  private func somebodyWrites() -> String {
    let record = self.record()
    self.lastText += 1
    self.server.write(Note(id: record, text: "x\(self.lastText)"))
    for (id, change) in self.carriedOut where change.id == record { self.overwritten.insert(id) }
    return "somebody else writes \(record)"
  }

  // MARK: - Checking

  private func isShown(_ change: NoteChange, in notes: [Note]) -> Bool {
    notes.first { $0.id == change.id }?.text == change.text
  }

  func check() {
    for program in self.programs where program.isTold {
      let notes = program.notes.currentValue ?? []
      var wanted = [String: (id: UUID, change: NoteChange)]()
      for row in self.live { wanted[row.change.id] = row }
      for (id, change) in wanted.values {
        if self.isShown(change, in: notes) {
          self.seen[program.name, default: [:]][id] = change
        } else {
          self.fail("\(program.name) does not show \(change), but \(notes)")
        }
      }
      for (id, change) in self.seen[program.name] ?? [:] where wanted[change.id]?.id != id {
        self.checkSeen(id, change, wanted, notes, program.name)
      }
    }
  }

  private func checkSeen(
    _ id: UUID, _ change: NoteChange, _ wanted: [String: (id: UUID, change: NoteChange)],
    _ notes: [Note], _ name: String
  ) {
    let place = self.acknowledged.firstIndex { $0.id == id }
    let isLater = self.acknowledged.enumerated().contains { index, other in
      other.change.id == change.id && index > (place ?? -1)
    }
    if wanted[change.id] != nil || self.undone.contains(id) || isLater {
      self.seen[name]?[id] = nil
    } else if !self.isShown(change, in: notes) {
      if self.overwritten.contains(id) {
        self.seen[name]?[id] = nil
        return
      }
      self.fail("\(name) does not show \(change) any more, but \(notes)")
    }
  }

  private func fail(_ what: String) {
    self.faults.append(what + "\n" + self.log.suffix(60).joined(separator: "\n"))
  }

  /// Sends everything; then every program shows what the server has.
  func drain() async throws {
    while let entry = try self.storage.outbox.entries().first(where: { $0.state != .dead }) {
      try await self.storage.outbox.retry(entry.id)
      try await self.storage.outbox.deliver(entry.id, to: self.server)
    }
    for program in self.programs {
      await self.endFetches(of: program)
      self.tell(program)
      try await program.notes.fetch()
      if program.notes.currentValue != self.server.list {
        let shown = program.notes.currentValue ?? []
        self.fail("\(program.name) shows \(shown), the server has \(self.server.list)")
      }
    }
  }

  func end() async { for program in self.programs { await self.endFetches(of: program) } }
}
