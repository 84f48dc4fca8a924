import Foundation
import Query
import QueryReplay
import QuerySQLite

/// What happens to an outbox from outside: commits of another process, a network that comes up, and files.
enum OutboxEventRows {
  /// - Parameter pending: How many mutations wait when the network comes up.
  static func all(pending: Int) -> [Row] {
    [
      Self.foreignCommit(onWriter: false), Self.foreignCommit(onWriter: true),
      Self.firstWrite(pending), Self.bodyBytes, Self.bodyMemory,
    ]
  }

  private static let tracked = 10_000
  private static let foreignCommits = 100

  private static func foreignCommit(onWriter: Bool) -> Row {
    let name = onWriter ? "foreign-commit-writer" : "foreign-commit"
    return Row(
      name: name,
      title: onWriter
        ? "the same on the thread that writes"
        : "a commit of another process, \(Self.tracked) mutations made here",
      goal: .atMost(onWriter ? 500_000 : 5_000_000),
      floor: "C read of what is new, JSON decode",
      lean: .program("the same by its number"),
      unit: .processorTime
    ) {
      let desk = try await Desk(name)
      let client = QueryClient.withoutObservers(storage: desk.storage)
      let store = client.store(for: SaveNote.durable)
      _ = try await store.enqueueNotes(Self.tracked)
      for program in [PlainProgram.floor, .lean] {
        _ = try desk.outbox(program).queue([Note(0, edition: 0)], JSONQueryCoder())
      }
      return Trial(
        counting: {
          defer { withExtendedLifetime(store) {} }
          return try await Self.foreignCommits(on: desk, onWriter: onWriter)
        },
        floor: { try Self.readNewest(from: desk.outbox(.floor)) },
        lean: { try Self.readNewest(from: desk.outbox(.lean)) },
        mostRounds: 3,
        end: { try await desk.storage.close() }
      )
    }
  }

  private static func firstWrite(_ pending: Int) -> Row {
    Row(
      name: "first-write",
      title: "first mutation sent after the network is up, \(pending) queued",
      goal: .atMost(1_000_000_000),
      floor: "a plain C program changes the rows, one FULL commit",
      lean: .program("the same of one row without an index"),
      unit: .nanoseconds
    ) {
      let desk = try await Desk("first-write")
      let link = Link(desk.storage)
      _ = try await link.store.enqueueNotes(pending)
      return Trial(
        counting: { try await link.timeOfFirstWrite() },
        floor: { try desk.outbox(.floor).lease() },
        lean: { try desk.outbox(.lean).lease() },
        mostRounds: 11,
        end: { try await desk.storage.close() }
      )
    }
  }

  private static let bodySize = 100_000_000

  private static let bodyBytes = Row(
    name: "body-bytes",
    title: "bytes read for a file of 100 MB that is enqueued",
    goal: .timesFloor(1.05),
    floor: "the bytes of the file",
    lean: .absent("a file is copied, not a row written"),
    unit: .bytes
  ) {
    let desk = try await BodyDesk("body-bytes", size: Self.bodySize)
    return Trial(
      counting: {
        let gauge = Gauge()
        let before = try BodyDesk.bytesRead()
        try await desk.enqueue()
        return gauge.reading(of: Double(try BodyDesk.bytesRead() - before))
      },
      floor: { Gauge().reading(of: Double(Self.bodySize)) },
      mostRounds: 3,
      end: { try await desk.storage.close() }
    )
  }

  private static let bodyMemory = Row(
    name: "body-memory",
    title: "memory for a file of 100 MB that is enqueued, at its most",
    goal: .atMost(4_194_304),
    floor: "one buffer",
    lean: .absent("a file is copied, not a row written"),
    unit: .bytes
  ) {
    let desk = try await BodyDesk("body-memory", size: Self.bodySize)
    try await desk.enqueue()
    return Trial(
      counting: {
        let gauge = Gauge()
        let before = try Allocations.residentBytes()
        try BodyDesk.forgetMostMemory()
        try await desk.enqueue()
        return gauge.reading(of: Double(try BodyDesk.mostMemory() - before))
      },
      floor: { Gauge().reading(of: Double(256 << 10)) },
      mostRounds: 3,
      end: { try await desk.storage.close() }
    )
  }
}

// MARK: - Commits of another process

extension OutboxEventRows {
  /// The processor time, of this process or of its writing thread, for one commit of another one.
  @concurrent
  private static func foreignCommits(on desk: Desk, onWriter: Bool) async throws -> Reading {
    let before = try desk.storage.outbox.counts.pending
    let worker = try Worker.Running(
      .enqueue(folder: desk.folder.path, count: Self.foreignCommits))
    let (own, writer) = (Self.ownTime(), try Self.writerTime())
    let gauge = Gauge()
    _ = try worker.end()
    let time = try onWriter ? Self.writerTime() - writer : Self.ownTime() - own
    let count = Double(Self.foreignCommits)
    let reading = gauge.reading(of: time / count, per: Self.foreignCommits)
    try expect(
      try desk.storage.outbox.counts.pending, before + Self.foreignCommits + 1,
      "the mutations of both")
    return reading
  }

  private static func readNewest(from outbox: any PlainOutbox) throws -> Reading {
    var sum = Reading.zero
    for _ in 0..<100 { sum += try outbox.readNewest(1) }
    return (sum / 100).ofProcessor
  }

  /// The nanoseconds that all threads of this process have run, without those of the other process.
  private static func ownTime() -> Double {
    var usage = rusage()
    getrusage(RUSAGE_SELF.rawValue, &usage)
    return Expense.processorTime(of: usage)
  }

  /// The nanoseconds that the thread which commits has run.
  private static func writerTime() throws -> Double {
    let tasks = "/proc/self/task"
    var sum = 0.0
    for thread in try FileManager.default.contentsOfDirectory(atPath: tasks) {
      let name = try? String(contentsOfFile: "\(tasks)/\(thread)/comm", encoding: .utf8)
      guard name == "query-outbox\n" else { continue }
      let times = try String(contentsOfFile: "\(tasks)/\(thread)/schedstat", encoding: .utf8)
      sum += times.split(separator: " ").first.flatMap { Double($0) } ?? .nan
    }
    return sum
  }
}

// MARK: - The network

/// A network that comes and goes, and mutations that wait for it.
private final class Link: Sendable {
  private let network = MockNetworkObserver(initialStatus: .disconnected)
  private let client: QueryClient
  private let mutation: Mutation
  /// Told of each that is sent; nil while the network is down.
  private let sent: Locked<AsyncStream<Void>.Continuation?>

  typealias Mutation = ModifiedQuery<
    BlockMutation<Note, Int>, _PersistedMutationModifier<BlockMutation<Note, Int>>
  >

  init(_ storage: SQLiteQueryStorage) {
    let sent = Locked<AsyncStream<Void>.Continuation?>(nil)
    self.mutation = BlockMutation(["send"]) { (note: Note, _) in
      guard let continuation = sent.withLock({ $0 }) else {
        throw MutationUnreachedError(underlying: CheckFailure(description: "down"))
      }
      continuation.yield()
      // Until the run is over, so that the next round finds as many.
      try await Task.sleep(for: .seconds(3_600))
      return note.number
    }
    .persisted(
      as: "send",
      MutationPersistenceOptions(scope: .by { "lane-\($0.number % 1_000)" }, host: { _ in "host" }))
    self.sent = sent
    self.client = .withoutObservers(storage: storage)
  }

  var store: QueryStore<MutationState<Note, Int>> { self.client.store(for: self.mutation) }

  /// The nanoseconds from when the system says so until the first one is sent.
  @concurrent
  func timeOfFirstWrite() async throws -> Reading {
    self.network.send(status: .disconnected)
    let replayer = MutationReplayer(client: self.client, network: self.network)
    try replayer.register(self.mutation)
    let events = replayer.events
    let run = Task { try await replayer.run() }
    // One was tried in vain.
    for await event in events { if case .waiting(.network) = event { break } }
    let (stream, continuation) = AsyncStream.makeStream(of: Void.self)
    self.sent.withLock { $0 = continuation }
    let gauge = Gauge()
    self.network.send(status: .connected)
    for await _ in stream { break }
    let reading = gauge.reading()
    self.sent.withLock { $0 = nil }
    run.cancel()
    _ = await run.result
    return reading
  }
}

// MARK: - Files

/// A file, and an outbox that takes copies of it.
private struct BodyDesk {
  let storage: SQLiteQueryStorage
  private let file: URL
  private let store: QueryStore<MutationState<Int, Int>>

  init(_ name: String, size: Int) async throws {
    let folder = try Scratch.makeFolder("outbox-\(name)")
    let file = folder.appending(path: "file")
    try Data(count: size).write(to: file)
    let storage = try SQLiteQueryStorage(directory: folder.appending(path: "store"))
    let upload = BlockMutation(["upload"]) { (number: Int, _) in number }
      .persisted(as: "upload", MutationPersistenceOptions(bodies: { _ in [file] }))
    self.store = QueryClient.withoutObservers(storage: storage).store(for: upload)
    (self.storage, self.file) = (storage, file)
  }

  /// Enqueues it, and takes that back.
  @concurrent
  func enqueue() async throws {
    let ticket = try await self.store.enqueue(with: 1)
    try await self.storage.outbox.cancel(ticket.id)
  }

  /// `rchar` of proc(5).
  static func bytesRead() throws -> Int {
    let text = try String(contentsOfFile: "/proc/self/io", encoding: .utf8)
    return text.split(separator: "\n").first.flatMap { Int($0.dropFirst(7)) } ?? 0
  }

  /// Lets the most memory so far be that of now.
  static func forgetMostMemory() throws {
    try Data("5".utf8).write(to: URL(filePath: "/proc/self/clear_refs"))
  }

  /// The most memory that this process had since then.
  static func mostMemory() throws -> Int {
    let text = try String(contentsOfFile: "/proc/self/status", encoding: .utf8)
    let line = text.split(separator: "\n").first { $0.hasPrefix("VmHWM:") }
    let number = line?.split(whereSeparator: \.isWhitespace).dropFirst().first
    return (number.flatMap { Int($0) } ?? 0) << 10
  }
}
