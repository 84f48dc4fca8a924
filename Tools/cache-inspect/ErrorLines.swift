import Query
import QueryInspection
import ToolSupport

/// What an error of a store means to the tool's user: an exit code, and a line that says what to
/// do.
enum ErrorLines {
  /// How many candidates are named if a name is ambiguous.
  private static let maximumNamed = 10

  /// The error for the user; nil if it does not come from a store.
  static func explain(_ error: any Error) -> ToolError? {
    switch error {
    case let error as InspectionError: Self.explain(error)
    case let error as StorageError: ToolError(.inputOutput, "\(error)")
    default: nil
    }
  }

  private static func explain(_ error: InspectionError) -> ToolError {
    switch error {
    case .noStore(let folders):
      ToolError(
        .noStore,
        "there is no store in \(folders.joined(separator: " or ")); "
          + "name its folder with --store, or its application with --application")
    case .foreign: ToolError(.badData, "\(error); name another store")
    case .newer: ToolError(.badData, "\(error); use the cache-inspect of that release")
    case .damaged: ToolError(.badData, "\(error); check tells more")
    case .unavailable(let failure): Self.explain(unavailable: failure)
    case .unknownPartition, .notFound: ToolError(.usage, "\(error)")
    case .ambiguous(let name, let candidates):
      ToolError(.usage, "“\(name)” is the beginning of \(Self.named(candidates)); type more of it")
    case .badExport: ToolError(.badData, "\(error); export it again")
    case .outboxNotEmpty: ToolError(.usage, "\(error); import without --outbox, or elsewhere")
    case .otherAccount:
      ToolError(.usage, "\(error); import without --outbox, or without --partition")
    }
  }

  private static func explain(unavailable error: StorageError) -> ToolError {
    switch error.code {
    case .misuse: ToolError(.usage, "\(error.message)")
    case .permission: ToolError(.inputOutput, "\(error); ask as a user who may read it")
    case .busy: ToolError(.inputOutput, "\(error)")
    case .tooBig: ToolError(.badData, "\(error)")
    default: ToolError(.inputOutput, "\(error); look at the file and its folder")
    }
  }

  private static func named(_ candidates: [String]) -> String {
    let more = candidates.count - Self.maximumNamed
    return "\(candidates.count): \(candidates.prefix(Self.maximumNamed).joined(separator: "; "))"
      + (more > 0 ? "; and \(more) more" : "")
  }
}
