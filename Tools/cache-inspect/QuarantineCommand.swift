import FoundationEssentials
import QueryInspection
import ToolSupport

/// `quarantine`: values that could not be read.
struct QuarantineCommand {
  private let invocation: Invocation

  init(_ invocation: Invocation) { self.invocation = invocation }

  /// Lists them.
  func list() throws -> ExitCode {
    let rows = try self.invocation.inspection().quarantine(in: self.invocation.partition)
    if let json = self.invocation.json {
      for row in rows { try json.print(QuarantineView(row), to: self.invocation.output) }
      return .success
    }
    var table = Table([
      Table.Column("NUMBER", .right), Table.Column("SINCE"), Table.Column("REASON"),
      Table.Column("SIZE", .right), Table.Column("HASH"),
      Table.Column("IDENTITY", isFlexible: true),
    ])
    for row in rows {
      table.add([
        .init("\(row.id)"), .init(Moments.text(row.quarantinedAt, self.invocation.dates)),
        .init(row.reason), .init(ByteCount.text(row.byteCount)), .init(row.hash.short),
        .init(row.identity),
      ])
    }
    try table.print(to: self.invocation.output, self.invocation.terminal)
    return .success
  }

  /// Shows one with its bytes.
  func show() throws -> ExitCode {
    let store = try self.invocation.inspection()
    let number = Int64(self.invocation.command.arguments[0]) ?? -1
    let value = try store.quarantinedValue(number)
    let row = try store.quarantine(in: self.invocation.partition).first { $0.id == number }
    guard let row else { throw InspectionError.notFound("row \(number) in quarantine") }
    if self.invocation.command.has(Options.value) {
      try self.invocation.output.write(bytes: value.value ?? Data())
      return .success
    }
    let view = QuarantineView(row, pageID: value.pageID, value: value.value)
    if try self.invocation.printed(view) { return .success }
    var fields = FieldList()
    fields.add("number", "\(row.id)")
    fields.add("identity", row.identity)
    fields.add("hash", row.hash.description)
    fields.add("partition", "\"\(row.partition)\"")
    fields.add("since", Moments.both(row.quarantinedAt, self.invocation))
    fields.add("reason", row.reason)
    fields.add("message", row.message)
    fields.add("kind", row.kind)
    fields.add("coder", "\(row.coder), version \(row.version)")
    fields.add("page", value.pageID.map { ValuePrinter.text(of: $0) })
    fields.add("size", ByteCount.text(row.byteCount))
    try fields.print(self.invocation)
    guard let data = value.value else { return .success }
    try self.invocation.output.line()
    try ValuePrinter(output: self.invocation.output).print(data, coder: row.coder)
    return .success
  }

  /// Deletes one, or all.
  func drop() throws -> ExitCode {
    let command = self.invocation.command
    let number = command.arguments.first.flatMap { Int64($0) }
    guard (number != nil) != command.has(Options.all) else {
      throw command.usageError("give the number of a row, or --all")
    }
    _ = try self.invocation.inspection()
    try Confirmation.require(
      number.map { "Delete row \($0) of the quarantine?" } ?? "Delete all rows of the quarantine?",
      self.invocation)
    let count = try self.invocation.maintenance().dropQuarantine(
      number, in: self.invocation.partition)
    if try self.invocation.printed(["rows": count]) { return .success }
    try self.invocation.output.line("deleted \(count) rows")
    return .success
  }
}

/// A value that could not be read, in JSON.
private struct QuarantineView: Encodable {
  let number: Int64
  let partition: String
  let hash: String
  let quarantinedAt: String
  let reason: String
  let message: String?
  let kind: String
  let coder: String
  let version: Int
  let position: Int64?
  let byteCount: Int
  let identity: String
  let pageID: Data?
  let value: Data?

  init(_ row: InspectedQuarantine, pageID: Data? = nil, value: Data? = nil) {
    self.number = row.id
    self.partition = row.partition
    self.hash = row.hash.description
    self.quarantinedAt = Moments.exact(row.quarantinedAt)
    self.reason = row.reason
    self.message = row.message
    self.kind = row.kind
    self.coder = row.coder
    self.version = row.version
    self.position = row.position
    self.byteCount = row.byteCount
    self.identity = row.identity
    (self.pageID, self.value) = (pageID, value)
  }
}
