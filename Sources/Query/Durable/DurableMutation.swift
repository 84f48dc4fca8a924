/// A mutation that declares itself durable: its name and options stand in one place, and store,
/// registration and tool cannot disagree about them.
///
/// ```swift
/// struct CreateNote: DurableMutation {
///   static let persistedName = "create-note"
///   static let persistence = MutationPersistenceOptions<Note>(scope: .named("notes"))
///   var path: QueryPath { ["create-note"] }
///   func mutate(with note: Note, in context: QueryContext, …) async throws -> Note { … }
/// }
/// try await client.store(for: CreateNote()).submit(with: note)
/// ```
/// `Arguments` and `ReturnValue` must be `Codable` or `Void`. A type with a
/// ``QueryRequest/setup(context:)`` of its own calls ``declareDurable(in:)`` there.
public protocol DurableMutation: MutationRequest {
  /// The mutation's name on disk, which outlives renamed types: 1 to 200 bytes, not beginning with
  /// `http/`.
  static var persistedName: String { get }

  /// How it is stored and sent.
  static var persistence: MutationPersistenceOptions<Arguments> { get }

  /// Makes the store of a context durable.
  func declareDurable(in context: inout QueryContext)
}

extension DurableMutation {
  /// The options of `persisted(as:)` without options.
  public static var persistence: MutationPersistenceOptions<Arguments> {
    MutationPersistenceOptions()
  }

  /// Declares the mutation durable.
  public func setup(context: inout QueryContext) { self.declareDurable(in: &context) }

  private func declare(
    _ codec: MutationCodec<Arguments, ReturnValue>, in context: inout QueryContext
  ) {
    context.mutationPlan = TypedMutationPlan(
      name: Self.persistedName, options: Self.persistence, codec: codec, isReserved: false)
  }
}

extension DurableMutation where Arguments: Codable, ReturnValue: Codable {
  public func declareDurable(in context: inout QueryContext) { self.declare(.coded, in: &context) }
}

extension DurableMutation where Arguments == Void, ReturnValue: Codable {
  public func declareDurable(in context: inout QueryContext) { self.declare(.coded, in: &context) }
}

extension DurableMutation where Arguments: Codable, ReturnValue == Void {
  public func declareDurable(in context: inout QueryContext) { self.declare(.coded, in: &context) }
}

extension DurableMutation where Arguments == Void, ReturnValue == Void {
  public func declareDurable(in context: inout QueryContext) { self.declare(.coded, in: &context) }
}
