/// Why a file cannot go with a mutation, or can no longer be sent.
public enum MutationBodyError: Error, Hashable, Sendable {
  /// It is not a file that can be read.
  case notAFile(path: String)
  /// The copy of the file is missing, or has changed.
  case damaged(name: String)
  /// The mutation has no files.
  case noFile
}

extension MutationBodyError: CustomStringConvertible {
  public var description: String {
    switch self {
    case .notAFile(let path): "\(path) is no file that can be sent. Give one that can be read."
    case .damaged(let name):
      """
      The file bodies/\(name) is missing, or not what it was. Discard the mutation, and enqueue it with the \
      file again.
      """
    case .noFile: "The mutation has no files. Enqueue it with one."
    }
  }
}

// It is thrown before anything is sent.
extension MutationBodyError: UnsentError {}
