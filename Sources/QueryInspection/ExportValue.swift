import FoundationEssentials
import Query
import QuerySQLite

/// A column of a row in an export.
enum ExportValue: Hashable, Sendable {
  case null
  case integer(Int64)
  case text(String)
  case bytes(Data)

  /// The type of a column, and its form in JSON: a null is left out, bytes are Base64, an
  /// identifier is a UUID's text.
  enum Kind: Hashable, Sendable {
    case integer
    case text
    case bytes
    case identifier
  }

  /// Reads a column.
  ///
  /// - Throws: `StorageError` (mismatch).
  init(_ row: SQLiteStatement, at index: Int32, _ kind: Kind) throws {
    if row.isNull(at: index) {
      self = .null
      return
    }
    switch kind {
    case .integer: self = .integer(try row.integer(at: index))
    case .text: self = .text(try row.text(at: index))
    case .bytes: self = .bytes(try row.data(at: index))
    case .identifier: self = .text(try row.uuid(at: index).uuidString)
    }
  }

  /// The value of a key in a line; nil if it is of another type.
  init?(_ scalar: ExportScalar?, _ kind: Kind) {
    switch (scalar, kind) {
    case (nil, _): self = .null
    case (.integer(let number)?, .integer): self = .integer(number)
    case (.text(let text)?, .text): self = .text(text)
    case (.text(let text)?, .bytes):
      guard let data = Data(base64Encoded: text) else { return nil }
      self = .bytes(data)
    case (.text(let text)?, .identifier):
      guard let id = UUID(uuidString: text) else { return nil }
      self = .bytes(withUnsafeBytes(of: id.uuid) { Data($0) })
    default: return nil
    }
  }

  /// The value in a line; nil: it is left out.
  var scalar: ExportScalar? {
    switch self {
    case .null: nil
    case .integer(let number): .integer(number)
    case .text(let text): .text(text)
    case .bytes(let data): .text(data.base64EncodedString())
    }
  }
}

extension ExportValue: SQLiteBindable {
  func bind(to statement: SQLiteStatement, at index: Int32) throws(StorageError) {
    switch self {
    case .null: try statement.bindNull(at: index)
    case .integer(let number): try statement.bind(number, at: index)
    case .text(let text): try statement.bind(text, at: index)
    case .bytes(let data): try data.bind(to: statement, at: index)
    }
  }
}

/// A JSON value of an export.
enum ExportScalar: Hashable, Sendable, Codable {
  case integer(Int64)
  case text(String)

  init(from decoder: any Decoder) throws {
    let container = try decoder.singleValueContainer()
    if let text = try? container.decode(String.self) {
      self = .text(text)
    } else {
      self = .integer(try container.decode(Int64.self))
    }
  }

  func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    switch self {
    case .integer(let number): try container.encode(number)
    case .text(let text): try container.encode(text)
    }
  }
}
