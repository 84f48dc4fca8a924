import FoundationEssentials

/// How a mutation is stored: carried in the context from the modifier to the store.
// @unchecked: it has one constant, which is Sendable, and its subclass has only such.
@usableFromInline
class MutationPlan: @unchecked Sendable {
  let name: String

  fileprivate init(name: String) { self.name = name }

  /// Connects a new store to the outbox of its context's storage, and hydrates its history.
  ///
  /// - Parameter store: A store that no other thread has seen yet.
  @usableFromInline
  func attach(_ store: AnyObject) {}
}

/// The plan of a mutation of known types.
final class TypedMutationPlan<Arguments: Sendable, Value: Sendable>:
  // @unchecked: as the plan.
  MutationPlan, @unchecked Sendable
{
  let options: MutationPersistenceOptions<Arguments>
  let codec: MutationCodec<Arguments, Value>
  /// The error in the declaration.
  let flaw: MutationDeclarationError?

  init(
    name: String,
    options: MutationPersistenceOptions<Arguments>,
    codec: MutationCodec<Arguments, Value>,
    isReserved: Bool
  ) {
    let name = name.canonicallyComposed
    self.options = options
    self.codec = codec
    self.flaw = Self.flaw(name, options, isReserved)
    super.init(name: name)
  }

  private static func flaw(
    _ name: String,
    _ options: MutationPersistenceOptions<Arguments>,
    _ isReserved: Bool
  ) -> MutationDeclarationError? {
    let isLibrarys = name.hasPrefix("http/")
    if name.isEmpty || name.utf8.count > 200 || isLibrarys != isReserved {
      return .invalidName(name)
    }
    if options.coalesce == .latest, !options.scope.hasLane {
      return .coalescesWithoutScope(name: name)
    }
    if options.maxAttempts.map({ $0 < 1 }) == true { return .invalidLimit(name: name) }
    if options.maxAge.map({ $0 <= .zero }) == true { return .invalidLimit(name: name) }
    if options.attemptTimeout.map({ $0 <= .zero }) == true { return .invalidLimit(name: name) }
    return nil
  }

  /// What it says of an attempt that took too long.
  var timeLimitError: QueryTimeoutError {
    QueryTimeoutError(duration: self.options.attemptTimeout ?? .zero, query: self.name)
  }

  /// Which rows it can run.
  func handler(instance: String) -> MutationHandler {
    MutationHandler(
      name: self.name, instance: instance, version: self.options.version,
      upgradesOlder: self.options.upgrade != nil)
  }

  /// The arguments of a row, upgraded to the version of this program.
  func arguments(_ data: Data, version: Int, coder: String) throws -> Arguments {
    let options = self.options
    guard coder == options.coder.name else { throw OtherCoder(name: coder) }
    var data = data
    if version < options.version {
      guard let upgrade = options.upgrade else { throw OtherVersion(version: version) }
      data = try upgrade(data, version)
    } else if version > options.version {
      throw OtherVersion(version: version)
    }
    return try self.codec.decodeArguments(data, options.coder)
  }

  /// The error of two declarations of one path that disagree about what is fixed in a row; nil if they
  /// do not. Versions may differ, and closures cannot be compared.
  func difference(
    from other: TypedMutationPlan, path: QueryPath
  ) -> MutationDeclarationError? {
    let (mine, theirs) = (self.summary, other.summary)
    return mine == theirs
      ? nil : .otherDeclaration(path: "\(path)", declared: theirs, redeclared: mine)
  }

  /// What is fixed in a row, as a caller would declare it.
  private var summary: String {
    let options = self.options
    let age = options.maxAge.map { "\($0)" } ?? "nil"
    let attempts = options.maxAttempts.map { "\($0)" } ?? "nil"
    let priority = options.priority == .normal ? "" : ", priority: \(options.priority)"
    return """
      "\(self.name)" (scope: \(options.scope.summary), onFailure: \(options.onFailure.rawValue), \
      maxAttempts: \(attempts), maxAge: \(age), coalesce: \(options.coalesce.rawValue)\(priority))
      """
  }

  override func attach(_ store: AnyObject) {
    guard type(of: store) == QueryStore<MutationState<Arguments, Value>>.self else { return }
    let store = unsafeDowncast(store, to: QueryStore<MutationState<Arguments, Value>>.self)
    DurableAttachment.attach(self, to: store)
  }
}

extension QueryContext {
  /// How the mutation of this context is stored; nil if it is not.
  @inlinable
  var mutationPlan: MutationPlan? {
    get { self[MutationPlanKey.self] }
    set { self[MutationPlanKey.self] = newValue }
  }

  @usableFromInline
  enum MutationPlanKey: Key {
    @inlinable static var defaultValue: MutationPlan? { nil }
  }
}

/// Codes the arguments and the result of a mutation.
struct MutationCodec<Arguments: Sendable, Value: Sendable>: Sendable {
  let encodeArguments: @Sendable (Arguments, any QueryCoder) throws -> Data
  let decodeArguments: @Sendable (Data, any QueryCoder) throws -> Arguments
  let encodeValue: @Sendable (Value, any QueryCoder) throws -> Data
  let decodeValue: @Sendable (Data, any QueryCoder) throws -> Value
}

extension MutationCodec where Arguments: Codable, Value: Codable {
  static var coded: Self {
    Self(
      encodeArguments: { try $1.encode($0) },
      decodeArguments: { try $1.decode(Arguments.self, from: $0) },
      encodeValue: { try $1.encode($0) },
      decodeValue: { try $1.decode(Value.self, from: $0) })
  }
}

// Void is not Codable, and needs no bytes.

extension MutationCodec where Arguments == Void, Value: Codable {
  static var coded: Self {
    Self(
      encodeArguments: { _, _ in Data() },
      decodeArguments: { _, _ in },
      encodeValue: { try $1.encode($0) },
      decodeValue: { try $1.decode(Value.self, from: $0) })
  }
}

extension MutationCodec where Arguments: Codable, Value == Void {
  static var coded: Self {
    Self(
      encodeArguments: { try $1.encode($0) },
      decodeArguments: { try $1.decode(Arguments.self, from: $0) },
      encodeValue: { _, _ in Data() },
      decodeValue: { _, _ in })
  }
}

extension MutationCodec where Arguments == Void, Value == Void {
  static var coded: Self {
    Self(
      encodeArguments: { _, _ in Data() },
      decodeArguments: { _, _ in },
      encodeValue: { _, _ in Data() },
      decodeValue: { _, _ in })
  }
}
