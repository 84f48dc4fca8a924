import Foundation

@testable import cache_inspect

/// Data for reports, the same at each call.
enum ReportSample {
  /// A moment to count from.
  static let now = Date(timeIntervalSince1970: 1_772_000_000)
  /// A zone that is not UTC, so that an offset shows.
  static let zone = TimeZone(secondsFromGMT: 3_600) ?? .gmt
  /// Texts that try to become markup or to hide, as a store may hold them.
  static let hostile = [
    "</script><script>window.owned=1;alert(1)</script>",
    "\"><img src=x onerror=window.owned=1>", "<!--<script>", "]]>&lt;b&gt;&#x3c;i>", "'onload='x",
    "line\nfeed\u{0}null\u{1B}[31mred\u{7F}", "right\u{202E}tfel\u{2028}line\u{FEFF}", "__proto__",
  ]

  /// A moment some seconds from ``now``; before it if they are negative.
  static func date(_ seconds: Double) -> ReportDate {
    ReportDate(self.now + seconds, in: self.zone)
  }

  /// A store without anything in it.
  static var empty: ReportData {
    ReportData(madeAt: self.date(0), folder: "/home/u/.cache/org.example.empty")
  }

  /// A store in use: entries of every form, hostile ones, live, dead and ended mutations.
  static var full: ReportData {
    var data = ReportData(
      madeAt: self.date(0), folder: "/home/u/.cache/org.example.notes",
      applicationID: "org.example.notes")
    data.entries = (0..<1_234).map(self.entry)
    data.moreEntries = 98_766
    data.biggest = Array(data.entries.sorted { $0.bytes > $1.bytes }.prefix(50))
    data.outbox = (0..<18).map(self.outboxRow)
    data.history = (0..<240).map(self.historyRow)
    self.fillSums(of: &data)
    return data
  }

  /// What follows from the rows, and what no row tells.
  private static func fillSums(of data: inout ReportData) {
    let bytes = data.entries.reduce(0) { $0 + $1.bytes }
    data.partitions = [
      .init(name: "", entries: 1_000, bytes: bytes - 50_000),
      .init(name: "alice@example.org", entries: 234, bytes: 50_000),
    ]
    data.totals = .init(
      entries: data.entries.count, pages: 345, bytes: bytes, quarantined: 3, history: 240,
      pending: data.outbox.count { $0.state == "pending" },
      leased: data.outbox.count { $0.state == "leased" },
      dead: data.outbox.count { $0.state == "dead" })
    data.files = [
      .init(
        name: "cache.sqlite", bytes: 12_345_344, walBytes: 4_128_272, freePages: 17,
        pageSize: 4_096,
        schemaLevel: 1),
      .init(
        name: "mutations.sqlite", bytes: 118_784, walBytes: 0, freePages: 0, pageSize: 4_096,
        schemaLevel: 1),
    ]
    data.limits = [
      .init(name: "bytes of the cache", value: "256 MiB"),
      .init(name: "entries of the cache", value: "100,000"),
    ]
    var (ages, sizes) = (ReportHistogram.ages, ReportHistogram.sizes)
    for entry in data.entries {
      if let date = entry.storedAt {
        ages.add(data.madeAt.seconds - date.seconds, bytes: entry.bytes)
      }
      sizes.add(Double(entry.bytes), bytes: entry.bytes)
    }
    (data.ages, data.sizes) = (ages.buckets, sizes.buckets)
    data.kinds = Dictionary(grouping: data.entries, by: \.kind)
      .map { kind, rows in
        .init(name: kind, count: rows.count, bytes: rows.reduce(0) { $0 + $1.bytes })
      }
      .sorted { $0.bytes > $1.bytes }
  }

  /// The first have the hostile identities, one has no bytes, some have no value.
  private static func entry(_ number: Int) -> ReportData.Entry {
    let identity =
      number < self.hostile.count
      ? self.hostile[number]
      : #"["notes",{"folder":"f\#(number % 37)"},\#(number),{"App.Filter<Swift.String>":"all"}]"#
    return ReportData.Entry(
      identity: identity, hash: String(format: "%012x", number &* 2_654_435_761 & 0xffff_ffff_ffff),
      partition: number % 5 == 4 ? "alice@example.org" : "",
      kind: number % 7 == 0 ? "infinite" : "query",
      bytes: number == 9 ? 0 : (number * 7_919) % 90_001 + (number % 97 == 0 ? 1_500_000 : 0),
      storedAt: number % 41 == 40 ? nil : self.date(-Double(number * number * 3)),
      freshness: ["fresh", "fresh", "stale", "invalidated", "error"][number % 5],
      updates: number % 50)
  }

  /// One is leased, each sixth dead, the others wait for another attempt.
  private static func outboxRow(_ number: Int) -> ReportData.OutboxRow {
    let isDead = number % 6 == 1
    let isLeased = number == 0
    return ReportData.OutboxRow(
      number: number + 1_000, id: UUID(from: number).uuidString,
      name: number == 7
        ? self.hostile[1] : ["create-note", "edit-note", "delete-note"][number % 3],
      partition: "", lane: number % 4 == 0 ? nil : "note/\(number % 5)",
      state: isDead ? "dead" : isLeased ? "leased" : "pending",
      reason: isDead ? ["rejected", "exhausted"][number % 2] : isLeased ? nil : "backoff",
      attempts: number % 5, createdAt: self.date(-Double((18 - number) * 1_900)),
      nextAttemptAt: isDead || isLeased ? nil : self.date(Double(number * 97)),
      lastError: number % 2 == 0
        ? nil : "HTTPStatusError: 422, <b>\(number)</b>\nthe server said no to every field of it")
  }

  /// Most succeeded, the more of them the nearer to now.
  private static func historyRow(_ number: Int) -> ReportData.HistoryRow {
    ReportData.HistoryRow(
      number: 999 - number, id: UUID(from: number + 500).uuidString,
      name: ["create-note", "edit-note"][number % 2], partition: "",
      outcome: number % 11 == 3 ? "discarded" : number % 13 == 5 ? "superseded" : "succeeded",
      attempts: 1 + number % 3, endedAt: self.date(-Double(number * (number % 30) * 9)),
      seconds: number % 17 == 0 ? nil : Double(number % 40) * 0.137,
      error: number % 11 == 3 ? "CancellationError" : nil)
  }
}

// MARK: - One text everywhere

extension ReportSample {
  /// Data in which every text is `text`.
  static func named(_ text: String) -> ReportData {
    var data = self.full
    data.folder = text
    data.applicationID = text
    data.partitions = [
      .init(name: text, entries: 1, bytes: 1), .init(name: text, entries: 1, bytes: 1),
    ]
    data.files = [
      .init(name: text, bytes: 1, walBytes: 1, freePages: 1, pageSize: 1, schemaLevel: 1)
    ]
    data.limits = [.init(name: text, value: text)]
    data.kinds = [.init(name: text, count: 1, bytes: 1)]
    data.entries = [self.entry(named: text)]
    data.biggest = data.entries
    data.outbox = [
      .init(
        number: 1, id: text, name: text, partition: text, lane: text, state: text, reason: text,
        attempts: 1, createdAt: data.madeAt, nextAttemptAt: data.madeAt, lastError: text)
    ]
    data.history = [
      .init(
        number: 1, id: text, name: text, partition: text, outcome: text, attempts: 1,
        endedAt: data.madeAt, seconds: 1, error: text)
    ]
    return data
  }

  /// An entry of no bytes, every text of which is `text`.
  static func entry(named text: String) -> ReportData.Entry {
    .init(
      identity: text, hash: text, partition: text, kind: text, bytes: 0,
      storedAt: self.date(0), freshness: text, updates: 1)
  }
}

extension UUID {
  /// One that a number names.
  fileprivate init(from number: Int) {
    let low = UInt8(truncatingIfNeeded: number)
    let high = UInt8(truncatingIfNeeded: number >> 8)
    self.init(uuid: (0, 0, 0, 0, 0, 0, 0x40, 0, 0x80, 0, 0, 0, 0, 0, high, low))
  }
}
