import Foundation
import FoundationNetworking
import Query
import QueryHTTP
import QuerySQLite

/// A process that tests start and kill: it reads from a server, and says on standard output what it has
/// come to, a line each.
///
/// ```
/// http-worker delta FOLDER URL
///   asks for what has changed, again and again; after each "merged CURSOR"
/// ```
@main
struct HTTPWorker {
  static func main() async throws {
    let arguments = CommandLine.arguments
    guard arguments.count == 4, arguments[1] == "delta", let url = URL(string: arguments[3]) else {
      exit(2)
    }
    let storage = try SQLiteQueryStorage(
      directory: URL(filePath: arguments[2], directoryHint: .isDirectory))
    let client = QueryClient(storage: storage, storeCreator: .default(retryLimit: 0))
    let store = client.store(for: Self.numbers(at: url).persisted())
    while true {
      let numbers = try await store.fetch()
      Self.say("merged \(numbers.keys.max() ?? 0)")
    }
  }

  /// Writes a line at once.
  private static func say(_ line: String) {
    FileHandle.standardOutput.write(Data("\(line)\n".utf8))
  }

  /// How often each number has come.
  private static func numbers(at url: URL) -> DeltaQuery<[Int: Int], [Int], Int> {
    DeltaQuery(["numbers"], from: [:]) { since, _ in
      let from = url.appending(queryItems: [URLQueryItem(name: "since", value: "\(since ?? 0)")])
      let (data, _) = try await URLSession.shared.answer(from: from)
      let numbers = try JSONDecoder().decode([Int].self, from: data)
      return (numbers, numbers.max() ?? since ?? 0)
    } merge: { counts, numbers in
      for number in numbers { counts[number, default: 0] += 1 }
    }
  }
}
