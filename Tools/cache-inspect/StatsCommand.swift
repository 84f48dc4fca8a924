import FoundationEssentials
import Query
import QueryInspection
import ToolSupport

/// `stats`: what a store comes to.
struct StatsCommand {
  private let invocation: Invocation

  init(_ invocation: Invocation) { self.invocation = invocation }

  func run() throws -> ExitCode {
    let store = try self.invocation.inspection()
    let now = self.invocation.nowMicroseconds
    let statistics = try store.statistics(in: self.invocation.partition, now: now)
    if try self.invocation.printed(StatisticsView(statistics, now: now)) { return .success }
    try self.printFiles(statistics)
    try self.printPartitions(statistics)
    try self.printPacks(statistics)
    try self.print(statistics.kinds, under: "KIND")
    try self.printAges(statistics.ages)
    try self.printLargest(statistics)
    try self.printLimits(statistics.limits)
    return .success
  }

  private func print(_ table: Table) throws {
    try table.print(to: self.invocation.output, self.invocation.terminal)
    try self.invocation.output.line()
  }

  private func printFiles(_ statistics: StoreStatistics) throws {
    var table = Table([
      Table.Column("FILE"), Table.Column("SIZE", .right), Table.Column("WAL", .right),
      Table.Column("PAGES", .right), Table.Column("FREE", .right), Table.Column("LEVEL", .right),
      Table.Column("READ AS"), Table.Column("FOLDER", isFlexible: true),
    ])
    for file in statistics.files {
      table.add([
        .init(file.name), .init(ByteCount.text(file.byteCount)),
        .init(file.logByteCount.map { ByteCount.text($0) } ?? "-"), .init("\(file.pages)"),
        .init("\(file.freePages)"), .init("\(file.level)"), .init(file.access),
        .init(file.folder),
      ])
    }
    try self.print(table)
    if statistics.bodies.count > 0 {
      let size = ByteCount.text(statistics.bodies.byteCount)
      try self.invocation.output.line("files of mutations: \(statistics.bodies.count), \(size)\n")
    }
    for file in statistics.files where !file.setAside.isEmpty {
      let names = file.setAside.map { SafeText.escape($0) }.joined(separator: ", ")
      try self.invocation.output.line("set aside beside \(file.name): \(names)\n")
    }
  }

  private func printPartitions(_ statistics: StoreStatistics) throws {
    var table = Table([
      Table.Column("PARTITION"), Table.Column("ENTRIES", .right), Table.Column("PAGES", .right),
      Table.Column("SIZE", .right), Table.Column("QUARANTINE", .right),
      Table.Column("WAIT", .right), Table.Column("RUN", .right), Table.Column("DEAD", .right),
      Table.Column("ENDED", .right), Table.Column("SENDING"),
    ])
    for partition in statistics.partitions {
      let mutations = partition.mutations
      table.add([
        .init("\"\(partition.name)\""), .init("\(partition.entries)"), .init("\(partition.pages)"),
        .init(ByteCount.text(partition.byteCount)), .init("\(partition.quarantined)"),
        .init("\(mutations.pending)"), .init("\(mutations.leased)"),
        .init("\(mutations.dead)", mutations.dead > 0 ? .bad : .plain),
        .init("\(partition.history)"),
        .init(
          partition.pausedAt.map { "paused since \(Moments.text($0, self.invocation.dates))" }
            ?? "yes"),
      ])
    }
    try self.print(table)
  }

  private func printPacks(_ statistics: StoreStatistics) throws {
    var table = Table([
      Table.Column("PACK"), Table.Column("PARTITION"), Table.Column("DONE", .right),
      Table.Column("TOTAL", .right), Table.Column("FAILED", .right), Table.Column("SIZE", .right),
      Table.Column("NETWORK"),
    ])
    for partition in statistics.partitions {
      for pack in partition.packs {
        let counts = pack.counts
        table.add([
          .init(pack.name), .init("\"\(partition.name)\""), .init("\(counts.done)"),
          .init("\(counts.total)"),
          .init("\(counts.failed)", counts.failed > 0 ? .bad : .plain),
          .init(ByteCount.text(counts.bytes)), .init(pack.network.rawValue),
        ])
      }
    }
    if statistics.partitions.contains(where: { !$0.packs.isEmpty }) { try self.print(table) }
  }

  private func print(_ groups: [StoreStatistics.Group], under title: String) throws {
    var table = Table([
      Table.Column(title), Table.Column("ENTRIES", .right), Table.Column("SIZE", .right),
    ])
    for group in groups {
      table.add([
        .init(group.name), .init("\(group.count)"), .init(ByteCount.text(group.byteCount)),
      ])
    }
    try self.print(table)
  }

  /// The longest bar, in columns.
  private static let barWidth = 40

  private func printAges(_ ages: [StoreStatistics.Group]) throws {
    var table = Table([
      Table.Column("AGE"), Table.Column("ENTRIES", .right), Table.Column("SIZE", .right),
      Table.Column(""),
    ])
    let most = max(ages.map(\.count).max() ?? 0, 1)
    for age in ages {
      let length = (age.count * Self.barWidth + most - 1) / most
      table.add([
        .init(age.name), .init("\(age.count)"), .init(ByteCount.text(age.byteCount)),
        .init(String(repeating: "█", count: length), .good),
      ])
    }
    try self.print(table)
  }

  private func printLargest(_ statistics: StoreStatistics) throws {
    var table = Table([
      Table.Column("SIZE", .right), Table.Column("HASH"),
      Table.Column("LARGEST", isFlexible: true),
    ])
    for entry in statistics.largest {
      table.add([
        .init(ByteCount.text(entry.byteCount)), .init(entry.hash.short), .init(entry.identity),
      ])
    }
    try self.print(table)
  }

  private func printLimits(_ limits: StoreStatistics.Limits) throws {
    try self.invocation.output.line(
      "limits of a partition by default: \(limits.entries) entries, "
        + "\(ByteCount.text(limits.byteCount)), \(ByteCount.text(limits.valueByteCount)) a value; "
        + "quarantine \(limits.quarantined) rows, \(ByteCount.text(limits.quarantinedByteCount))")
  }
}
