import Foundation
import Query

/// How a write names its note: by the server's identifier, or, if the server does not know it yet,
/// by an alias of this program's.
struct NoteReference: Codable, Hashable, Sendable {
  /// What an alias begins with.
  private static let aliasPrefix = "new-"

  let name: String

  init(_ name: String) { self.name = name }

  /// A name for a note that is made now, also with no network.
  static func alias() -> NoteReference {
    NoteReference(self.aliasPrefix + UUID().uuidString.lowercased())
  }

  var isAlias: Bool { self.name.hasPrefix(Self.aliasPrefix) }

  /// The writes of one note are sent one after another; those of other notes do not wait for them.
  var lane: String { "note-\(self.name)" }

  /// The server's identifier of the note.
  ///
  /// - Throws: `MutationAliasError` if the note was not created yet. If a write rethrows it, the
  ///   library lets it wait for that.
  func resolved(by attempt: MutationAttempt?) throws -> String {
    guard self.isAlias, let attempt else { return self.name }
    return try attempt.resolve(self.name)
  }
}
