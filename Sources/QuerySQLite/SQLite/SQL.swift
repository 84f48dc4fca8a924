/// The text of one statement. It is a literal, or assembled from literals and names of columns, so
/// no value is ever part of it, and the statement cache finds a statement by the address of its
/// text.
///
/// ```swift
/// extension EntryRow {
///   static let read: SQL = "SELECT value FROM entries WHERE partition = ? AND hash = ?"
/// }
/// ```
package struct SQL: ExpressibleByStringLiteral, Sendable {
  /// The text, UTF-8.
  let text: Text

  package init(stringLiteral text: StaticString) {
    precondition(text.hasPointerRepresentation, "a statement has more than one character")
    self.text = Text(address: UInt(bitPattern: text.utf8Start), count: text.utf8CodeUnitCount)
  }

  /// Assembles a text. It is never freed, so this is for static values, which do it once.
  ///
  /// ```swift
  /// static let read = SQL(assembling: "SELECT \(columns.list) FROM entries WHERE id = ?")
  /// ```
  package init(assembling words: Words) {
    // SQLite reads on to a NUL, as a literal has it, too.
    let bytes = Array(words.text.utf8) + [0]
    let text = UnsafeMutableBufferPointer<UInt8>.allocate(capacity: bytes.count)
    _ = text.initialize(from: bytes)
    self.text = Text(address: UInt(bitPattern: text.baseAddress), count: bytes.count - 1)
  }

  /// Identifies this text in the process. Two equal literals may have two addresses.
  var address: UInt { self.text.address }

  /// Bytes that exist as long as the process.
  struct Text: Sendable, CustomStringConvertible {
    fileprivate let address: UInt
    fileprivate let count: Int

    /// Calls a closure with the bytes.
    func withUTF8Buffer<R>(_ body: (UnsafeBufferPointer<UInt8>) -> R) -> R {
      body(UnsafeBufferPointer(start: UnsafePointer(bitPattern: self.address), count: self.count))
    }

    var description: String { self.withUTF8Buffer { String(decoding: $0, as: UTF8.self) } }
  }
}

// MARK: - Assembling

extension SQL {
  /// A part of a statement: literals, and what ``SQLColumns`` make of their names.
  package struct Words: ExpressibleByStringInterpolation, Sendable {
    let text: String

    init(text: String) { self.text = text }
    package init(stringLiteral text: StaticString) { self.text = "\(text)" }
    package init(stringInterpolation: Interpolation) { self.text = stringInterpolation.text }

    package struct Interpolation: StringInterpolationProtocol {
      fileprivate var text = ""

      package init(literalCapacity: Int, interpolationCount: Int) {}
      package mutating func appendLiteral(_ literal: StaticString) { self.text += "\(literal)" }
      package mutating func appendInterpolation(_ words: Words) { self.text += words.text }
    }
  }
}

/// The names of columns, in an order, of which statements are assembled.
package struct SQLColumns: ExpressibleByArrayLiteral, Sendable {
  package let names: [String]

  /// - Precondition: Each name consists of letters, digits and underscores.
  package init(_ names: [String]) {
    precondition(
      names.allSatisfy { $0.utf8.allSatisfy(Self.isOfAName) && !$0.isEmpty },
      "the name of a column is a word")
    self.names = names
  }

  package init(arrayLiteral names: StaticString...) { self.init(names.map { "\($0)" }) }

  private static func isOfAName(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
      UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"):
      true
    default: false
    }
  }

  /// `a, b`
  package var list: SQL.Words { self.list(replacing: [:]) }

  /// `a, b`, with other expressions in place of some of the names.
  package func list(replacing expressions: [String: SQL.Words]) -> SQL.Words {
    self.joined { expressions[$0]?.text ?? $0 }
  }

  private var placeholders: SQL.Words { self.joined { _ in "?" } }

  /// `(a, b) VALUES (?, ?)`
  package var values: SQL.Words { "(\(self.list)) VALUES (\(self.placeholders))" }

  /// `a = ?, b = ?`
  package var assignments: SQL.Words { self.joined { "\($0) = ?" } }

  private func joined(_ text: (String) -> String) -> SQL.Words {
    SQL.Words(text: self.names.map(text).joined(separator: ", "))
  }

  package static func + (first: Self, second: Self) -> Self { Self(first.names + second.names) }
}
