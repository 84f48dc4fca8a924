import Foundation
import Query
import QuerySQLite

/// How often a program wakes up that does nothing.
enum IdleRows {
  static let all = [Self.row]

  private static let stores = 1000
  private static let subscribers = 100
  private static let span = Duration.seconds(30)

  private static let row = Row(
    name: "idle-wake-ups",
    title: "idle program, 1000 stores, 100 subscribers, in 30 s",
    // The runtime wakes up once a second by itself, once a task has run. The span may have one more.
    goal: .above(1),
    floor: "a program that has run a task",
    lean: .absent("nothing is done"),
    unit: .wakeUps
  ) {
    Trial(
      counting: { try await Self.wakeUps(stores: Self.stores, subscribers: Self.subscribers) },
      floor: { try await Self.wakeUps(stores: 0, subscribers: 0) },
      mostRounds: 1
    )
  }

  @concurrent
  private static func wakeUps(stores: Int, subscribers: Int) async throws -> Reading {
    let folder = try Scratch.makeFolder("idle-\(UUID())")
    defer { try? FileManager.default.removeItem(at: folder) }
    let gauge = Gauge()
    let worker = try Worker.Running(
      .idle(folder: folder.path, stores: stores, subscribers: subscribers))
    // Until the threads that have no work have ended.
    try await Task.sleep(for: .seconds(15))
    let before = try Self.switches(of: worker.processIdentifier)
    try await Task.sleep(for: Self.span)
    let after = try Self.switches(of: worker.processIdentifier)
    try expect(try worker.end(), [Double(stores + subscribers)], "what the program has")
    return gauge.reading(of: Double(after - before))
  }

  /// How often the threads of a process gave the processor away, which each does once for each time that
  /// it was woken up.
  private static func switches(of process: Int32) throws -> Int {
    let tasks = "/proc/\(process)/task"
    return try FileManager.default.contentsOfDirectory(atPath: tasks).reduce(0) { sum, task in
      let status = try String(contentsOfFile: "\(tasks)/\(task)/status", encoding: .utf8)
      let line = status.split(separator: "\n").first { $0.hasPrefix("voluntary_ctxt_switches:") }
      guard let count = line?.split(separator: "\t").last.flatMap({ Int($0) }) else {
        throw CheckFailure(description: "/proc/\(process) has another format")
      }
      return sum + count
    }
  }
}

extension Worker {
  /// Has stores and subscribers, and does nothing until its input ends.
  static func idle(_ stores: Int, _ subscribers: Int, _ folder: String) async throws -> [Double] {
    var live = [QueryStore<NumberQuery.State>]()
    var subscriptions = [QuerySubscription]()
    var client: QueryClient?
    if stores > 0 {
      // As applications have them.
      let made = QueryClient(storage: try SQLiteQueryStorage(directory: URL(filePath: folder)))
      live = (0..<stores).map { made.store(for: NumberQuery(number: $0).persisted(as: "number")) }
      subscriptions = live.prefix(subscribers).map { $0.subscribe(with: QueryEventHandler()) }
      client = made
    }
    await Task.detached {}.value
    self.say("begun")
    _ = FileHandle.standardInput.readDataToEndOfFile()
    let count = live.count + live.reduce(0) { $0 + $1.subscriberCount }
    withExtendedLifetime((client, subscriptions)) {}
    return [Double(count)]
  }
}
