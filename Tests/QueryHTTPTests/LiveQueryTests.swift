import Foundation
import Query
import QuerySQLite
import StorageTestSupport
import TestSupport
import Testing

@testable import QueryHTTP

/// Queries that a stream keeps up to date.
@Suite(.serialized) struct LiveQueryTests {
  private let scratch: HTTPScratch
  private let server: LiveServer
  /// The data of the events that were applied.
  private let applied = Recorder<String>()

  init() throws {
    self.scratch = try HTTPScratch()
    self.server = try LiveServer()
  }

  private func client(
    _ edit: (inout QueryContext) -> Void = { _ in }
  ) -> QueryClient {
    self.scratch.client {
      $0.eventStreamDelayer = .noDelay
      edit(&$0)
    }
  }

  /// Adds the number that an event says.
  private func query(
    _ name: String = "", silence: Duration = .seconds(45), credential: String? = nil
  ) -> some QueryRequest<[Int], QueryState<[Int]?, [Int]>> {
    let (server, applied) = (self.server, self.applied)
    return HTTPQuery(server.url("/notes\(name)"), as: [Int].self).stale(after: 3_600).persisted()
      .live(
        from: { EventStream(server.url("/events"), credential: credential, silence: silence) },
        apply: .apply { numbers, event in
          applied.append(event.data)
          guard let number = Int(event.data) else { throw TestError("no number") }
          if !numbers.contains(number) { numbers.append(number) }
        })
  }

  private typealias Store = QueryStore<QueryState<[Int]?, [Int]>>

  private func follow(_ store: Store) -> (QuerySubscription, Recorder<[Int]?>) {
    let shown = Recorder<[Int]?>()
    return (store.subscribe { shown.append($0.currentValue) }, shown)
  }

  /// Waits until stores have the value that they fetch first, and the one that they fetch when the stream is
  /// open. They deal with what the stream brings in its order, and with the opening before an event.
  private func settle(_ stores: [Store], _ stream: StreamScript) async {
    while stores.contains(where: { $0.currentValue == nil }) { await Task.yield() }
    stream.send("data: 1\n\n")
    await self.applied.wait { $0.count >= stores.count }
    while stores.contains(where: { $0.isLoading || $0.isInvalidated }) { await Task.yield() }
  }

  @Test func anEventChangesTheValueAndIsResumedAfterInTheNextLaunch() async throws {
    var store = self.client().store(for: self.query())
    let (subscription, shown) = self.follow(store)
    let stream = await self.server.stream(1)
    await self.settle([store], stream)
    stream.send("id: 7\ndata: 2\n\n")
    await shown.wait { $0.last == [1, 2] }
    stream.send("id: 7\ndata: 2\n\nid: 8\ndata: 3\n\n")
    await shown.wait { $0.last == [1, 2, 3] }
    subscription.cancel()
    try await self.scratch.relaunch()
    let reads = self.server.reads.count
    store = self.client().store(for: self.query())
    #expect(store.currentValue == [1, 2, 3])
    let (later, shownLater) = self.follow(store)
    let second = await self.server.stream(2)
    #expect(self.server.lastIDs.elements == [nil, "8"])
    second.send("id: 9\ndata: 4\n\n")
    await shownLater.wait { $0.last == [1, 2, 3, 4] }
    #expect(self.server.reads.count == reads, "what the stream resumes is not fetched")
    later.cancel()
  }

  @Test func aBrokenConnectionIsMadeAgainFromTheLastEventOn() async throws {
    let store = self.client().store(for: self.query())
    let (subscription, shown) = self.follow(store)
    let stream = await self.server.stream(1)
    await self.settle([store], stream)
    stream.send("id: 7\ndata: 2\n\nid: 8\ndata: 3")
    await shown.wait { $0.last == [1, 2] }
    stream.end()
    _ = await self.server.stream(2)
    #expect(self.server.lastIDs.elements == [nil, "7"])
    subscription.cancel()
  }

  @Test(arguments: ["event: reset\n\n", "data: garbage\n\n"])
  func whatCannotBeAppliedIsFetched(_ event: String) async throws {
    let store = self.client().store(for: self.query())
    let (subscription, shown) = self.follow(store)
    let stream = await self.server.stream(1)
    await self.settle([store], stream)
    let reads = self.server.reads.count
    self.server.set([5])
    stream.send(event)
    await self.server.reads.wait(forCount: reads + 1)
    await shown.wait { $0.last == [5] }
    subscription.cancel()
  }

  @Test func aForgottenEventIsFetched() async throws {
    var store = self.client().store(for: self.query())
    var (subscription, shown) = self.follow(store)
    let stream = await self.server.stream(1)
    await self.settle([store], stream)
    stream.send("id: 7\ndata: 2\n\n")
    await shown.wait { $0.last == [1, 2] }
    subscription.cancel()
    try await self.scratch.relaunch()
    self.server.set([1, 2, 3])
    self.server.forget()
    store = self.client().store(for: self.query())
    (subscription, shown) = self.follow(store)
    await shown.wait { $0.last == [1, 2, 3] }
    // Nothing is an event that comes with the answer that it is forgotten.
    #expect(await self.server.lastIDs.wait(forCount: 3) == [nil, "7", nil])
    subscription.cancel()
  }

  @Test func anEventThatIsTooLongIsFetchedAndNotAskedForAgain() async throws {
    let store = self.client().store(for: self.query())
    let (subscription, shown) = self.follow(store)
    let stream = await self.server.stream(1)
    await self.settle([store], stream)
    stream.send("id: 7\ndata: 2\n\n")
    await shown.wait { $0.last == [1, 2] }
    self.server.set([1, 2, 3])
    stream.send("id: 8\ndata: \(String(repeating: "3", count: 1 << 20))\n\n")
    try #require(await self.server.lastIDs.wait(forCount: 2) == [nil, nil])
    await shown.wait { $0.last == [1, 2, 3] }
    subscription.cancel()
  }

  /// The answer of a fetch may be older than an event that came after it was asked for.
  @Test func anEventDuringAFetchIsNotLost() async throws {
    let store = self.client().store(for: self.query())
    let (subscription, shown) = self.follow(store)
    let stream = await self.server.stream(1)
    await self.settle([store], stream)
    let gate = Gate()
    self.server.set([1, 5])
    self.server.hold(gate)
    let fetch = Task { try await store.fetch() }
    await gate.arrival()
    stream.send("id: 7\ndata: 2\n\nid: 8\ndata: 3\n\n")
    await shown.wait { $0.last == [1, 2, 3] }
    gate.open()
    #expect(try await fetch.value == [1, 5])
    await shown.wait { $0.last == [1, 5, 2, 3] }
    #expect(!store.isInvalidated)
    subscription.cancel()
    try await self.scratch.relaunch()
    let again = self.client().store(for: self.query())
    let later = self.follow(again)
    _ = await self.server.stream(2)
    #expect(self.server.lastIDs.elements == [nil, "8"])
    later.0.cancel()
    // A store that is let go of follows nothing.
    withExtendedLifetime(again) {}
  }

  @Test func aThousandStoresHaveOneConnection() async throws {
    let client = self.client()
    let stores = (0..<1_000).map { client.store(for: self.query("?\($0)")) }
    let shown = Counter()
    let subscriptions = stores.map { store in
      store.subscribe { if $0.currentValue?.last == 2 { shown.increment() } }
    }
    let stream = await self.server.stream(1)
    await self.settle(stores, stream)
    stream.send("id: 7\ndata: 2\n\n")
    while stores.contains(where: { $0.currentValue != [1, 2] }) { await Task.yield() }
    #expect(self.server.lastIDs.count == 1)
    #expect(shown.value >= 1_000)
    withExtendedLifetime(subscriptions) {}
  }

  /// Clients that are gone are as different as those that are there.
  @Test func eachLaunchHasAConnectionOfItsOwn() async throws {
    var subscriptions = [QuerySubscription]()
    var stores = [Store]()
    for number in 1...5 {
      stores.append(self.client().store(for: self.query("?\(number)")))
      subscriptions.append(self.follow(stores[number - 1]).0)
      _ = await self.server.stream(number)
    }
    #expect(self.server.lastIDs.count == 5)
    for subscription in subscriptions { subscription.cancel() }
  }

  @Test func withoutANetworkNothingIsConnected() async throws {
    let network = MockNetworkObserver(initialStatus: .disconnected)
    let client = self.client { $0.networkObserver = network }
    let store = client.store(for: self.query())
    let (subscription, _) = self.follow(store)
    while network.subscriberCount == 0 { await Task.yield() }
    #expect(self.server.lastIDs.count == 0)
    network.send(status: .connected)
    _ = await self.server.stream(1)
    subscription.cancel()
  }

  @Test func aServerThatIsSilentIsAskedAgain() async throws {
    let store = self.client().store(for: self.query(silence: .seconds(1)))
    let (subscription, _) = self.follow(store)
    _ = await self.server.stream(1)
    _ = await self.server.stream(2)
    subscription.cancel()
  }

  @Test func aServerThatClosesWhatItOpensIsAskedLessAndLess() async throws {
    let delayer = GatedDelayer()
    delayer.gate.open()
    let client = self.client {
      $0.eventStreamDelayer = delayer
      // However slow the machine is, no stream lasts.
      $0.queryClock = MockQueryClock()
    }
    let (subscription, _) = self.follow(client.store(for: self.query()))
    for number in 1...4 { await self.server.stream(number).end() }
    let waits = await delayer.waits.wait(forCount: 4)
    #expect(zip(waits, waits.dropFirst()).allSatisfy { $0 < $1 }, "\(waits)")
    // One that says something is none of them.
    let stream = await self.server.stream(5)
    stream.send("data: /notes\n\n")
    stream.end()
    #expect(await delayer.waits.wait(forCount: 5)[4] < waits[1])
    subscription.cancel()
  }

  @Test func aConnectionEndsAfterTheLastSubscriberAndNotBefore() async throws {
    let delayer = GatedDelayer()
    let client = self.client { $0.eventStreamDelayer = delayer }
    let store = client.store(for: self.query())
    let (first, _) = self.follow(store)
    _ = await self.server.stream(1)
    first.cancel()
    await delayer.gate.arrival()
    #expect(delayer.waits.elements == [EventConnection.lingering])
    // Somebody comes back before the end.
    let (second, _) = self.follow(store)
    while EventConnections.shared.followerCount(of: client) != 1 { await Task.yield() }
    second.cancel()
    await delayer.gate.arrival(2)
    delayer.gate.open()
    while EventConnections.shared.followerCount(of: client) != nil { await Task.yield() }
    let (third, _) = self.follow(store)
    _ = await self.server.stream(2)
    third.cancel()
  }

  private func credentials(
    _ token: String, asked: Recorder<String> = Recorder()
  ) -> HTTPCredentials {
    let credential = HTTPCredential(for: [self.server.url("/")]) {
      asked.append(token)
      return ["Authorization": token]
    }
    return HTTPCredentials(["api": credential])
  }

  @Test func aStoreThatHasTheMissingCredentialLetsTheStreamConnect() async throws {
    let delayer = GatedDelayer()
    let client = self.client { $0.eventStreamDelayer = delayer }
    let early = client.store(for: self.query("?1", credential: "api"))
    let (first, _) = self.follow(early)
    await delayer.gate.arrival()
    #expect(self.server.tokens.count == 0)
    client.defaultContext.httpCredentials = self.credentials("new")
    let late = client.store(for: self.query("?2", credential: "api"))
    let (second, _) = self.follow(late)
    let stream = await self.server.stream(1)
    #expect(self.server.tokens.elements == ["new"])
    await self.settle([early, late], stream)
    delayer.gate.open()
    first.cancel()
    second.cancel()
  }

  @Test func eachAttemptUsesTheNewestCredential() async throws {
    let client = self.client { $0.httpCredentials = self.credentials("old") }
    let early = client.store(for: self.query("?1", credential: "api"))
    let (subscription, shown) = self.follow(early)
    var first = subscription
    var stream = await self.server.stream(1)
    await self.settle([early], stream)
    stream.send("id: 7\ndata: 2\n\n")
    await shown.wait { $0.last == [1, 2] }
    client.defaultContext.httpCredentials = self.credentials("new")
    let late = client.store(for: self.query("?2", credential: "api"))
    let (second, _) = self.follow(late)
    while EventConnections.shared.followerCount(of: client) != 2 { await Task.yield() }
    stream.end()
    stream = await self.server.stream(2)
    try #require(self.server.tokens.elements == ["old", "new"])
    #expect(self.server.lastIDs.elements == [nil, "7"])

    // What gives the same headers is no reason to connect again, and an older store none to go back.
    let asked = Recorder<String>()
    client.defaultContext.httpCredentials = self.credentials("new", asked: asked)
    let latest = client.store(for: self.query("?3", credential: "api"))
    let (third, _) = self.follow(latest)
    await asked.wait(forCount: 1)
    stream.send("id: 8\ndata: 3\n\n")
    await shown.wait { $0.last == [1, 2, 3] }
    first.cancel()
    while EventConnections.shared.followerCount(of: client) != 2 { await Task.yield() }
    first = self.follow(early).0
    while EventConnections.shared.followerCount(of: client) != 3 { await Task.yield() }
    stream.end()
    _ = await self.server.stream(3)
    #expect(self.server.tokens.elements == ["old", "new", "new"])
    for subscription in [first, second, third] { subscription.cancel() }
  }

  /// As a user logs in again while everything is shown: no store is made anew.
  @Test func aStoreThatIsGivenAnotherCredentialHasTheNewest() async throws {
    let client = self.client { $0.httpCredentials = self.credentials("first") }
    let early = client.store(for: self.query("?1", credential: "api"))
    let (first, _) = self.follow(early)
    await self.settle([early], await self.server.stream(1))
    // The connection uses what this one has, which was made later.
    client.defaultContext.httpCredentials = self.credentials("second")
    let late = client.store(for: self.query("?2", credential: "api"))
    let (second, _) = self.follow(late)
    let stream = await self.server.stream(2)
    #expect(self.server.tokens.elements == ["first", "second"])
    early.context.httpCredentials = self.credentials("third")
    first.cancel()
    while EventConnections.shared.followerCount(of: client) != 1 { await Task.yield() }
    let (third, _) = self.follow(early)
    while EventConnections.shared.followerCount(of: client) != 2 { await Task.yield() }
    stream.end()
    _ = await self.server.stream(3)
    #expect(self.server.tokens.elements == ["first", "second", "third"])
    for subscription in [second, third] { subscription.cancel() }
  }

  /// In a process of its own: the event holds a thread of the pool while the fetch ends on another one, and a
  /// second test that held one would leave none.
  @Test(.enabled(if: ProcessInfo.processInfo.activeProcessorCount > 1))
  func whatTheEndOfAFetchAppliesAgainWaitsForTheEventUnderWay() async {
    await #expect(processExitsWith: .success) {
      try await LiveQueryTests().endAFetchWhileAnEventIsApplied()
    }
  }

  private func endAFetchWhileAnEventIsApplied() async throws {
    let (server, applied, mayGoOn) = (self.server, self.applied, DispatchSemaphore(value: 0))
    let query = HTTPQuery(server.url("/notes"), as: [Int].self).stale(after: 3_600).persisted()
      .live(
        from: { EventStream(server.url("/events")) },
        apply: .apply { numbers, event in
          let isFirst = event.data == "2" && !applied.elements.contains("2")
          applied.append(event.data)
          if isFirst { mayGoOn.wait() }
          if let number = Int(event.data), !numbers.contains(number) { numbers.append(number) }
        })
    defer { mayGoOn.signal() }
    let store = self.client().store(for: query)
    let (subscription, shown) = self.follow(store)
    let stream = await server.stream(1)
    await self.settle([store], stream)
    let gate = Gate()
    server.hold(gate)
    let fetch = Task { try await store.fetch() }
    while !store.isLoading { await Task.yield() }
    stream.send("data: 2\n\n")
    await applied.wait { $0.contains("2") }
    gate.open()
    _ = try await fetch.value
    try #require(applied.elements.filter { $0 == "2" } == ["2"])
    mayGoOn.signal()
    await shown.wait { $0.last == [1, 2] }
    await applied.wait { $0.filter { $0 == "2" }.count > 1 }
    subscription.cancel()
  }

  @Test func invalidationsGoByTheirPaths() async throws {
    let server = self.server
    let client = self.client()
    let other = client.store(for: HTTPQuery(server.url("/notes?other"), as: [Int].self))
    try await other.fetch()
    let query = HTTPQuery(server.url("/notes"), as: [Int].self).stale(after: 3_600).persisted()
      .live(
        from: { EventStream(server.url("/events")) },
        apply: .invalidate { [applied] event in
          applied.append(event.name == "reset" ? "reset" : event.data)
          if event.name == "reset" {
            return [["http", "GET", server.url("/notes?other").absoluteString]]
          }
          return [["http", "GET", server.url(event.data).absoluteString]]
        })
    let store = client.store(for: query)
    let (subscription, shown) = self.follow(store)
    let stream = await server.stream(1)
    await shown.wait { $0.last == [1] }
    // What came before the stream was open is not known of the others either.
    await self.applied.wait(forCount: 1)
    #expect(self.applied.elements == ["reset"])
    while !other.isInvalidated { await Task.yield() }
    try await other.fetch()
    stream.send("data: /none\n\n")
    await self.applied.wait(forCount: 2)
    while store.isLoading || store.isInvalidated { await Task.yield() }
    stream.send("data: /notes?other\n\n")
    while !other.isInvalidated { await Task.yield() }
    #expect(!store.isInvalidated)
    try await other.fetch()
    stream.send("event: reset\n\n")
    while !other.isInvalidated { await Task.yield() }
    subscription.cancel()
  }
}

/// A delayer that waits for the test.
private struct GatedDelayer: QueryDelayer {
  let gate = Gate()
  let waits = Recorder<TimeInterval>()

  func delay(for seconds: TimeInterval) async throws {
    self.waits.append(seconds)
    try await self.gate.pass()
  }
}

/// A server of numbers, and of a stream of events.
private final class LiveServer: Sendable {
  let lastIDs = Recorder<String?>()
  /// What those that open the stream are authorized by.
  let tokens = Recorder<String?>()
  let reads = Recorder<String>()
  private let streams = Recorder<StreamScript>()
  private let state = Locked((body: "[1]", version: 1, hasForgotten: false))
  private let gate = Locked<Gate?>(nil)
  private let server: Locked<LoopbackServer?> = Locked(nil)
  private let root: String

  init() throws {
    let (lastIDs, reads, streams, state) = (self.lastIDs, self.reads, self.streams, self.state)
    let tokens = self.tokens
    let held = self.gate
    let server = try LoopbackServer { request, _ in
      guard request.line.contains("/events") else {
        reads.append(request.line)
        let (body, version, _) = state.withLock { $0 }
        let answer: LoopbackServer.Answer =
          request.headers["if-none-match"] == "\(version)"
          ? .status(304) : .status(200, headers: ["ETag": "\(version)"], body: body)
        return held.withLock { $0 }.map { .afterGate($0, answer) } ?? answer
      }
      let id = request.headers["last-event-id"]
      tokens.append(request.headers["authorization"])
      lastIDs.append(id)
      if id != nil, state.withLock({ $0.hasForgotten }) {
        return .status(410, body: "id: 9\ndata: 9\n\n")
      }
      let script = StreamScript()
      script.send(": open\n\n")
      streams.append(script)
      return .pieces(script)
    }
    self.root = server.root
    self.server.withLock { $0 = server }
  }

  deinit { for stream in self.streams.elements { stream.end() } }

  func url(_ path: String) -> URL { URL(string: self.root + path) ?? URL(filePath: "/") }

  func set(_ numbers: [Int]) {
    self.state.withLock { $0 = ("\(numbers)", $0.version + 1, $0.hasForgotten) }
  }

  /// Lets answers wait.
  func hold(_ gate: Gate) { self.gate.withLock { $0 = gate } }

  func forget() { self.state.withLock { $0.hasForgotten = true } }

  /// The stream that was opened as this one, counted from 1.
  func stream(_ number: Int) async -> StreamScript {
    await self.streams.wait { $0.count >= number }[number - 1]
  }
}
