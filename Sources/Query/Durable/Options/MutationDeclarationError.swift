/// A mutation is declared in a way that cannot be stored. Thrown by `mutate`, `enqueue`, and the
/// registration with a replayer.
public enum MutationDeclarationError: Error, Hashable, Sendable {
  /// `enqueue` was called for a mutation without `persisted(as:)`.
  case notPersisted(mutation: String)
  /// The name is empty, longer than 200 bytes, or begins with `http/`, which is the library's.
  case invalidName(String)
  /// ``CoalescePolicy/latest`` needs a scope.
  case coalescesWithoutScope(name: String)
  /// `batched(upTo:_:)` needs a scope.
  case batchedWithoutScope(name: String)
  /// `maxAttempts` is less than 1, or `maxAge` or `attemptTimeout` is not positive.
  case invalidLimit(name: String)
  /// The client has a store at this path whose mutation is declared otherwise: give one of the two a path
  /// of its own.
  case otherDeclaration(path: String, declared: String, redeclared: String)
  /// A batch has a mutation of a store whose storage is not that of the client.
  case otherStorage(name: String)
}

extension MutationDeclarationError: CustomStringConvertible {
  public var description: String {
    switch self {
    case .notPersisted(let mutation):
      "\(mutation) is not durable, so it cannot be enqueued. Declare it with persisted(as:)."
    case .invalidName(let name):
      """
      A durable mutation cannot be called "\(name)". A name has 1 to 200 bytes, and does not begin with \
      http/.
      """
    case .coalescesWithoutScope(let name):
      "\(name) coalesces, and has no scope that says what takes the place of what. Give it one."
    case .batchedWithoutScope(let name):
      """
      \(name) is sent in batches, which are of one lane, and has no scope that says which. Give it one.
      """
    case .invalidLimit(let name):
      """
      \(name) has a maxAttempts below 1, or a maxAge or an attemptTimeout that is not positive: it could \
      never be sent. Give it limits above these.
      """
    case .otherDeclaration(let path, let declared, let redeclared):
      """
      Two declarations of \(path) disagree: \(declared), and \(redeclared). Give one of the two a path of \
      its own.
      """
    case .otherStorage(let name):
      """
      The store of \(name) has another storage than the client that commits the batch. Make both of one \
      client.
      """
    }
  }
}
