import Foundation
public import Query

/// How an event of a stream changes a live query.
public enum LiveUpdate<Value: Sendable>: Sendable {
  /// It makes values stale, so that they are fetched again, with their validators: the safe way. The closure
  /// returns path prefixes of the queries to invalidate; if it returns none, only the live query itself is
  /// stale. If events may have been missed, as before the stream opened, the closure gets an event named
  /// `reset`, and the live query is stale as well.
  case invalidate(paths: @Sendable (StreamEvent) -> [QueryPath])
  /// It changes the server's value, beneath the edits. The event's id is stored with the changed value, in
  /// one commit. An event may come twice, or the value may include it already, so the closure must tell by
  /// ids whether to apply it. If it throws, the value is fetched again.
  case apply(@Sendable (inout Value, StreamEvent) throws -> Void)

  /// It makes the query itself stale.
  public static var invalidate: LiveUpdate { .invalidate { _ in [] } }
}

extension QueryRequest where State == QueryState<Value?, Value> {
  /// Lets a stream of events keep this query up to date while it has subscribers.
  ///
  /// ```swift
  /// let notes = HTTPQuery(notesURL, as: [Note].self).persisted()
  ///   .live(from: { EventStream(eventsURL) }, apply: .apply { notes, event in
  ///     try notes.merge(JSONDecoder().decode(Note.self, from: Data(event.data.utf8)))
  ///   })
  /// ```
  /// If the value has an event's id, the stream resumes after that event, in a later launch as well. For any
  /// other value, such as one that was just fetched, the events in between are unknown: it is fetched again
  /// when the stream opens, which costs only headers with validators. The same happens if the server no
  /// longer has the event (status 410), or sends an event that is longer than a mebibyte or named `reset`.
  ///
  /// - Parameters:
  ///   - stream: Describes the stream.
  ///   - update: What an event does.
  public func live(
    from stream: @escaping @Sendable () -> EventStream, apply update: LiveUpdate<Value>
  ) -> ControlledQuery<Self, _LiveController<Value>> {
    self.controlled(by: _LiveController(stream: stream, update: update))
  }
}

public struct _LiveController<Value: Sendable>: QueryController {
  public typealias State = QueryState<Value?, Value>

  let stream: @Sendable () -> EventStream
  let update: LiveUpdate<Value>

  public func control(with controls: QueryControls<State>) -> QuerySubscription {
    let following = LiveFollowing(controls, self.stream, self.update)
    guard let store = controls.livingStore else { return .empty }
    store.onAttendanceChange { following.attendanceDidChange() }
    return .combined([
      store.observeFetchEnds { following.take(.fetchDidEnd) },
      QuerySubscription { following.end() },
    ])
  }
}

/// Follows a stream for a store, while that has subscribers.
private final class LiveFollowing<Value: Sendable>: Sendable {
  private struct Guarded {
    var isEnded = false
    /// Incremented with each change, so that an older change that took longer is ignored.
    var turn = 0
    var subscription: QuerySubscription?

    /// What came and is still to be handled, one after another.
    var inbox = [Work]()
    var isDealing = false

    /// Those of the store's context, when it was made or has followed.
    var credentials: HTTPCredentials
    /// How new they are.
    var recency = EventConnections.shared.nextRecency()
  }

  enum Work: Sendable {
    case news(EventConnection.News)
    case fetchDidEnd
  }

  /// The events that came during a fetch, whose value may lack them; nil: there were too many. Only the
  /// thread that handles the inbox uses it.
  private let missed = Locked<[StreamEvent]?>([])
  /// How many are remembered.
  private static var missedLimit: Int { 1_000 }

  private let controls: QueryControls<QueryState<Value?, Value>>
  private let stream: @Sendable () -> EventStream
  private let update: LiveUpdate<Value>
  private let guarded: Locked<Guarded>

  init(
    _ controls: QueryControls<QueryState<Value?, Value>>,
    _ stream: @escaping @Sendable () -> EventStream, _ update: LiveUpdate<Value>
  ) {
    self.controls = controls
    self.stream = stream
    self.update = update
    let credentials = controls.livingStore?.context.httpCredentials
    self.guarded = Locked(Guarded(credentials: credentials ?? HTTPCredentials()))
  }

  func end() { self.set(nil, at: nil) }

  func attendanceDidChange() {
    guard let store = self.controls.livingStore else { return }
    let isWatched = store.subscriberCount > 0
    let turn = self.guarded.withLock { guarded -> Int? in
      guard !guarded.isEnded else { return nil }
      guarded.turn += 1
      return guarded.turn
    }
    guard let turn else { return }
    guard isWatched else { return self.set(nil, at: turn) }
    Task { [weak self, weak store] in
      // Before it is hydrated, the event to resume after is unknown.
      await store?.hydrated()
      self?.follow(at: turn)
    }
  }

  private func follow(at turn: Int) {
    let isDue = self.guarded.withLock {
      $0.turn == turn && !$0.isEnded && $0.subscription == nil
    }
    guard isDue, let store = self.controls.livingStore else { return }
    let context = store.context
    let connection = EventConnections.shared.connection(to: self.stream(), in: context)
    let recency = self.recency(of: context.httpCredentials)
    let subscription = connection.follow(after: self.lastID, in: context, recency: recency) {
      [weak self] in self?.take(.news($0))
    }
    self.set(subscription, at: turn)
  }

  /// How new the store's credentials are: those of a store that was made before a login are older than the
  /// login, however late it follows.
  private func recency(of credentials: HTTPCredentials) -> Int {
    var credentials = credentials
    return self.guarded.withLock { guarded in
      if !credentials.areSame(as: guarded.credentials) {
        // The old ones are released after the lock.
        swap(&guarded.credentials, &credentials)
        guarded.recency = EventConnections.shared.nextRecency()
      }
      return guarded.recency
    }
  }

  /// - Parameter turn: nil: the end.
  private func set(_ subscription: QuerySubscription?, at turn: Int?) {
    let unneeded = self.guarded.withLock { guarded -> QuerySubscription? in
      if turn == nil { guarded.isEnded = true }
      guard turn == nil || guarded.turn == turn && !guarded.isEnded else { return subscription }
      defer { guarded.subscription = subscription }
      return guarded.subscription
    }
    unneeded?.cancel()
  }
}

// MARK: - News

/// What is stored beside a value that an event has changed.
struct LiveMetadata: Codable {
  /// The event's id.
  var event: String

  init(event: String) { self.event = event }

  init?(_ metadata: Data?) {
    guard let metadata, let read = try? JSONDecoder().decode(Self.self, from: metadata) else {
      return nil
    }
    self = read
  }
}

extension LiveFollowing {
  private var lastID: String? { LiveMetadata(self.controls.storedValue?.metadata)?.event }

  /// Handles what has come, unless another thread is doing so.
  func take(_ work: Work) {
    var next = self.guarded.withLock { guarded -> Work? in
      guarded.inbox.append(work)
      guard !guarded.isDealing else { return nil }
      guarded.isDealing = true
      return guarded.inbox.removeFirst()
    }
    while let work = next {
      switch work {
      case .news(let news): self.deal(with: news)
      case .fetchDidEnd: self.applyMissed()
      }
      next = self.guarded.withLock { guarded -> Work? in
        guarded.isDealing = !guarded.inbox.isEmpty
        return guarded.inbox.isEmpty ? nil : guarded.inbox.removeFirst()
      }
    }
  }

  private func deal(with news: EventConnection.News) {
    switch news {
    case .open(let id): if id == nil || id != self.lastID { self.beginAnew() }
    case .reset: self.beginAnew()
    case .event(let event):
      switch self.update {
      case .invalidate(let paths): self.invalidate(paths(event))
      case .apply(let apply):
        self.remember(event)
        self.apply(event, by: apply)
      }
    }
  }

  /// Refetches everything that an event may have changed, since events may have been missed.
  private func beginAnew() {
    self.invalidate()
    guard case .invalidate(let paths) = self.update else { return }
    let others = paths(StreamEvent(name: "reset", data: ""))
    if !others.isEmpty { self.invalidate(others) }
  }

  /// Remembers an event that the value of the running fetch may lack, and the later ones in their order.
  private func remember(_ event: StreamEvent) {
    let isLoading = self.controls.livingStore?.isLoading ?? false
    self.missed.withLock { missed in
      guard let count = missed?.count, isLoading || count > 0 else { return }
      if count < Self.missedLimit { missed?.append(event) } else { missed = nil }
    }
  }

  /// Applies again the events that came while the value was fetched.
  private func applyMissed() {
    guard case .apply(let apply) = self.update, self.controls.livingStore?.isLoading == false else {
      return
    }
    let missed = self.missed.withLock { missed in
      defer { missed = [] }
      return missed
    }
    guard let missed else { return self.invalidate() }
    for event in missed { self.apply(event, by: apply) }
  }

  private func invalidate(_ paths: [QueryPath] = []) {
    guard let store = self.controls.livingStore else { return }
    if paths.isEmpty { return store.invalidate() }
    for path in paths { store.context.queryClient?.invalidate(matching: path) }
  }

  private func apply(
    _ event: StreamEvent, by change: @Sendable (inout Value, StreamEvent) throws -> Void
  ) {
    // Once more if the store got another value meanwhile.
    while let known = self.controls.storedValue, var value = known.value(as: Value.self) {
      do { try change(&value, event) } catch { return self.invalidate() }
      let metadata = event.id.flatMap { try? JSONEncoder().encode(LiveMetadata(event: $0)) }
      if self.controls.yield(value, metadata: metadata, replacing: known) { return }
      if self.controls.livingStore == nil { return }
    }
    // There is no value to apply it to: the fetch that brings one will include the event.
    self.invalidate()
  }
}
