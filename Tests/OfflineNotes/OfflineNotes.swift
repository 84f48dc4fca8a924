import Foundation
import FoundationNetworking
import Query
import QueryHTTP
import QueryReplay
import QuerySQLite
import SystemNetwork

struct CreateNote: MutationRequest, Hashable {
  func mutate(
    with text: String,
    in context: QueryContext,
    with continuation: QueryContinuation<Void>
  ) async throws {
    var request = URLRequest(url: URL(string: "http://192.0.2.1:8080/notes")!)
    request.httpMethod = "POST"
    request.httpBody = Data(text.utf8)
    request.setValue(
      context.mutationAttempt?.idempotencyKey, forHTTPHeaderField: "Idempotency-Key")
    _ = try await HTTPTransport.shared.answer(to: request)
  }
}

@main
struct OfflineNotes {
  static func main() async throws {
    SystemNetworkObserver.install()
    let folder = URL(filePath: CommandLine.arguments[1])
    let client = QueryClient(storage: try SQLiteQueryStorage(directory: folder))
    let create = CreateNote().persisted(as: "create-note", .init(scope: .named("notes")))
    for text in CommandLine.arguments.dropFirst(2) {
      do {
        try await client.store(for: create).mutate(with: text)
      } catch let queued as MutationQueuedError {
        Self.say("saved \(queued.idempotencyKey)")
      }
    }
    let replayer = MutationReplayer(client: client)
    try replayer.register(create)
    Self.say("replaying")
    try await replayer.run()
  }

  private static func say(_ line: String) {
    FileHandle.standardOutput.write(Data("\(line)\n".utf8))
  }
}
