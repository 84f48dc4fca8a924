import Query

/// The answer to a read is not a value. Its text says nothing of what the server sent.
public enum HTTPBodyError: Error, Sendable, CustomStringConvertible {
  /// The body is none of the type. The error of the coder may quote the body; it is for the program at
  /// work, and not kept.
  case undecodable(type: String, underlying: any Error)
  /// The body is longer than it may be, as by `httpAnswerLimit` of the context, in bytes.
  case tooLong(limit: Int)

  public var description: String {
    switch self {
    case .undecodable(let type, _):
      "The answer is no \(type). Compare the type with what the server sends."
    case .tooLong(let limit):
      "The answer is longer than \(limit) bytes. Ask for less, or raise httpAnswerLimit."
    }
  }
}

extension HTTPBodyError: AnsweredError {}
