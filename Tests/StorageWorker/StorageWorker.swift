import Foundation
import Query
import QuerySQLite

/// A process that tests start, and kill: it works on a storage, and says on standard output what it
/// has come to, a line each.
///
/// ```
/// storage-worker write FOLDER WRITER COUNT ROUNDS LENGTH FLUSH-EVERY
///   sets COUNT notes ROUNDS times; after every FLUSH-EVERY notes "flushed ROUND NUMBER"; ends without a flush
/// storage-worker read FOLDER WRITER COUNT
///   "NUMBER TEXT" for each note that is there
/// storage-worker refresh FOLDER NAME
///   makes a text stale, and then fetches it; the text
/// storage-worker locks FOLDER
///   the names of the database's files that another process has locked
/// storage-worker lease FOLDER [LANE]
///   commits a mutation, in a lane or in none, and leases it; "leased ID", and then it waits to be killed
/// storage-worker enqueue FOLDER COUNT
///   commits COUNT mutations, one after another; "enqueued ID" for each, or "refused CODE"
/// storage-worker body FOLDER FILE [WARM]
///   commits a mutation with a file, the second one with WARM; "grown KIB", by how much the process's
///   memory grew at most
/// storage-worker use FOLDER
///   does a bit of everything, and says what came of it: "value TEXT", "fetched TEXT", "flush CODE",
///   "enqueue CODE", "entries COUNT"; "ok" instead of a code of SQLite where it worked
/// storage-worker pack FOLDER COUNT MICROSECONDS
///   goes on with the pack "area" of COUNT texts, or keeps it if there is none, each fetch of which takes
///   so long; "fetched NUMBER" for each, and in the end "whole DONE TOTAL"
/// storage-worker identities
///   the identities of queries of private, nested and generic types
/// ```
@main
struct StorageWorker {
  static func main() async throws {
    let arguments = Array(CommandLine.arguments.dropFirst())
    switch arguments.first {
    case "write": try await Self.write(arguments)
    case "read": try Self.read(arguments)
    case "fail": try await Self.fail(arguments)
    case "invalidate": try await Self.invalidate(arguments)
    case "refresh": try await Self.refresh(arguments)
    case "locks": try Self.locks(arguments)
    case "lease": try await Self.lease(arguments)
    case "enqueue": try await Self.enqueue(arguments)
    case "body": try await Self.enqueueBody(arguments)
    case "pack": try await Packs.work(try Self.storage(arguments[1]), arguments)
    case "use": try await Self.use(arguments)
    case "identities": for identity in try Identities.all() { Self.say(identity) }
    default: exit(64)
    }
  }

  /// Writes a line at once, also into a pipe.
  static func say(_ line: String) {
    FileHandle.standardOutput.write(Data("\(line)\n".utf8))
  }

  private static func storage(_ folder: String) throws -> SQLiteQueryStorage {
    var configuration = SQLiteQueryStorage.Configuration()
    // Checkpoints at every turn, so that they meet the commits of others.
    configuration.checkpointFrames = 10
    configuration.writeDelay = .milliseconds(5)
    return try SQLiteQueryStorage(
      directory: URL(filePath: folder), configuration: configuration)
  }

  private static func write(_ arguments: [String]) async throws {
    let (folder, writer) = (arguments[1], arguments[2])
    let numbers = arguments[3...].compactMap { Int($0) }
    let (count, rounds, length, flushEvery) = (numbers[0], numbers[1], numbers[2], numbers[3])
    let storage = try Self.storage(folder)
    let client = QueryClient(storage: storage)
    Self.say("ready")
    for round in 1...rounds {
      for number in 1...count {
        let store = client.store(for: NoteQuery(writer: writer, number: number).persisted())
        store.currentValue = Note(
          text: Note.text(writer: writer, number: number, round: round, length: length))
        if number % flushEvery == 0 || number == count {
          do {
            try await storage.flush()
          } catch {
            Self.say("not flushed: \(error)")
            throw error
          }
          Self.say("flushed \(round) \(number)")
        }
      }
    }
    if storage.statistics.isDegraded { Self.say("degraded") }
  }

  /// Fetches a note in vain.
  private static func fail(_ arguments: [String]) async throws {
    let storage = try Self.storage(arguments[1])
    let query = BlockQuery<Note>(["notes", arguments[2], 1]) { _ in
      throw HTTPStatusError(statusCode: 404)
    }
    _ = try? await QueryClient(storage: storage).store(for: query.persisted()).fetch()
    try await storage.close()
  }

  /// Makes the notes of a writer stale.
  private static func invalidate(_ arguments: [String]) async throws {
    let storage = try Self.storage(arguments[1])
    QueryClient(storage: storage).invalidate(matching: ["notes", arguments[2]])
    try await storage.close()
  }

  private static func refresh(_ arguments: [String]) async throws {
    let storage = try Self.storage(arguments[1])
    let store = QueryClient(storage: storage).store(
      for: TextQuery(name: arguments[2]).persisted())
    store.invalidate()
    try await storage.flush()
    Self.say(try await store.fetch())
    try await storage.close()
  }

  private static func read(_ arguments: [String]) throws {
    let client = QueryClient(storage: try Self.storage(arguments[1]))
    for number in 1...(Int(arguments[3]) ?? 0) {
      let store = client.store(for: NoteQuery(writer: arguments[2], number: number).persisted())
      if let note = store.currentValue { Self.say("\(number) \(note.text)") }
    }
  }

  private static func lease(_ arguments: [String]) async throws {
    let storage = try Self.storage(arguments[1])
    let mutation = NewMutation(
      name: "note", instance: "[]", lane: arguments.count > 2 ? arguments[2] : nil, coder: "json",
      arguments: Data())
    let enqueued = try await storage.outbox.enqueue(mutation, claiming: true)
    Self.say("leased \(enqueued.entry.id)")
    while true { try await Task.sleep(for: .seconds(3_600)) }
  }

  private static func enqueue(_ arguments: [String]) async throws {
    let storage = try SQLiteQueryStorage(directory: URL(filePath: arguments[1]))
    for _ in 0..<(Int(arguments[2]) ?? 0) {
      let mutation = NewMutation(name: "note", instance: "[]", coder: "json", arguments: Data())
      do {
        Self.say("enqueued \(try await storage.outbox.enqueue(mutation, claiming: false).entry.id)")
      } catch {
        Self.say("refused \(error)")
      }
    }
    try await storage.close()
  }

  private static func enqueueBody(_ arguments: [String]) async throws {
    var configuration = SQLiteQueryStorage.Configuration()
    // It is to wait at its commit for as long as a test takes to look.
    configuration.busyTimeout = .seconds(600)
    let storage = try SQLiteQueryStorage(
      directory: URL(filePath: arguments[1]), configuration: configuration)
    var mutation = NewMutation(name: "note", instance: "[]", coder: "json", arguments: Data())
    if arguments.count > 3 {
      // What a program loads at its first write does not count.
      try await storage.outbox.cancel(
        try await storage.outbox.enqueue(mutation, claiming: false).entry.id)
      mutation.id = UUID()
    }
    mutation.bodies = [URL(filePath: arguments[2])]
    let before = Self.peakKibibytes
    _ = try await storage.outbox.enqueue(mutation, claiming: false)
    Self.say("grown \(Self.peakKibibytes - before)")
    try await storage.close()
  }

  /// The most memory that the process ever had.
  private static var peakKibibytes: Int {
    let status = (try? String(contentsOfFile: "/proc/self/status", encoding: .utf8)) ?? ""
    let line = status.split(separator: "\n").first { $0.hasPrefix("VmHWM:") }
    return line.flatMap { Int($0.filter(\.isNumber)) } ?? 0
  }

  /// Does what users of the tests' storages do to a store of theirs.
  private static func use(_ arguments: [String]) async throws {
    var configuration = SQLiteQueryStorage.Configuration()
    configuration.busyTimeout = .milliseconds(500)
    let storage = try SQLiteQueryStorage(
      directory: URL(filePath: arguments[1]), configuration: configuration)
    let client = QueryClient(storage: storage)
    let text = client.store(for: TextQuery(name: "a").persisted())
    await text.hydrated()
    Self.say("value \(text.currentValue ?? "none")")
    let new = client.store(for: TextQuery(name: "new").persisted())
    Self.say("fetched \((try? await new.fetch()) ?? "none")")
    new.currentValue = "\(getpid())"
    Self.say("flush \(await Self.outcome { try await storage.flush() })")
    let mutation = NewMutation(name: "note", instance: "[]", coder: "json", arguments: Data())
    let enqueued = await Self.outcome {
      _ = try await storage.outbox.enqueue(mutation, claiming: false)
    }
    Self.say("enqueue \(enqueued)")
    let count = Result { try storage.outbox.entries().count }
    Self.say("entries \((try? count.get()).map { "\($0)" } ?? "none")")
    try? await storage.close()
  }

  private static func outcome(_ body: () async throws -> Void) async -> String {
    do {
      try await body()
      return "ok"
    } catch {
      return (error as? StorageError).map { "\($0.code.rawValue)" } ?? "\(type(of: error))"
    }
  }

  private static func locks(_ arguments: [String]) throws {
    for name in ["cache.sqlite", "cache.sqlite-shm"] {
      let descriptor = open("\(arguments[1])/\(name)", O_RDWR | O_CLOEXEC)
      defer { close(descriptor) }
      var lock = flock()
      lock.l_type = Int16(F_WRLCK)
      lock.l_whence = Int16(SEEK_SET)
      guard descriptor >= 0, fcntl(descriptor, F_GETLK, &lock) == 0 else { continue }
      if lock.l_type != Int16(F_UNLCK) { Self.say(name) }
    }
  }
}
