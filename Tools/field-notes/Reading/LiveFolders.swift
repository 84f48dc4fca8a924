import Foundation
import Query
import QueryHTTP

extension Notebook {
  /// All folders, as they change while somebody subscribes. An event of the server's says which folder has
  /// changed; its pages are then asked for again, too, and only those that have changed are sent.
  func liveFolders() -> some QueryRequest<[Folder], FoldersQuery.State> {
    let server = self.client.defaultContext.notesServer
    return FoldersQuery().persisted().live(
      from: { server.events },
      apply: .invalidate { event in
        let change = try? JSONDecoder().decode(Change.self, from: Data(event.data.utf8))
        // Of a reset nothing is known, so that all is asked about.
        guard let folder = change?.folder else { return [["notes"]] }
        return [FoldersQuery().path, FolderNotesQuery(folder: folder).path]
      })
  }
}
