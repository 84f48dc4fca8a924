/// Finds the identities of all paths that begin with another one.
///
/// The text of a path is a JSON array with an item an element, so that `["players",3]` is under
/// `["players"]`: it begins with the same text up to the bracket that closes, and goes on with a comma.
package struct IdentityPrefix: Sendable {
  /// The text of the path without the bracket at its end.
  private let beginning: String

  /// Makes the prefix of a path.
  ///
  /// - Parameter path: The beginning of the paths. The empty path finds all.
  /// - Throws: ``QueryIdentityError``: then no stored entry is under it.
  package init(path: QueryPath) throws {
    self.init(identity: try QueryIdentity(path: path))
  }

  /// Makes the prefix of a path whose text is already known.
  ///
  /// - Parameter identity: The text of the path.
  package init(identity: QueryIdentity) {
    self.beginning = String(identity.text.unicodeScalars.dropLast())
  }

  /// Whether an identity is that of such a path. An identity given by hand matches, too, if its
  /// text looks like one.
  package func matches(_ identity: QueryIdentity) -> Bool {
    var text = identity.text
    return text.withUTF8 { self.matches(UnsafeRawBufferPointer($0)) }
  }

  /// Whether a text, UTF-8, is the identity of such a path.
  package func matches(_ text: UnsafeRawBufferPointer) -> Bool {
    let beginning = self.beginning.utf8
    guard text.count > beginning.count, text.starts(with: beginning) else { return false }
    if beginning.count == 1 { return true }
    let next = text[beginning.count]
    return next == UInt8(ascii: ",") || next == UInt8(ascii: "]")
  }

  /// The texts that match, as ranges of their bytes in ascending order: what an index is asked for.
  package var ranges: [(lower: String, upper: String)] {
    // '\\' follows '[', '-' follows ',' and '^' follows ']'.
    if self.beginning == "[" { return [(lower: "[\0", upper: "\\")] }
    return [(",", "-"), ("]", "^")].map { lower, upper in
      (lower: self.beginning + lower, upper: self.beginning + upper)
    }
  }
}
