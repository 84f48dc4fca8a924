import TestSupport
import Testing

@testable import Query

/// An event that no handler has a closure for is not logged: most handlers take the changes of the state alone.
@Suite(.warningsAreIssues) struct FollowedEventsTests {
  private enum Told: Equatable {
    case changed(Int?)
    case started
    case ended
    case result(Int?)
  }

  private static func handler(of kind: Int, _ told: Recorder<Told>) -> QueryEventHandler<IntState> {
    switch kind {
    case 0:
      QueryEventHandler(onStateChanged: { state, _ in told.append(.changed(state.currentValue)) })
    case 1: QueryEventHandler(onFetchingStarted: { _ in told.append(.started) })
    case 2: QueryEventHandler(onFetchingEnded: { _ in told.append(.ended) })
    default:
      QueryEventHandler(onResultReceived: { result, _ in told.append(.result(try? result.get())) })
    }
  }

  private static let ofAFetch: [[Told]] = [
    [.changed(nil), .changed(nil), .changed(1)], [.started], [.ended], [.result(1)],
  ]

  /// Alone, and beside each other one, whichever was there first.
  @Test(arguments: 0..<4, 0..<4)
  func aHandlerGetsWhatItHasAClosureFor(_ first: Int, _ second: Int) async throws {
    let store = ScriptedQuery.store()
    let told = [Recorder<Told>(), Recorder<Told>()]
    let subscriptions = [
      store.subscribe(with: Self.handler(of: first, told[0])),
      store.subscribe(with: Self.handler(of: second, told[1])),
    ]
    try await store.fetch()
    #expect(told[0].elements == Self.ofAFetch[first])
    #expect(told[1].elements == Self.ofAFetch[second])
    subscriptions[0].cancel()
    try await store.fetch()
    #expect(told[0].elements == Self.ofAFetch[first])
    #expect(told[1].elements.count == Self.ofAFetch[second].count + (second == 0 ? 2 : 1))
    subscriptions[1].cancel()
  }

  @Test func whatNoHandlerTakesIsNotLogged() async throws {
    let store = ScriptedQuery.store()
    let told = Recorder<Told>()
    let results = store.subscribe(with: Self.handler(of: 3, told))
    let end = store.logEnd
    store.currentValue = 7
    #expect(store.logEnd === end)
    let changes = store.subscribe(with: Self.handler(of: 0, told))
    store.currentValue = 8
    #expect(store.logEnd !== end)
    #expect(told.elements == [.changed(7), .changed(8)])
    try await store.fetch()
    #expect(told.elements.dropFirst(2) == [.changed(8), .result(1), .changed(1)])
    results.cancel()
    changes.cancel()
    #expect(store.followedEvents.isEmpty)
    let last = store.logEnd
    try await store.fetch()
    #expect(store.logEnd === last)
  }

  /// Its closures are asked for while it is there, and not before.
  @Test func theHandlerOfAFetchHasItsEventsBesideOneThatTakesNone() async throws {
    let store = ScriptedQuery.store()
    let told = Recorder<Told>()
    let subscription = store.subscribe(with: QueryEventHandler())
    #expect(store.followedEvents.isEmpty)
    try await store.fetch(
      handler: QueryEventHandler(
        onFetchingStarted: { _ in told.append(.started) },
        onFetchingEnded: { _ in told.append(.ended) }))
    #expect(told.elements == [.started, .ended])
    subscription.cancel()
    #expect(store.followedEvents.isEmpty)
  }
}
