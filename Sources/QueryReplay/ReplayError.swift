/// What a ``MutationReplayer`` refuses to register.
public enum ReplayError: Error, Hashable, Sendable {
  /// The mutation, of this type, is not durable: it has no `persisted(as:)`.
  case notPersisted(typeName: String)
  /// The name belongs to a mutation of another type, which was registered before.
  case nameTaken(name: String, typeName: String)
}

extension ReplayError: CustomStringConvertible {
  public var description: String {
    switch self {
    case .notPersisted(let type):
      "\(type) cannot be replayed: it has no persisted(as:). Declare it with one."
    case .nameTaken(let name, let type):
      """
      The name "\(name)" is registered for \(type) already, and a name belongs to one type. Give one of the \
      two another.
      """
    }
  }
}
