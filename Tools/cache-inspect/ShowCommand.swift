import FoundationEssentials
import QueryInspection
import ToolSupport

/// `show`: all columns of an entry, and its value.
struct ShowCommand {
  private let invocation: Invocation

  init(_ invocation: Invocation) { self.invocation = invocation }

  func run() throws -> ExitCode {
    let store = try self.invocation.inspection()
    let value = try store.value(
      named: self.invocation.command.arguments[0], in: self.invocation.partition)
    let code = value.isSound ? ExitCode.success : .badData
    if self.invocation.command.has(Options.value) {
      guard let data = value.value else {
        let hash = value.entry.hash.short
        throw ToolError(
          .usage,
          value.pages.isEmpty
            ? "the entry \(hash) has no value"
            : "the entry \(hash) has \(value.pages.count) pages: use pages \(hash) --page")
      }
      try self.invocation.output.write(bytes: data)
    } else {
      let overlay =
        self.invocation.command.has(Options.withPending) ? try store.overlay(of: value.entry) : nil
      if try !self.invocation.printed(
        ValueView(value, overlay, now: self.invocation.nowMicroseconds))
      {
        try self.print(value)
        if let overlay { try self.print(overlay) }
      }
    }
    if !value.isSound {
      try self.invocation.output.flush()
      Output.error("cache-inspect: the entry is damaged: check tells how")
    }
    return code
  }

  private func print(_ value: InspectedValue) throws {
    let entry = value.entry
    let freshness = entry.freshness(at: self.invocation.nowMicroseconds)
    var fields = FieldList()
    fields.add("identity", entry.identity)
    fields.add("hash", entry.hash.description)
    fields.add("partition", "\"\(entry.partition)\"")
    fields.add("kind", entry.kind)
    fields.add("coder", "\(entry.coder), version \(entry.version)")
    fields.add("size", "\(ByteCount.text(entry.byteCount)) (\(entry.byteCount) bytes)")
    fields.add("freshness", freshness.rawValue)
    fields.add("stored", Moments.both(entry.storedAt, self.invocation))
    fields.add("updates", "\(entry.updates)")
    fields.add("expires", entry.expiresAt.map { Moments.both($0, self.invocation) } ?? "never")
    fields.add("failed", entry.failedAt.map { Moments.both($0, self.invocation) })
    fields.add("failures", "\(entry.failures)")
    fields.add("error", value.errorType.map { "\($0): \(value.errorText ?? "")" })
    fields.add("invalidated", entry.isInvalidated ? "yes" : "no")
    fields.add("pinned", entry.isPinned ? "yes" : "no")
    fields.add("revision", "\(entry.revision)")
    fields.add("last use", entry.lastUse.map { "\($0)" } ?? "-")
    fields.add("checksum", value.checksum?.description ?? "-")
    fields.add("sound", value.isSound ? "yes" : "no")
    fields.add("next page", value.nextPageID.map { ValuePrinter.text(of: $0) })
    fields.add("previous page", value.previousPageID.map { ValuePrinter.text(of: $0) })
    fields.add("metadata", value.metadata.map { ValuePrinter.text(of: $0) })
    fields.add(
      "fresh for", value.freshFor.map { "\($0 / 1_000_000) s, as its request has said" })
    fields.add("pages", value.pages.isEmpty ? nil : "\(value.pages.count)")
    try fields.print(self.invocation)
    guard let data = value.value else { return }
    try self.invocation.output.line()
    try ValuePrinter(output: self.invocation.output).print(data, coder: entry.coder)
  }

  /// Lists the mutations that are laid over the value, in the order in which their edits are made.
  private func print(_ overlay: InspectedOverlay) throws {
    try self.invocation.output.line()
    var fields = FieldList()
    fields.add("mark", overlay.mark.map { "what ended up to \($0)" } ?? "not known")
    for key in overlay.includedKeys { fields.add("includes", key) }
    try fields.print(self.invocation)
    if overlay.mutations.isEmpty {
      return try self.invocation.output.line("nothing is laid over it")
    }
    try self.invocation.output.line()
    var table = Table([
      Table.Column("NUMBER", .right), Table.Column("NAME", isFlexible: true),
      Table.Column("STANDING"), Table.Column("ENDED AS", .right, isOptional: true),
      Table.Column("ATTEMPTS", .right, isOptional: true), Table.Column("ID"),
    ])
    for mutation in overlay.mutations {
      table.add([
        .init("\(mutation.number)"), .init(mutation.name),
        .init(mutation.standing.rawValue, mutation.standing.style),
        .init(mutation.sequence.map { "\($0)" } ?? "-"), .init("\(mutation.attempts)"),
        .init(MutationJSON.text(mutation.id)),
      ])
    }
    try table.print(to: self.invocation.output, self.invocation.terminal)
  }
}

extension LaidMutation.Standing {
  /// Its style on a terminal with colour.
  fileprivate var style: TextStyle {
    switch self {
    case .acknowledged, .running: .good
    case .waiting: .warning
    case .dead: .bad
    }
  }
}

/// An entry with its value in JSON.
struct ValueView: Encodable {
  let entry: EntryView
  let errorType: String?
  let errorText: String?
  let checksum: String?
  let isSound: Bool
  let nextPageID: Data?
  let previousPageID: Data?
  let pages: [PageView]
  let value: Data?
  let metadata: Data?
  let freshForSeconds: Double?
  /// What is laid over it; nil if that was not requested.
  let pending: OverlayView?

  init(_ value: InspectedValue, _ overlay: InspectedOverlay?, now: Int64) {
    self.entry = EntryView(value.entry, now: now)
    self.errorType = value.errorType
    self.errorText = value.errorText
    self.checksum = value.checksum?.description
    self.isSound = value.isSound
    self.nextPageID = value.nextPageID
    self.previousPageID = value.previousPageID
    self.pages = value.pages.map { PageView($0) }
    self.value = value.value
    self.metadata = value.metadata
    self.freshForSeconds = value.freshFor.map { Double($0) / 1e6 }
    self.pending = overlay.map { OverlayView($0) }
  }
}

/// What is laid over a value, in JSON.
struct OverlayView: Encodable {
  let mark: Int64?
  let includedKeys: [String]
  let mutations: [LaidView]

  init(_ overlay: InspectedOverlay) {
    self.mark = overlay.mark
    self.includedKeys = overlay.includedKeys
    self.mutations = overlay.mutations.map { LaidView($0) }
  }

  struct LaidView: Encodable {
    let number: Int64
    let id: String
    let name: String
    let standing: String
    let sequence: Int64?
    let attempts: Int64
    let createdAt: String

    init(_ mutation: LaidMutation) {
      self.number = mutation.number
      self.id = MutationJSON.text(mutation.id)
      self.name = mutation.name
      self.standing = mutation.standing.rawValue
      self.sequence = mutation.sequence
      self.attempts = mutation.attempts
      self.createdAt = Moments.exact(mutation.createdAt)
    }
  }
}

/// A page in JSON.
struct PageView: Encodable {
  let index: Int
  let position: Int64
  let id: Data
  let idText: String
  let byteCount: Int
  let updatedAt: String
  let isSound: Bool
  let metadata: Data?

  init(_ page: InspectedPage) {
    self.index = page.index
    self.position = page.position
    self.id = page.pageID
    self.idText = ValuePrinter.text(of: page.pageID)
    self.byteCount = page.byteCount
    self.updatedAt = Moments.exact(page.updatedAt)
    self.isSound = page.isSound
    self.metadata = page.metadata
  }
}
