import Foundation
import Query

// MARK: - Heads

extension OutboxTransaction {
  /// Brings the heads up to date with a row that was inserted or changed.
  ///
  /// - Throws: `StorageError`.
  mutating func refreshHead(_ row: inout OutboxRow) throws {
    guard let lane = row.lane else {
      row.isHead = row.standing.state != .dead
      if row.isHead {
        try self.writeHead(row)
      } else {
        try self.connection.execute(LaneHeadRow.delete, row.number)
      }
      return
    }
    let head = try self.headNumber(of: lane)
    if head == row.number {
      try self.writeHead(row)
      row.isHead = true
    } else {
      // It was the head until now, or another one is, as before.
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

  private func writeHead(_ row: OutboxRow) throws {
    let head = LaneHeadRow(row, self.now)
    try self.connection.execute(
      LaneHeadRow.write, row.number, row.partition, row.lane, row.name, row.instance, row.version,
      row.effectiveHost, head.state.rawValue, head.dueBoottime)
  }
}
