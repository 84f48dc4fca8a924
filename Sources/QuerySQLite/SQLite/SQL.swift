/// The text of one statement. It can only be written down, never put together, so no value is ever
/// part of it, and statements are found again by the address of their text.
///
/// ```swift
/// extension EntryRow {
///   static let read: SQL = "SELECT value FROM entries WHERE partition = ? AND hash = ?"
/// }
/// ```
struct SQL: ExpressibleByStringLiteral, Sendable {
  /// The text, UTF-8.
  let text: StaticString

  init(stringLiteral text: StaticString) {
    precondition(text.hasPointerRepresentation, "a statement has more than one character")
    self.text = text
  }

  /// What tells this text from every other of the process. One text that is written down twice may
  /// have two.
  var address: UInt { UInt(bitPattern: self.text.utf8Start) }
}
