/// A condition that follows an asynchronous sequence of booleans.
///
/// The sequence is consumed from the condition's creation until its last reference is released.
/// An observer is called with each value, after it became the condition's, but not when it
/// subscribes.
public final class AsyncSequenceCondition<S: AsyncSequence & Sendable>: FetchCondition
where S.Element == Bool {
  private let values: ObserverList<Bool>
  private let task: Task<Void, Never>

  fileprivate init(sequence: S, initialValue: Bool) {
    let values = ObserverList(initialValue)
    self.values = values
    self.task = Task {
      do {
        for try await value in sequence { values.send(value) }
      } catch {
        // When a sequence ends, in whatever way, the condition keeps its last value.
      }
    }
  }

  deinit { self.task.cancel() }

  public func isSatisfied(in context: QueryContext) -> Bool { self.values.value }

  public func subscribe(
    in context: QueryContext,
    _ observer: @escaping @Sendable (Bool) -> Void
  ) -> QuerySubscription {
    self.values.subscribe(emittingFirst: false, observer)
  }
}

extension FetchCondition {
  /// A condition that follows an asynchronous sequence of booleans.
  ///
  /// - Parameters:
  ///   - sequence: The sequence.
  ///   - initialValue: Whether the condition is satisfied before the sequence's first element.
  public static func observing<S: AsyncSequence & Sendable>(
    sequence: S,
    initialValue: Bool
  ) -> Self where Self == AsyncSequenceCondition<S>, S.Element == Bool {
    AsyncSequenceCondition(sequence: sequence, initialValue: initialValue)
  }
}
