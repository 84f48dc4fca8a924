extension QueryStore {
  /// The states of the store, starting with the current one; none is skipped.
  ///
  /// Each iterator is a subscription of its own, from `makeAsyncIterator()` on, and keeps the store
  /// alive. A consumer that is slower than the changes makes the states wait in memory; a screen
  /// takes ``states(bufferingPolicy:)`` with `.bufferingNewest(1)`.
  public var states: AsyncStates { self.states(bufferingPolicy: .unbounded) }

  /// The states of the store, starting with the current one.
  ///
  /// - Parameter bufferingPolicy: What happens to states that the consumer has not taken yet.
  public func states(
    bufferingPolicy: AsyncStream<AsyncStates.Element>.Continuation.BufferingPolicy
  ) -> AsyncStates {
    AsyncStates(store: self, bufferingPolicy: bufferingPolicy)
  }

  /// The states of a store, as a sequence.
  public struct AsyncStates: AsyncSequence, Sendable {
    /// A state, and the context of the event that led to it.
    public struct Element: Sendable {
      /// The state after a change.
      public let state: State
      /// The context of the change.
      public let context: QueryContext
    }

    let store: QueryStore<State>
    let bufferingPolicy: AsyncStream<Element>.Continuation.BufferingPolicy

    /// Subscribes to the store.
    public func makeAsyncIterator() -> AsyncIterator {
      let (stream, continuation) = AsyncStream.makeStream(
        of: Element.self,
        bufferingPolicy: self.bufferingPolicy
      )
      let subscription = self.store.subscribe(
        with: QueryEventHandler(onStateChanged: { state, context in
          continuation.yield(Element(state: state, context: context))
        })
      )
      continuation.onTermination = { _ in subscription.cancel() }
      return AsyncIterator(
        store: self.store,
        subscription: subscription,
        base: stream.makeAsyncIterator()
      )
    }

    /// Takes the states one after another.
    public struct AsyncIterator: AsyncIteratorProtocol {
      fileprivate let store: QueryStore<State>
      fileprivate let subscription: QuerySubscription
      fileprivate var base: AsyncStream<Element>.AsyncIterator

      /// The next state; `nil` if the task is cancelled.
      public mutating func next(
        isolation actor: isolated (any Actor)? = #isolation
      ) async -> Element? {
        await self.base.next(isolation: actor)
      }
    }
  }
}
