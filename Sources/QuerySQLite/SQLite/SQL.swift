/// The text of one statement. It can only be a literal, never assembled, so no value is ever part
/// of it, and the statement cache finds a statement by the address of its text.
///
/// ```swift
/// extension EntryRow {
///   static let read: SQL = "SELECT value FROM entries WHERE partition = ? AND hash = ?"
/// }
/// ```
package struct SQL: ExpressibleByStringLiteral, Sendable {
  /// The text, UTF-8.
  let text: StaticString

  package init(stringLiteral text: StaticString) {
    precondition(text.hasPointerRepresentation, "a statement has more than one character")
    self.text = text
  }

  /// Identifies this text in the process. Two equal literals may have two addresses.
  var address: UInt { UInt(bitPattern: self.text.utf8Start) }
}
