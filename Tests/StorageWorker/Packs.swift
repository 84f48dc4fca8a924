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
    if self.microseconds > 0 { try await Task.sleep(for: .microseconds(self.microseconds)) }
    return String(repeating: "\(self.number) ", count: 50)
  }
}

/// What a process does for a pack.
enum Packs {
  static func work(_ storage: SQLiteQueryStorage, _ arguments: [String]) async throws {
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
