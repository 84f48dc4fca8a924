/// Identifies a ``QueryTask`` in messages.
public struct QueryTaskInfo: Sendable, Identifiable, CustomStringConvertible {
  /// The identity of the task.
  public let id: QueryTaskIdentifier

  /// The name, priority and executor of the task.
  public let configuration: QueryTaskConfiguration

  /// `[<name>](ID: #<n>)`, with `Unnamed QueryTask` if it has no name.
  public var description: String {
    "[\(self.configuration.name ?? "Unnamed QueryTask")](ID: \(self.id.debugDescription))"
  }
}
