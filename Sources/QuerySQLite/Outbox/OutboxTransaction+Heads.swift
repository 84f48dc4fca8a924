import Foundation
import Query

// MARK: - Heads

extension OutboxTransaction {
  /// Updates the heads after a row was inserted or changed.
  ///
  /// - Throws: `StorageError`.
  mutating func refreshHead(_ row: inout OutboxRow, isNew: Bool = false) throws {
    guard let lane = row.lane else {
      row.isHead = row.standing.holdsLane(nil, row.onFailure)
      if row.isHead {
        try self.writeHead(row, isNew: isNew)
      } else {
        try self.connection.execute(LaneHeadRow.delete, row.number)
      }
      return
    }
    let head = try self.headNumber(of: lane)
    if head == row.number {
      try self.writeHead(row, isNew: isNew)
      row.isHead = true
    } else {
      // It was the head until now, or another one still is.
      if row.isHead || head == nil { try self.findHead(of: lane) }
      row.isHead = false
    }
  }

  /// Makes the first row of a lane its head.
  ///
  /// - Throws: `StorageError`.
  mutating func findHead(of lane: String) throws {
    guard let number = try self.headNumber(of: lane), let head = try self.row(number) else {
      try self.connection.execute(LaneHeadRow.deleteOfLane, self.partition.id, lane)
      return
    }
    try self.writeHead(head)
  }

  private func headNumber(of lane: String) throws -> Int64? {
    try self.connection.first(LaneHeadRow.find, self.partition.id, lane) {
      try $0.integer(at: 0)
    }
  }

  private func writeHead(_ row: OutboxRow, isNew: Bool = false) throws {
    let head = LaneHeadRow(row, self.now)
    try self.connection.insert(isNew: isNew, LaneHeadRow.insert, LaneHeadRow.write) { sql in
      try head.write(sql, of: row, on: self.connection)
    }
  }
}

extension SQLiteConnection {
  /// Inserts a row.
  ///
  /// - Parameters:
  ///   - isNew: Whether it should replace none. A statement that may replace rows keeps copies of
  ///     the pages that it changes.
  ///   - insert: Inserts it, and fails if it conflicts with another row.
  ///   - replace: Inserts it, replacing rows that conflict.
  /// - Throws: The closure's errors.
  func insert(
    isNew: Bool, _ insert: SQL, _ replace: SQL, by write: (SQL) throws -> Void
  ) throws {
    if isNew {
      do { return try write(insert) } catch StorageError.Code.constraint {}
    }
    try write(replace)
  }
}
