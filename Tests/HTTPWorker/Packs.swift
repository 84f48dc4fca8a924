import Foundation
import Query
import QueryHTTP

/// A list of the pack.
struct NotesPage: HTTPPage {
  static let firstPageID = 0
  var notes: [String]
  var next: Int?

  static func url(of id: Int, in list: URL) -> URL {
    list.appending(queryItems: [URLQueryItem(name: "page", value: "\(id)")])
  }

  func pageID(after id: Int) -> Int? { self.next }
}

/// What is of one photo.
private struct Photo: Codable, Sendable {
  var title: String
}

/// What a process does for a pack of queries of HTTP.
enum Packs {
  /// - Parameter count: How many photos are kept; nil: no list is said, only the types of its members.
  static func begin(in client: QueryClient, of root: URL, count: Int?) async throws -> OfflinePack {
    guard let count else {
      client.packs.register(HTTPQuery<Photo>.self)
      client.packs.register(HTTPPages<Int, NotesPage>.self)
      guard let pack = try await client.packs.resume().first else { exit(3) }
      return pack
    }
    return try await client.keep("area") {
      HTTPPages(root.appending(path: "notes"), as: NotesPage.self).pages(.all)
      for number in 0..<count {
        HTTPQuery<Photo>(root.appending(path: "photos/\(number)"))
      }
    }
  }
}
