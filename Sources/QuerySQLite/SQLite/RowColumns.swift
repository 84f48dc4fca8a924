package import FoundationEssentials
package import Query

/// What is passed the columns of a row type, one after the other: it makes a statement of them, reads
/// them, or binds them. So the columns stand in one list.
///
/// ```swift
/// func columns(_ visitor: inout some ColumnVisitor) throws(StorageError) {
///   try visitor.column("id", &self.id)
///   try visitor.column("name", &self.name)
/// }
/// ```
/// The list is a function rather than an array of key paths: specialised for a visitor it is as fast
/// as reads and bindings that are written out.
package protocol ColumnVisitor {
  /// Passes the next column, by its name, and the value of it.
  mutating func column<Value: SQLiteColumn>(
    _ name: StaticString, _ value: inout Value
  ) throws(StorageError)
}

extension ColumnVisitor {
  /// The two columns of an error.
  mutating func error(
    _ typeName: StaticString, _ text: StaticString, _ value: inout RestoredError?
  ) throws(StorageError) {
    var (first, second) = (value?.typeName, value?.text)
    try self.column(typeName, &first)
    try self.column(text, &second)
    value = first.map { RestoredError(typeName: $0, text: second ?? "") }
  }

  /// A number of attempts. An impossible one, from a damaged file, is clamped so that it can still be
  /// incremented: the row stays usable.
  mutating func count(_ name: StaticString, _ value: inout Int) throws(StorageError) {
    try self.column(name, &value)
    value = min(max(value, 0), 1 << 40)
  }
}

/// Collects the names of columns.
struct ColumnNames: ColumnVisitor {
  private var names = [String]()

  /// The names that a list passes.
  static func of(_ list: (inout Self) throws(StorageError) -> Void) -> SQLColumns {
    var names = Self()
    // It throws nothing itself.
    try? list(&names)
    return SQLColumns(names.names)
  }

  mutating func column<Value: SQLiteColumn>(_ name: StaticString, _ value: inout Value) {
    self.names.append("\(name)")
  }
}

/// Reads the columns of a statement's current row, the first one first.
struct ColumnReader: ColumnVisitor {
  let row: SQLiteStatement
  /// The index of the next column.
  private(set) var next: Int32 = 0

  init(_ row: SQLiteStatement) { self.row = row }

  mutating func column<Value: SQLiteColumn>(
    _ name: StaticString, _ value: inout Value
  ) throws(StorageError) {
    value = try Value.read(self.row, at: self.next)
    self.next += 1
  }
}

/// Binds values to the placeholders of a statement, the first one first.
struct ColumnBinder: ColumnVisitor {
  let statement: SQLiteStatement
  private var last: Int32 = 0

  init(_ statement: SQLiteStatement) { self.statement = statement }

  mutating func column<Value: SQLiteColumn>(
    _ name: StaticString, _ value: inout Value
  ) throws(StorageError) {
    try self.bind(value)
  }

  /// Binds a value that is no column of the list.
  mutating func bind(_ value: some SQLiteBindable) throws(StorageError) {
    self.last += 1
    try value.bind(to: self.statement, at: self.last)
  }
}

// MARK: - Values

/// A value that a column has.
package protocol SQLiteColumn: SQLiteBindable {
  /// Reads a column of the current row.
  ///
  /// - Throws: `StorageError` (mismatch).
  static func read(_ row: SQLiteStatement, at index: Int32) throws(StorageError) -> Self
}

extension Int64: SQLiteColumn {
  package static func read(_ row: SQLiteStatement, at index: Int32) throws(StorageError) -> Self {
    try row.integer(at: index)
  }
}

extension Int: SQLiteColumn {
  package static func read(_ row: SQLiteStatement, at index: Int32) throws(StorageError) -> Self {
    Int(try row.integer(at: index))
  }
}

extension Bool: SQLiteColumn {
  package static func read(_ row: SQLiteStatement, at index: Int32) throws(StorageError) -> Self {
    try row.bool(at: index)
  }
}

extension String: SQLiteColumn {
  package static func read(_ row: SQLiteStatement, at index: Int32) throws(StorageError) -> Self {
    try row.text(at: index)
  }
}

extension Data: SQLiteColumn {
  package static func read(_ row: SQLiteStatement, at index: Int32) throws(StorageError) -> Self {
    try row.data(at: index)
  }
}

extension UUID: SQLiteColumn {
  package static func read(_ row: SQLiteStatement, at index: Int32) throws(StorageError) -> Self {
    try row.uuid(at: index)
  }
}

extension XXH128: SQLiteColumn {
  package static func read(_ row: SQLiteStatement, at index: Int32) throws(StorageError) -> Self {
    try row.hash(at: index)
  }
}

extension SQLiteStatement {
  /// An identifier. Any other number of bytes than 16 is a mismatch.
  package func uuid(at index: Int32) throws(StorageError) -> UUID {
    let hash = try self.hash(at: index)
    return hash.withBytes { UUID(uuid: $0.loadUnaligned(as: uuid_t.self)) }
  }
}

/// NULL is nil.
extension Optional: SQLiteColumn where Wrapped: SQLiteColumn {
  package static func read(_ row: SQLiteStatement, at index: Int32) throws(StorageError) -> Self {
    row.isNull(at: index) ? nil : try Wrapped.read(row, at: index)
  }
}
