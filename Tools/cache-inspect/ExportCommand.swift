import FoundationEssentials
import QueryInspection
import ToolSupport

/// `export` and `import`: one partition as lines of JSON, and back.
struct ExportCommand {
  private let invocation: Invocation

  init(_ invocation: Invocation) { self.invocation = invocation }

  /// Writes a partition.
  func export() throws -> ExitCode {
    let store = try self.invocation.inspection()
    let partition = try self.partition(of: store)
    let withOutbox = self.invocation.command.has(Options.outbox)
    let damaged: [String]
    if let path = self.invocation.command.text(Options.output) {
      let file = try NewFile(path)
      damaged = try store.export(partition, withOutbox: withOutbox) { try file.write($0) }
      try file.finish()
    } else {
      damaged = try store.export(partition, withOutbox: withOutbox) {
        try self.invocation.output.write(bytes: $0)
      }
    }
    try self.invocation.output.flush()
    for damaged in damaged { Output.error("cache-inspect: left out \(damaged)") }
    if withOutbox {
      Output.error(
        "cache-inspect: the store that imports this sends the mutations; this one must not")
    }
    return damaged.isEmpty ? .success : .badData
  }

  /// The partition to export: the only one, or the one that is named.
  private func partition(of store: StoreInspection) throws -> String {
    if let partition = self.invocation.partition { return partition }
    let all = try store.partitions()
    if all.count == 1 { return all[0] }
    let names = all.map { "\"\($0)\"" }.joined(separator: ", ")
    throw self.invocation.command.usageError(
      "the store has \(all.count) partitions (\(names)): name one with --partition")
  }

  /// Reads an export.
  func importExport() throws -> ExitCode {
    let store = try self.invocation.maintenance()
    let name = self.invocation.command.arguments[0]
    let withOutbox = self.invocation.command.has(Options.outbox)
    try Confirmation.require(
      "Write what \(name) has into the store?"
        + (withOutbox ? " The store that its mutations came from must not send them too." : ""),
      self.invocation)
    let spool = try SpooledInput(unlessFile: name)
    let imported = try store.importExport(
      at: spool?.path ?? name, into: self.invocation.partition, withOutbox: withOutbox)
    let view = ImportedView(
      entries: imported.entries, ended: imported.ended, mutations: imported.mutations)
    if try !self.invocation.printed(view) {
      try self.invocation.output.line(
        "imported \(view.entries) entries, \(view.ended) ended mutations, "
          + "\(view.mutations) live or dead mutations")
    }
    if imported.account != imported.source {
      try self.invocation.output.flush()
      Output.error(
        "cache-inspect: the export is of account \"\(imported.source)\", and was written into "
          + "\"\(imported.account)\"")
    }
    if imported.mutations > 0 {
      try self.invocation.output.flush()
      Output.error("cache-inspect: the store that the mutations came from must not send them too")
      if imported.arePaused {
        Output.error(
          "cache-inspect: sending is paused, as it was there: see 'mutation-replay status', and 'resume'"
        )
      }
    }
    return .success
  }
}

/// The imported rows, as JSON.
private struct ImportedView: Encodable {
  let entries: Int
  let ended: Int
  let mutations: Int
}
