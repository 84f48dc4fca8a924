package import FoundationEssentials

/// The name of a copy of a file in `bodies/`: an identifier, how many bytes the file has, and their
/// checksum, so that the row that names it tells whether it is still what was enqueued.
package struct BodyName: Hashable, Sendable {
  package let id: UUID
  package let byteCount: Int
  /// As of ``BodyHash/digits``.
  package let digits: String

  package init(id: UUID, byteCount: Int, digits: String) {
    self.id = id
    self.byteCount = byteCount
    self.digits = digits
  }

  package var text: String {
    "\(self.id.uuidString)-\(String(self.byteCount, radix: 16))-\(self.digits)"
  }

  /// Nil if the text is not such a name: a row's content is not trusted.
  package init?(_ text: some StringProtocol) {
    let parts = text.split(separator: "-", omittingEmptySubsequences: false)
    guard parts.count == 7, let id = UUID(uuidString: parts[..<5].joined(separator: "-")),
      let byteCount = Int(parts[5], radix: 16), parts[6].utf8.count == 32
    else { return nil }
    self.init(id: id, byteCount: byteCount, digits: String(parts[6]))
    if self.text != text { return nil }
  }
}

/// A row names all its files in one text. No name has a slash.
package enum BodyNames {
  /// The text for these names; nil for none.
  package static func joined(_ names: [String]) -> String? {
    names.isEmpty ? nil : names.joined(separator: "/")
  }

  /// The names in a text.
  package static func split(_ text: String?) -> [String] {
    text?.split(separator: "/").map(String.init) ?? []
  }

  /// Whether a name leads to nothing but a file of its folder.
  package static func isPlain(_ name: String) -> Bool {
    !name.isEmpty && name != "." && name != ".." && !name.utf8.contains(UInt8(ascii: "/"))
      && !name.utf8.contains(0)
  }
}
