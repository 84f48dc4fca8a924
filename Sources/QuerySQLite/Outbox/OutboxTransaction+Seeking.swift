import Foundation
import Query

// MARK: - Seeking

extension OutboxTransaction {
  /// Due heads of one handler, version and host.
  struct Group {
    let handler: MutationHandler
    let version: Int64
    let host: String
    /// The lowest number not tried yet.
    var number: Int64
  }

  /// One seek for each handler, version and host that has a head, and one more.
  func groups(of handlers: Set<MutationHandler>) throws -> [Group] {
    var groups = [Group]()
    for handler in handlers {
      var last = handler.firstVersion
      // Sorts after any text.
      var lastHost: any SQLiteBindable = Data()
      while let group = try self.nextGroup(of: handler, after: last, lastHost) {
        (last, lastHost) = (group.version, group.host)
        if group.due == 0 {
          groups.append(
            Group(
              handler: handler, version: group.version, host: group.host, number: group.number))
        }
      }
    }
    return groups
  }

  private func nextGroup(
    of handler: MutationHandler,
    after version: Int64,
    _ host: any SQLiteBindable
  ) throws -> (version: Int64, host: String, due: Int64, number: Int64)? {
    try self.connection.withStatement(LaneHeadRow.nextGroup) { row in
      try row.bind(self.partition.id, at: 1)
      try row.bind(handler.name, at: 2)
      try row.bind(handler.instance, at: 3)
      try row.bind(version, at: 4)
      try host.bind(to: row, at: 5)
      try row.bind(Int64(handler.version), at: 6)
      guard try row.step() else { return nil }
      return (
        try row.integer(at: 0), try row.text(at: 1), try row.integer(at: 2),
        try row.integer(at: 3)
      )
    }
  }

  /// Moves on to the next head of a group, or drops the group.
  func advance(_ groups: inout [Group], _ index: Int) throws {
    let group = groups[index]
    let next = try self.connection.first(
      LaneHeadRow.nextDue, self.partition.id, group.handler.name, group.handler.instance,
      group.version, group.host, group.number
    ) { try $0.integer(at: 0) }
    if let next {
      groups[index].number = next
    } else {
      groups.remove(at: index)
    }
  }

  /// How long until the first waiting head becomes due.
  func nextDue(_ handlers: Set<MutationHandler>) throws -> Duration? {
    var first: Int64?
    for handler in handlers {
      var last = handler.firstVersion
      while let group = try self.nextGroup(of: handler, after: last, Data()) {
        last = group.version
        let due = try self.connection.first(
          LaneHeadRow.firstWaiting, self.partition.id, handler.name, handler.instance,
          group.version
        ) { try $0.integer(at: 0) }
        if let due { first = min(first ?? due, due) }
      }
    }
    return first.map { .microseconds(max($0.clampedDifference(Int64(self.now.boottime)), 0)) }
  }
}

extension MutationHandler {
  /// The version before the first one that it can run.
  fileprivate var firstVersion: Int64 {
    self.upgradesOlder ? .min : Int64(self.version).clampedDifference(1)
  }
}
