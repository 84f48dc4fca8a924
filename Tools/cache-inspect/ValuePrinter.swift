import FoundationEssentials
import QueryInspection
import ToolSupport

/// Prints what a store holds: coded values for people, and their bytes.
struct ValuePrinter {
  let output: Output

  /// At most so many bytes are shown in hexadecimal; `--value` prints all.
  private static let maximumHex = 4_096

  /// Prints a coded value by its coder, each line made safe for a terminal.
  ///
  /// - Throws: As `Output.line(_:)`.
  func print(_ data: Data, coder: String) throws {
    switch InspectedValue.text(of: data, coder: coder) {
    case .json(let text):
      for line in text.split(separator: "\n", omittingEmptySubsequences: false) {
        try self.output.line(SafeText.escape(String(line)))
      }
    case .propertyList(let text):
      for line in text.split(separator: "\n") {
        let depth = line.prefix { $0 == "\t" }.count
        let indent = String(repeating: "  ", count: depth)
        try self.output.line(indent + SafeText.escape(String(line.dropFirst(depth))))
      }
    case .bytes(let data): try self.printHex(data)
    }
  }

  private func printHex(_ data: Data) throws {
    let shown = data.prefix(Self.maximumHex)
    var start = shown.startIndex
    while start < shown.endIndex {
      let row = shown[start..<min(start + 16, shown.endIndex)]
      let hex = row.map { Self.hex($0) }.joined(separator: " ")
      let text = row.map { (0x20..<0x7f).contains($0) ? String(UnicodeScalar($0)) : "." }.joined()
      let place = String(start - shown.startIndex, radix: 16)
      let padding = String(repeating: "0", count: max(8 - place.count, 0))
      let gap = String(repeating: " ", count: 48 - hex.count)
      try self.output.line("\(padding)\(place)  \(hex)\(gap) \(text)")
      start = row.endIndex
    }
    let left = data.count - shown.count
    if left > 0 { try self.output.line("… and \(left) more bytes; --value prints all") }
  }

  private static func hex(_ byte: UInt8) -> String {
    (byte < 16 ? "0" : "") + String(byte, radix: 16)
  }

  /// An id of a page for people: its text if it is text, else hexadecimal digits.
  static func text(of pageID: Data) -> String {
    guard let text = String(validating: pageID, as: UTF8.self) else {
      return "0x" + pageID.map { Self.hex($0) }.joined()
    }
    return text
  }
}

/// Prints names and what they have, one below the other.
struct FieldList {
  private var fields = [(name: String, text: String)]()

  /// Adds a field; one without a text is left out.
  mutating func add(_ name: String, _ text: String?) {
    if let text { self.fields.append((name, text)) }
  }

  /// Prints them. What they have is made safe for a terminal.
  ///
  /// - Throws: As `Output.line(_:)`.
  func print(_ invocation: Invocation) throws {
    let width = self.fields.map(\.name.count).max() ?? 0
    for field in self.fields {
      let padding = String(repeating: " ", count: width - field.name.count)
      let name = invocation.terminal.styled(field.name, .strong)
      try invocation.output.line("\(name)\(padding)  \(SafeText.escape(field.text))")
    }
  }
}
