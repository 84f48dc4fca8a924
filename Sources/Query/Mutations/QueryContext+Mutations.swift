public import FoundationEssentials

extension QueryContext {
  @usableFromInline
  enum MutationArgumentsKey<Arguments: Sendable>: Key {
    @inlinable static var defaultValue: Arguments? { nil }
  }

  /// How many attempts a mutation's state remembers.
  @usableFromInline
  var maxMutationHistoryLength: Int {
    get { self[MaxMutationHistoryLengthKey.self] }
    set { self[MaxMutationHistoryLengthKey.self] = newValue }
  }

  @usableFromInline
  enum MaxMutationHistoryLengthKey: Key {
    @inlinable static var defaultValue: Int { .max }
  }

  /// What the mutation of this context depends on.
  @usableFromInline
  var mutationDependencies: [UUID] {
    get { self[MutationDependenciesKey.self] }
    set { self[MutationDependenciesKey.self] = newValue }
  }

  @usableFromInline
  enum MutationDependenciesKey: Key {
    @inlinable static var defaultValue: [UUID] { [] }
  }
}

extension MutationRequest {
  /// Limits the history: of more attempts than this, the oldest are forgotten. They run on.
  ///
  /// - Parameter length: How many attempts are remembered, 1 or more.
  /// - Precondition: `length` is greater than 0.
  public func maxHistory(
    length: Int
  ) -> ModifiedQuery<Self, _MaxHistoryLengthModifier<Self>> {
    precondition(
      length > 0,
      "\(self._debugTypeName): \(_tooSmallMutationHistoryLengthMessage(got: length))"
    )
    return self.modifier(_MaxHistoryLengthModifier(length: length))
  }
}

public struct _MaxHistoryLengthModifier<Query: MutationRequest>: _ContextUpdatingQueryModifier {
  let length: Int

  public func setup(context: inout QueryContext) {
    context.maxMutationHistoryLength = self.length
  }
}

package func _tooSmallMutationHistoryLengthMessage(got length: Int) -> String {
  """
  The history of a mutation holds at least its current attempt, so its length must be 1 or more; \
  got \(length).
  """
}
