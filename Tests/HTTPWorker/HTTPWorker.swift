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
/// http-worker read FOLDER URL
///   fetches the numbers of URL once, and says them
/// http-worker leave FOLDER URL
///   sends forty requests, and ends as soon as one is answered
/// http-worker live FOLDER ROOT
///   follows the numbers of ROOT/notes by the stream ROOT/events; after each "shown COUNT"
/// http-worker pack FOLDER ROOT [COUNT]
///   with COUNT keeps ROOT/notes, page by page, and as many of ROOT/photos/NUMBER; without it only goes on
///   with what an earlier one has kept; "begun", and in the end "whole DONE TOTAL"
/// http-worker serve PORT
///   answers, as `NumberServer` says
/// http-worker ask
///   reads each URL that comes on standard input, one after another, and waits an hour for the answer; after
///   each "answered STATUS" or "failed CODE"
/// ```
@main
struct HTTPWorker {
  static func main() async throws {
    let arguments = CommandLine.arguments
    if arguments.count == 3, arguments[1] == "serve", let port = UInt16(arguments[2]) {
      try NumberServer(port: port).serve(Self.say)
    }
    if arguments.last == "ask" { return await Self.ask() }
    guard arguments.count >= 4, let url = URL(string: arguments[3]) else { exit(2) }
    let storage = try SQLiteQueryStorage(
      directory: URL(filePath: arguments[2], directoryHint: .isDirectory))
    let client = QueryClient(storage: storage, storeCreator: .default(retryLimit: 0))
    if arguments[1] == "live" { return await Self.follow(url, with: client) }
    if arguments[1] == "read" {
      let query = HTTPQuery(url, as: [Int].self).persisted()
      Self.say("\(try await client.store(for: query).fetch())")
      return try await storage.close()
    }
    if arguments[1] == "leave" { return await Self.leave(url) }
    if arguments[1] == "pack" {
      let pack = try await Packs.begin(
        in: client, of: url, count: arguments.dropFirst(4).first.flatMap { Int($0) })
      Self.say("begun")
      let progress = try await pack.whole()
      Self.say("whole \(progress.done) \(progress.total)")
      return try await storage.close()
    }
    let store = client.store(for: Self.numbers(at: url).persisted())
    while true {
      let numbers = try await store.fetch()
      Self.say("merged \(numbers.keys.max() ?? 0)")
    }
  }

  private static func ask() async {
    let transport = HTTPTransport(timeout: .seconds(3_600))
    Self.say("ready")
    while let line = readLine(), let url = URL(string: line) {
      do {
        Self.say("answered \(try await transport.answer(from: url).1.statusCode)")
      } catch {
        Self.say("failed \((error as? URLError)?.code.rawValue ?? 0)")
      }
    }
  }

  private static func leave(_ url: URL) async {
    let transport = HTTPTransport.shared
    await withTaskGroup(of: Void.self) { group in
      for number in 0..<40 {
        group.addTask {
          var request = URLRequest(url: url)
          if number.isMultiple(of: 2) { request.httpMethod = "POST" }
          guard (try? await transport.answer(to: request)) != nil else { return }
          exit(0)
        }
      }
    }
  }

  private static func follow(_ root: URL, with client: QueryClient) async {
    let query = HTTPQuery(root.appending(path: "notes"), as: [Int].self)
      .stale(after: .seconds(3_600)).persisted()
      .live(
        from: { EventStream(root.appending(path: "events")) },
        apply: .apply { numbers, event in
          if let number = Int(event.data), !numbers.contains(number) { numbers.append(number) }
        })
    let store = client.store(for: query)
    let subscription = store.subscribe { state in
      Self.say("shown \(state.currentValue?.count ?? 0)")
    }
    try? await Task.sleep(for: .seconds(3_600))
    subscription.cancel()
  }

  /// Writes a line at once.
  @Sendable static func say(_ line: String) {
    FileHandle.standardOutput.write(Data("\(line)\n".utf8))
  }

  /// How often each number has come.
  private static func numbers(at url: URL) -> DeltaQuery<[Int: Int], [Int], Int> {
    DeltaQuery(["numbers"], from: [:]) { since, _ in
      let from = url.appending(queryItems: [URLQueryItem(name: "since", value: "\(since ?? 0)")])
      let (data, _) = try await HTTPTransport.shared.answer(from: from)
      let numbers = try JSONDecoder().decode([Int].self, from: data)
      return (numbers, numbers.max() ?? since ?? 0)
    } merge: { counts, numbers in
      for number in numbers { counts[number, default: 0] += 1 }
    }
  }
}
