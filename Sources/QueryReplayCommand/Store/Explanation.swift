import Foundation
import Query
import QueryReplay
import ToolSupport

/// What errors of the library mean to the user of a tool.
enum Explanation {
  /// The exit code, and a line that says what to do; nil if the error already says everything.
  static func of(_ error: any Error) -> ToolError? {
    switch error {
    case let error as StorageError: Self.of(error)
    case let error as OutboxError: ToolError(.usage, Self.sentence("\(error)"))
    case let error as ReplayError: ToolError(.usage, "\(error)")
    default: nil
    }
  }

  private static func of(_ error: StorageError) -> ToolError {
    switch error.code {
    case .misuse: ToolError(.usage, "\(error)")
    case .corrupt, .notADatabase, .mismatch, .schema:
      ToolError(.badData, "\(error); see cache-inspect check")
    case .busy, .locked:
      ToolError(.inputOutput, "\(error); another program holds the store, try again")
    default: ToolError(.inputOutput, "\(error)")
    }
  }

  /// Without a full stop, since the tool's name comes first.
  private static func sentence(_ text: String) -> String {
    text.hasSuffix(".") ? String(text.dropLast()) : text
  }
}
