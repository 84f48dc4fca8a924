import Foundation
import Query

/// A long chain of tasks, each scheduled after the one before: how deep the stack gets.
enum ChainRows {
  static let all = [
    Self.row("chain-run", "run", isRun: true), Self.row("chain-dropped", "dropped", isRun: false),
  ]

  private static let count = 1_000_000

  private static func row(_ name: String, _ done: String, isRun: Bool) -> Row {
    Row(
      name: "\(name)-1000000",
      title: "1000000 tasks one after another, \(done): growth of the stack",
      goal: .above(1024),
      floor: "a tenth of the tasks",
      unit: .bytes
    ) {
      Trial(
        figure: { try await Self.depth(of: Self.count, isRun: isRun) },
        floor: { try await Self.depth(of: Self.count / 10, isRun: isRun) },
        mostRounds: 1
      )
    }
  }

  @concurrent
  private static func depth(of count: Int, isRun: Bool) async throws -> Double {
    let depths = Depths()
    var last = Self.chain(of: count, depths)
    if isRun { try await last.runIfNeeded() }
    // The last one is freed, and all that it waited for.
    last = Self.task(depths)
    try expect(depths.runs, isRun ? count : 0, "the tasks that ran")
    try expect(depths.ends, count, "the tasks that were freed")
    withExtendedLifetime(last) {}
    return Double(depths.deepest)
  }

  private static func chain(of count: Int, _ depths: Depths) -> QueryTask<Void> {
    var last = Self.task(depths)
    for _ in 1..<count {
      let next = Self.task(depths)
      next.schedule(after: last)
      last = next
    }
    return last
  }

  private static func task(_ depths: Depths) -> QueryTask<Void> {
    let end = End(depths)
    return QueryTask(context: QueryContext()) { _, _ in
      withExtendedLifetime(end) { depths.measure(isEnd: false) }
    }
  }
}

/// Measures when it is freed.
private final class End: Sendable {
  private let depths: Depths

  init(_ depths: Depths) { self.depths = depths }

  deinit { self.depths.measure(isEnd: true) }
}

/// How deep the stacks of some threads were.
private final class Depths: Sendable {
  private struct State {
    var (runs, ends) = (0, 0)
    /// The lowest and the highest address seen on a thread's stack.
    var spans = [UInt: ClosedRange<UInt>]()
  }

  private let state = Locked(State())

  var runs: Int { self.state.withLock { $0.runs } }
  var ends: Int { self.state.withLock { $0.ends } }

  /// The largest distance on one stack.
  var deepest: UInt {
    self.state.withLock { state in
      state.spans.values.map { $0.upperBound - $0.lowerBound }.max() ?? 0
    }
  }

  func measure(isEnd: Bool) {
    var local = 0
    let address = withUnsafePointer(to: &local) { UInt(bitPattern: $0) }
    self.state.withLock { state in
      if isEnd { state.ends += 1 } else { state.runs += 1 }
      let thread = UInt(pthread_self())
      let span = state.spans[thread] ?? address...address
      state.spans[thread] = min(span.lowerBound, address)...max(span.upperBound, address)
    }
  }
}
