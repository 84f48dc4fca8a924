import Foundation
import Query
import QueryHTTP
import QueryReplay
import QuerySQLite
import SystemNetwork

/// Everything that the commands share: the stores, the storage, and the replayer.
struct Notebook {
  let storage: SQLiteQueryStorage
  let client: QueryClient

  /// Opens the notes that this user has seen, and the writes not sent yet.
  ///
  /// - Parameters:
  ///   - server: The server's address.
  ///   - folder: The folder to keep them in; nil: the default folder for the user's programs.
  init(server: URL, folder: URL?) throws {
    if let folder {
      self.storage = try SQLiteQueryStorage(directory: folder)
    } else {
      self.storage = try SQLiteQueryStorage(applicationID: "org.example.field-notes")
    }
    var context = QueryContext()
    context.notesServer = NotesServer(url: server)
    context.httpTransport = HTTPTransport(timeout: NotesServer.patience)
    self.client = QueryClient(
      storage: self.storage,
      defaultContext: context,
      // Reads are not retried: the user at the terminal can do that. The outbox retries writes.
      storeCreator: .default(
        retryLimit: 0,
        // A server on this very machine can be reached without a network, too.
        networkObserver: Self.isLocal(server) ? nil : SystemNetworkObserver.shared))
    // If a folder is kept, the next launch goes on fetching it.
    self.client.packs.register(FolderNotesQuery.self)
    // From now on their changes are shown, and any replayer of the client sends them.
    try self.client.register(CreateNote.durable)
    try self.client.register(EditNote.durable)
    try self.client.register(DeleteNote.durable)
  }

  private static func isLocal(_ server: URL) -> Bool {
    ["localhost", "127.0.0.1", "::1", "[::1]"].contains(server.host() ?? "")
  }

  /// Sends the waiting writes of this launch and of earlier ones.
  func replayer() -> MutationReplayer { MutationReplayer(client: self.client) }

  /// The writes that no server has acknowledged, the oldest first.
  func unsent() throws -> [OutboxEntry] { try self.storage.outbox.entries() }

  /// The name by which a new write refers to a note.
  ///
  /// While writes that name a note by its alias wait, later writes to that note must queue behind
  /// them, in the same lane, even if the server has given it an identifier by now.
  func reference(_ name: String) throws -> NoteReference {
    let outbox = self.storage.outbox
    if NoteReference(name).isAlias {
      let isWaited = try self.unsent().contains { $0.lane == NoteReference(name).lane }
      guard !isWaited, let id = try outbox.value(ofAlias: name) else { return NoteReference(name) }
      return NoteReference(id)
    }
    for entry in try self.unsent() {
      guard let lane = entry.lane, lane.hasPrefix("note-new-") else { continue }
      let alias = NoteReference(String(lane.dropFirst("note-".count)))
      if try outbox.value(ofAlias: alias.name) == name { return alias }
    }
    return NoteReference(name)
  }
}
