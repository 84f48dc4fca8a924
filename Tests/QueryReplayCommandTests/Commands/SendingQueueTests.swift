import Foundation
import Query
import TestSupport
import Testing

@testable import QueryReplayCommand

struct SendingQueueTests {
  private static func entry(
    _ number: Int, lane: String? = nil, _ priority: MutationPriority
  ) -> OutboxEntry {
    var entry = OutboxEntry(
      id: UUID(), number: number, name: "own", instance: "", lane: lane, onFailure: .halt,
      state: .pending, waitReason: nil, idempotencyKey: "", createdAt: Date(), coder: "json",
      arguments: Data())
    entry.priority = priority
    return entry
  }

  /// What a claim does at each step, over all rows.
  private static func scanned(
    _ entries: [OutboxEntry], _ dependencies: [Int: Set<Int>]
  ) -> [Int] {
    var (rest, order, turns) = (entries, [Int](), ClaimTurns())
    while !rest.isEmpty {
      var lanes = Set<String>()
      let left = Set(rest.map(\.number))
      let free = rest.indices.filter { index in
        let isFirst = rest[index].lane.map { lanes.insert($0).inserted } ?? true
        return isFirst && dependencies[rest[index].number]?.isDisjoint(with: left) ?? true
      }
      let next = turns.next(of: free) { index in
        ClaimOrder(
          number: Int64(rest[index].number), isRepeat: false, dueBoottime: 0,
          priority: rest[index].priority, host: "", HostSlots(others: 1))
      }
      guard let next else { break }
      turns = next.turns
      order.append(rest.remove(at: next.candidate).number)
    }
    return order
  }

  private static func random(
    _ count: Int, _ random: inout SeededGenerator
  ) -> ([OutboxEntry], [Int: Set<Int>]) {
    var dependencies = [Int: Set<Int>]()
    let entries = (1...count).map { number in
      if number > 1, Int.random(in: 0..<4, using: &random) == 0 {
        let targets = (0..<2).map { _ in Int.random(in: 0..<number, using: &random) }
        dependencies[number] = Set(targets)
      }
      let lane = Int.random(in: 0..<count, using: &random)
      return Self.entry(
        number, lane: lane.isMultiple(of: 3) ? nil : "\(lane / 4)",
        [.low, .normal, .high].randomElement(using: &random) ?? .normal)
    }
    return (entries, dependencies)
  }

  @Test(arguments: SeededGenerator.seeds(20)) func itTakesWhatAClaimWould(seed: UInt64) {
    var random = SeededGenerator(seed: seed)
    let (entries, dependencies) = Self.random(60, &random)
    var (queue, order) = (SendingQueue(entries, dependencies: dependencies), [Int]())
    while let entry = queue.next() { order.append(entry.number) }
    #expect(order == Self.scanned(entries, dependencies), "seed \(seed)")
    #expect(order.count == entries.count, "seed \(seed)")
  }

  @Test func itsWorkGrowsWithTheRowsAndNotWithTheirSquare() {
    func comparisons(_ count: Int) -> Int {
      var random = SeededGenerator(seed: 1)
      let (entries, dependencies) = Self.random(count, &random)
      var queue = SendingQueue(entries, dependencies: dependencies)
      while queue.next() != nil {}
      return queue.comparisons
    }
    let (few, many) = (comparisons(1_000), comparisons(8_000))
    #expect(few >= 1_000)
    #expect(many < 16 * few, "\(few), \(many)")
  }
}
