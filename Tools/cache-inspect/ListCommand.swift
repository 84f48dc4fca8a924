import FoundationEssentials
import QueryInspection
import ToolSupport

/// `list`: a line for each entry, as they are read.
struct ListCommand {
  private let invocation: Invocation

  init(_ invocation: Invocation) { self.invocation = invocation }

  func run() throws -> ExitCode {
    let store = try self.invocation.inspection()
    let query = self.query
    let now = self.invocation.nowMicroseconds
    if let json = self.invocation.json {
      try store.entries(query) {
        try json.print(EntryView($0, now: now), to: self.invocation.output)
      }
      return .success
    }
    let lines = EntryLines(self.invocation, partitions: try store.partitions())
    try self.invocation.output.line(lines.heading)
    try store.entries(query) { try self.invocation.output.line(lines.line($0)) }
    return .success
  }

  private var query: EntryQuery {
    let command = self.invocation.command
    return EntryQuery(
      partition: self.invocation.partition, kind: command.text(Options.kind),
      matching: command.text(Options.matching), isInvalidated: command.has(Options.invalidated),
      isFailed: command.has(Options.failed),
      sort: Self.sorts[command.text(Options.sort) ?? ""] ?? .identity,
      limit: command.integer(Options.limit))
  }

  private static let sorts: [String: EntryQuery.Sort] = [
    "size": .size, "age": .age, "used": .used, "identity": .identity,
  ]
}

/// Entries as lines. The widths of all columns but the last are known beforehand, so that a hundred
/// thousand lines need not be held.
struct EntryLines {
  private let now: Date
  private let nowMicroseconds: Int64
  private let terminal: Terminal
  /// Whether the terminal has no room for the kind and the updates.
  private let isNarrow: Bool
  /// Whether it has none for the size and the age either.
  private let isVeryNarrow: Bool
  /// The width of the column of accounts; 0 if there is none.
  private let partitionWidth: Int

  init(_ invocation: Invocation, partitions: [String]) {
    self.now = invocation.now
    self.nowMicroseconds = invocation.nowMicroseconds
    self.terminal = invocation.terminal
    let width = invocation.terminal.width ?? .max
    self.isNarrow = width < 88
    self.isVeryNarrow = width < 72
    let widest = partitions.map { DisplayWidth.of(SafeText.escape($0)) }.max() ?? 0
    let hasSeveral = invocation.partition == nil && partitions.count > 1
    self.partitionWidth = hasSeveral ? min(max(widest, 9), self.isVeryNarrow ? 9 : 24) : 0
  }

  /// The names of the columns.
  var heading: String {
    self.terminal.styled(
      self.join(["HASH", "KIND", "SIZE", "AGE", "FRESHNESS", "UPDATES", "PARTITION", "IDENTITY"]),
      .strong)
  }

  /// The line of an entry, cut off at the edge of a terminal.
  func line(_ entry: InspectedEntry) -> String {
    let freshness = entry.freshness(at: self.nowMicroseconds)
    return self.join(
      [
        entry.hash.short, SafeText.escape(entry.kind), ByteCount.text(entry.byteCount),
        Moments.age(entry.storedAt ?? entry.failedAt, self.now), freshness.rawValue,
        "\(entry.updates)", self.partitionWidth > 0 ? SafeText.escape(entry.partition) : "",
        SafeText.escape(entry.identity),
      ], style: freshness.style)
  }

  private func join(_ cells: [String], style: TextStyle = .plain) -> String {
    var line = ""
    var used = 12 + 2 + 11 + 2
    Self.add(cells[0], 12, &line)
    if !self.isNarrow { Self.add(cells[1], 8, &line) }
    if !self.isVeryNarrow {
      Self.add(cells[2], 8, isRight: true, &line)
      Self.add(cells[3], 10, isRight: true, &line)
      used += 8 + 10 + 4
    }
    var freshness = ""
    Self.add(cells[4], 11, &freshness)
    line += self.terminal.styled(freshness, style)
    if !self.isNarrow {
      Self.add(cells[5], 7, isRight: true, &line)
      used += 8 + 7 + 4
    }
    if self.partitionWidth > 0 {
      Self.add(DisplayWidth.truncate(cells[6], to: self.partitionWidth), self.partitionWidth, &line)
      used += self.partitionWidth + 2
    }
    guard let width = self.terminal.width else { return line + cells[7] }
    return line + DisplayWidth.truncate(cells[7], to: max(width - used, 8))
  }

  private static func add(_ text: String, _ width: Int, isRight: Bool = false, _ line: inout String)
  {
    let padding = max(width - DisplayWidth.of(text), 0)
    if isRight { line += Self.blanks[min(padding, 64)] }
    line += text
    line += Self.blanks[min(isRight ? 2 : padding + 2, 64)]
  }

  /// So many blanks, made once.
  private static let blanks = (0...64).map { String(repeating: " ", count: $0) }
}

extension InspectedEntry.Freshness {
  /// How it looks if there is colour.
  var style: TextStyle {
    switch self {
    case .fresh: .good
    case .stale, .invalidated: .warning
    case .error: .bad
    case .empty: .faint
    }
  }
}
