import FoundationEssentials

/// A line of an export: an object of texts and whole numbers, one of which, `type`, gives its kind.
struct ExportLine: Hashable, Sendable {
  /// The kind of a line. The names are stable.
  enum Kind: String, Hashable, Sendable, CaseIterable {
    case header
    case entry
    case page
    case ended
    case attempt
    case outbox
    case mutation
    case body
    case dependency
    case alias
    case forgotten
    case pause
    case trailer
  }

  /// The kind of the line.
  let kind: Kind
  /// All but `type`.
  var values: [String: ExportScalar]

  init(_ kind: Kind, _ values: [String: ExportScalar] = [:]) {
    self.kind = kind
    self.values = values
  }

  /// Makes a line of columns, leaving out nulls.
  init(_ kind: Kind, _ columns: [(name: String, value: ExportValue)]) {
    self.kind = kind
    self.values = [:]
    for column in columns { self.values[column.name] = column.value.scalar }
  }

  /// Reads a line, without its line feed; nil if it is malformed.
  init?(_ bytes: Data) {
    guard
      var values = try? JSONDecoder().decode([String: ExportScalar].self, from: bytes),
      case .text(let name)? = values.removeValue(forKey: "type"), let kind = Kind(rawValue: name)
    else { return nil }
    self.kind = kind
    self.values = values
  }

  /// The line with its line feed: keys in alphabetical order, so that equal rows are equal bytes.
  ///
  /// - Throws: `EncodingError`, which texts and whole numbers do not cause.
  func bytes() throws -> Data {
    var values = self.values
    values["type"] = .text(self.kind.rawValue)
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    return try encoder.encode(values) + Data([0x0a])
  }

  /// A whole number of the line.
  func integer(_ name: String) -> Int64? {
    if case .integer(let number)? = self.values[name] { number } else { nil }
  }

  /// A text of the line.
  func text(_ name: String) -> String? {
    if case .text(let text)? = self.values[name] { text } else { nil }
  }

  /// Bytes of the line; nil also if the text is not Base64.
  func bytes(_ name: String) -> Data? { self.text(name).flatMap { Data(base64Encoded: $0) } }
}
