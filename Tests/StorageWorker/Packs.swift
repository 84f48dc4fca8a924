import Query
import QuerySQLite

/// A text of a pack, which says that it is fetched.
struct PackedText: PackableRequest, Hashable {
  static let packName = "text"

  let number: Int
  let microseconds: Int

  var path: QueryPath { ["packed", self.number] }

  func fetch(
    in context: QueryContext, with continuation: QueryContinuation<String>
  ) async throws -> String {
    StorageWorker.say("fetched \(self.number)")
    // The process waits to be killed, however late that comes.
    if Packs.left.withLock({
      $0 -= 1
      return $0 < 0
    }) {
      try await Task.sleep(for: .seconds(600))
    }
    if self.microseconds > 0 { try await Task.sleep(for: .microseconds(self.microseconds)) }
    return String(repeating: "\(self.number) ", count: 50)
  }
}

/// What a process does for a pack.
enum Packs {
  /// How many fetches may end.
  static let left = Locked(Int.max)

  static func work(_ storage: SQLiteQueryStorage, _ arguments: [String]) async throws {
    if arguments.count > 4, let most = Int(arguments[4]) { Self.left.withLock { $0 = most } }
    let client = QueryClient(storage: storage)
    client.packs.register(PackedText.self)
    let pack: OfflinePack
    if let found = try await client.packs.resume().first {
      pack = found
    } else {
      pack = try await client.keep("area") {
        for number in 0..<(Int(arguments[2]) ?? 0) {
          PackedText(number: number, microseconds: Int(arguments[3]) ?? 0)
        }
      }
    }
    StorageWorker.say("begun")
    let progress = try await pack.whole()
    StorageWorker.say("whole \(progress.done) \(progress.total)")
    try await storage.close()
  }
}
