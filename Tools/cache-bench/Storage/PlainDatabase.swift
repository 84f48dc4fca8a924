import Foundation

/// An entry that C writes.
struct BareEntry {
  /// What the library finds damage by; a lean program has none.
  var hash = [UInt8]()
  let identity: String
  let value: Data
}

/// Which plain C program does the work of the library.
enum PlainProgram {
  /// On the library's own tables.
  case floor
  /// On the leanest tables that keep the same promise.
  case lean
}

/// The entries and pages of a plain C program.
protocol PlainDatabase: AnyObject, Sendable {
  var connection: BareConnection { get }

  /// The value of an entry, in a transaction of its own unless there is one.
  func value(at identity: String) throws -> Data

  /// The values of the identities in a range.
  func values(from lower: String, to upper: String) throws -> [Data]

  /// Invalidates the identities in a range, in a transaction of its own.
  ///
  /// - Returns: How many there were.
  func invalidate(from lower: String, to upper: String) throws -> Int

  /// Writes an entry, new or not.
  func write(_ entry: BareEntry) throws

  /// Gives a value another date.
  func confirm(_ identity: String) throws

  /// Writes pages of an entry, from a place on.
  func write(pages: some Sequence<BareEntry>, of entry: Int64, from first: Int) throws

  /// Lets an entry have been changed, as where a page was added.
  func touch(_ entry: Int64) throws
}

extension PlainDatabase {
  func transaction<R>(_ body: () throws -> R) throws -> R {
    try self.connection.transaction(body)
  }

  func bytesWritten() throws -> Int { try self.connection.bytesWritten() }
}
