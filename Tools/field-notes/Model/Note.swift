/// A note, as the server sends it and as it is kept on disk.
struct Note: Codable, Hashable, Sendable {
  let id: String
  let folder: String
  let title: String
  var text: String
  /// Incremented by the server with each edit.
  let edition: Int
  /// The change that is shown and that the server does not have yet; nil if there is none. It is neither
  /// sent nor stored.
  var unsent: Unsent?

  enum Unsent: String, Sendable {
    case waiting = "not sent"
    case refused
  }

  private enum CodingKeys: CodingKey {
    case id, folder, title, text, edition
  }
}

extension Note {
  /// A line of a list.
  var line: String {
    let mark = self.unsent?.rawValue ?? "\(self.edition)"
    return "\(self.id)  \(self.title)  \(self.text)  [\(mark)]"
  }
}

/// What an event of the server says has changed.
struct Change: Codable, Hashable, Sendable {
  let folder: String
}

/// Some of a folder's notes, by their title.
struct NotePage: Codable, Hashable, Sendable {
  var notes: [Note]
  /// The cursor of the next page; nil after the last note.
  let next: String?
}

/// A folder, and how many notes are in it.
struct Folder: Codable, Hashable, Sendable {
  let name: String
  let count: Int
}
