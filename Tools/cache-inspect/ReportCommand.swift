import FoundationEssentials
import Query
import QueryInspection
import ToolSupport

/// `report`: a page of HTML to look at.
struct ReportCommand {
  private let invocation: Invocation

  init(_ invocation: Invocation) { self.invocation = invocation }

  func run() throws -> ExitCode {
    guard let path = self.invocation.command.text(Options.requiredOutput) else {
      throw self.invocation.command.usageError("name the file with --output")
    }
    let store = try self.invocation.inspection()
    let data = try self.data(of: store)
    let file = try NewFile(path)
    try file.write(Data(try ReportPage.html(data).utf8))
    try file.finish()
    let view = ReportView(
      file: path, entries: data.totals.entries, mutations: data.outbox.count + data.moreOutbox)
    if try self.invocation.printed(view) { return .success }
    try self.invocation.output.line("wrote \(SafeText.escape(path))")
    return .success
  }

  private var zone: TimeZone {
    self.invocation.command.has(CommonOption.utc) ? .gmt : .current
  }

  private func date(_ microseconds: Int64) -> ReportDate {
    ReportDate(Date(timeIntervalSince1970: Double(microseconds) / 1e6), in: self.zone)
  }

  private func data(of store: StoreInspection) throws -> ReportData {
    let now = self.invocation.nowMicroseconds
    let statistics = try store.statistics(
      in: self.invocation.partition, now: now, largest: ReportData.maximumBiggest)
    var data = ReportData(
      madeAt: ReportDate(self.invocation.now, in: self.zone),
      folder: store.folders.joined(separator: ", "),
      applicationID: self.invocation.command.text(CommonOption.application))
    self.add(statistics, to: &data)
    let pending = try store.overlayCounts(in: self.invocation.partition)
    data.biggest = statistics.largest.map { self.entry($0, pending) }
    try self.addEntries(of: store, pending, to: &data)
    try self.addMutations(of: store, to: &data)
    return data
  }

  private func add(_ statistics: StoreStatistics, to data: inout ReportData) {
    let partitions = statistics.partitions
    data.partitions = partitions.map {
      ReportData.Partition(name: $0.name, entries: $0.entries, bytes: $0.byteCount)
    }
    data.totals = ReportData.Totals(
      entries: partitions.sum(\.entries), pages: partitions.sum(\.pages),
      bytes: partitions.sum(\.byteCount), quarantined: partitions.sum(\.quarantined),
      history: partitions.sum(\.history), pending: partitions.sum(\.mutations.pending),
      leased: partitions.sum(\.mutations.leased), dead: partitions.sum(\.mutations.dead))
    data.files = statistics.files.map { file in
      ReportData.File(
        name: file.name, bytes: file.byteCount, walBytes: file.logByteCount ?? 0,
        freePages: file.freePages, pageSize: file.pageSize, schemaLevel: file.level)
    }
    let limits = statistics.limits
    data.limits = [
      ReportData.Limit(name: "entries of a partition, by default", value: "\(limits.entries)"),
      ReportData.Limit(
        name: "bytes of a partition, by default", value: ByteCount.text(limits.byteCount)),
      ReportData.Limit(
        name: "bytes of a value, by default", value: ByteCount.text(limits.valueByteCount)),
    ]
    data.kinds = statistics.kinds.map {
      ReportData.Kind(name: $0.name, count: $0.count, bytes: $0.byteCount)
    }
  }

  private func addEntries(
    of store: StoreInspection, _ pending: [Int64: Int], to data: inout ReportData
  ) throws {
    var (ages, sizes) = (ReportHistogram.ages, ReportHistogram.sizes)
    let query = EntryQuery(partition: self.invocation.partition)
    let now = self.invocation.now
    try store.entries(query) { entry in
      sizes.add(Double(entry.byteCount), bytes: entry.byteCount)
      if let storedAt = entry.storedAt {
        let age = now.timeIntervalSince1970 - Double(storedAt) / 1e6
        ages.add(age, bytes: entry.byteCount)
      }
      if data.entries.count < ReportData.maximumRows {
        data.entries.append(self.entry(entry, pending))
      } else {
        data.moreEntries += 1
      }
    }
    (data.ages, data.sizes) = (ages.buckets, sizes.buckets)
  }

  private func entry(_ entry: InspectedEntry, _ pending: [Int64: Int]) -> ReportData.Entry {
    ReportData.Entry(
      identity: entry.identity, hash: entry.hash.short, partition: entry.partition,
      kind: entry.kind, bytes: entry.byteCount, storedAt: entry.storedAt.map { self.date($0) },
      freshness: entry.freshness(at: self.invocation.nowMicroseconds).rawValue,
      updates: entry.updates, pending: pending[entry.id] ?? 0)
  }
}

// MARK: - Mutations

extension ReportCommand {
  private func addMutations(of store: StoreInspection, to data: inout ReportData) throws {
    try store.mutations(in: self.invocation.partition) { mutation in
      guard data.outbox.count < ReportData.maximumRows else {
        data.moreOutbox += 1
        return
      }
      data.outbox.append(self.row(mutation))
    }
    // What ended is counted already; more than that is not read.
    try store.history(in: self.invocation.partition, limit: ReportData.maximumRows) { row in
      data.history.append(self.row(row))
    }
    // A damaged file may count less than nothing.
    data.moreHistory = max(data.totals.history, data.history.count) - data.history.count
  }

  private func row(_ mutation: InspectedMutation) -> ReportData.OutboxRow {
    let entry = mutation.entry
    return ReportData.OutboxRow(
      number: entry.number, id: MutationJSON.text(entry.id), name: entry.name,
      partition: mutation.partition, lane: entry.lane, state: entry.state.rawValue,
      reason: entry.waitReason?.rawValue ?? entry.deadReason?.rawValue, attempts: entry.attempts,
      createdAt: ReportDate(entry.createdAt, in: self.zone),
      nextAttemptAt: entry.nextAttemptAt.map { ReportDate($0, in: self.zone) },
      lastError: entry.lastError.map { "\($0.typeName): \($0.text)" })
  }

  private func row(_ row: InspectedHistory) -> ReportData.HistoryRow {
    ReportData.HistoryRow(
      number: row.entry.number, id: MutationJSON.text(row.entry.id), name: row.entry.name,
      partition: row.partition, outcome: row.outcome, attempts: row.entry.attempts,
      endedAt: self.date(row.endedAt), seconds: row.duration.map { Double($0) / 1e6 },
      error: row.entry.lastError.map { "\($0.typeName): \($0.text)" })
  }
}

/// The written report, as JSON.
private struct ReportView: Encodable {
  let file: String
  let entries: Int
  let mutations: Int
}
