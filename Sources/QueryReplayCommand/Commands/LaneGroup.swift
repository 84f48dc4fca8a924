import Foundation
import Query
import ToolSupport

/// Mutations of one host and lane in the same state.
struct LaneGroup: Encodable {
  var host: String
  var lane: String?
  var state: String
  var reason: String?
  var canSend: Bool
  var count: Int
  var oldestAt: Date
  var nextAttemptAt: Date?

  private struct Key: Hashable {
    var host: String
    var lane: String?
    var state: OutboxEntry.State
    var reason: String
    var canSend: Bool
  }

  private init(_ key: Key, _ entries: [OutboxEntry]) {
    self.host = key.host
    self.lane = key.lane
    self.state = key.state.rawValue
    self.reason = key.reason.isEmpty ? nil : key.reason
    self.canSend = key.canSend
    self.count = entries.count
    self.oldestAt = entries.map(\.createdAt).min() ?? Date(timeIntervalSince1970: 0)
    self.nextAttemptAt = entries.compactMap(\.nextAttemptAt).min()
  }

  /// The groups of some mutations, in the order of the lowest number of each. Those without a lane
  /// are together.
  ///
  /// - Parameters:
  ///   - entries: The mutations, in the order of enqueueing.
  ///   - canSend: Whether this program has a handler for one.
  static func groups(
    of entries: [OutboxEntry], canSend: (OutboxEntry) -> Bool
  ) -> [LaneGroup] {
    var order = [Key]()
    var groups = [Key: [OutboxEntry]]()
    for entry in entries {
      let key = Key(
        host: entry.effectiveHost, lane: entry.lane, state: entry.state, reason: entry.reason,
        canSend: canSend(entry))
      if groups[key] == nil { order.append(key) }
      groups[key, default: []].append(entry)
    }
    return order.map { LaneGroup($0, groups[$0] ?? []) }
  }

  /// The groups as people see them.
  static func table(_ groups: [LaneGroup], _ invocation: Invocation) -> Table {
    var table = Table([
      .init("HOST", isFlexible: true), .init("LANE", isFlexible: true), .init("STATE"),
      .init("WHY"), .init("COUNT", .right), .init("OLDEST"), .init("NEXT TRY"),
    ])
    for group in groups {
      let next = group.nextAttemptAt.map { Age.text(of: $0, at: invocation.now) } ?? "–"
      table.add([
        .init(group.host), .init(group.lane ?? "–"), .init(group.state, group.style),
        .init(group.words), .init("\(group.count)"),
        .init(Age.text(of: group.oldestAt, at: invocation.now), .faint), .init(next),
      ])
    }
    return table
  }

  private var style: TextStyle {
    switch self.state {
    case "dead": .bad
    case "leased": .good
    default: self.reason == nil ? .plain : .warning
    }
  }

  private var words: String {
    if let reason = self.reason { return reason }
    if self.state != "pending" { return "–" }
    return self.canSend ? "due" : "other application"
  }
}
