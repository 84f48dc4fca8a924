import Foundation
import Query
import QueryHTTP

extension Notebook {
  /// All folders, as they change while somebody subscribes. An event from the server says which folder has
  /// changed; then its pages are requested again, and the server sends only those that have changed.
  func liveFolders() -> some QueryRequest<[Folder], FoldersQuery.State> {
    let server = self.client.defaultContext.notesServer
    return FoldersQuery().persisted().live(
      from: { server.events },
      apply: .invalidate { event in
        let change = try? JSONDecoder().decode(Change.self, from: Data(event.data.utf8))
        // A reset does not say what has changed, so everything is requested.
        guard let folder = change?.folder else { return [["notes"]] }
        return [FoldersQuery().path, FolderNotesQuery(folder: folder).path]
      })
  }
}
