import Query

/// Reads and writes of a context in which ten keys are set.
enum ContextRows {
  static let all = [Self.read, Self.write, Self.copy]

  private static let count = 2000

  private static let read = Row(
    name: "context-read",
    title: "context, one of ten keys read",
    goal: .atMost(15),
    floor: "[ObjectIdentifier: any Sendable] read",
    unit: .nanoseconds
  ) {
    Trial(
      figure: { try Self.timeReads(Self.count, of: QueryContext()) },
      floor: { try Self.timeReads(Self.count, of: BareContext()) }
    )
  }

  private static let write = Row(
    name: "context-write",
    title: "context, one of ten keys written",
    goal: .atMost(40),
    floor: "[ObjectIdentifier: any Sendable] written",
    unit: .nanoseconds
  ) {
    Trial(
      figure: { try Self.timeWrites(Self.count, to: QueryContext()) },
      floor: { try Self.timeWrites(Self.count, to: BareContext()) }
    )
  }

  private static let copy = Row(
    name: "context-copy-write",
    title: "context copied and one key written",
    goal: .atMost(300),
    floor: "[ObjectIdentifier: any Sendable] copied and written",
    unit: .nanoseconds
  ) {
    Trial(
      figure: { try Self.timeCopies(Self.count, of: QueryContext()) },
      floor: { try Self.timeCopies(Self.count, of: BareContext()) }
    )
  }
}

// MARK: - Rounds

extension ContextRows {
  private static func timeReads(_ count: Int, of empty: some TenKeys) throws -> Double {
    // Two in turns: of one alone the optimiser sees that it never changes, and reads it once.
    var pair = [empty, empty]
    pair[0].writeAll(0)
    pair[1].writeAll(1)
    var sum = 0
    let watch = Stopwatch()
    for number in 0..<count { sum &+= pair[number & 1].readAll() }
    let time = watch.nanoseconds(per: count * 10)
    try expect(sum, count * 50, "the sum of the values")
    return time
  }

  private static func timeWrites(_ count: Int, to empty: some TenKeys) throws -> Double {
    var values = empty
    values.writeAll(0)
    let watch = Stopwatch()
    for number in 0..<count { values.writeAll(number) }
    let time = watch.nanoseconds(per: count * 10)
    try expect(values.readAll(), (count - 1) * 10 + 45, "the sum of the values")
    return time
  }

  private static func timeCopies(_ count: Int, of empty: some TenKeys) throws -> Double {
    var values = empty
    values.writeAll(0)
    var last = values
    let watch = Stopwatch()
    for number in 0..<count {
      var copy = values
      copy.writeOne(number)
      last = copy
    }
    let time = watch.nanoseconds(per: count)
    try expect(values.readAll(), 45, "the sum of the original's values")
    try expect(last.readAll(), 41 + count - 1, "the sum of the copy's values")
    return time
  }
}
