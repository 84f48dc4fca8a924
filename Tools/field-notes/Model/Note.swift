/// A note, as the server sends it and as it is kept on disk.
struct Note: Codable, Hashable, Sendable {
  let id: String
  let folder: String
  let title: String
  let text: String
  /// Incremented by the server with each edit.
  let edition: Int
}

/// Some of a folder's notes, by their title.
struct NotePage: Codable, Hashable, Sendable {
  let notes: [Note]
  /// The cursor of the next page; nil after the last note.
  let next: String?
}

/// A folder, and how many notes are in it.
struct Folder: Codable, Hashable, Sendable {
  let name: String
  let count: Int
}
