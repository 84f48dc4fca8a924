import Foundation
import FoundationNetworking
import Query

/// The connection that all followers of a stream share.
///
/// Locking: `guarded` is read and written under its lock; no follower is called under it.
final class EventConnection: Sendable {
  /// What a follower is told, one after another.
  enum News: Sendable {
    /// The stream is open, after this event; nil: what came before is not known.
    case open(after: String?)
    /// What came before the next event is not known.
    case reset
    case event(StreamEvent)
  }

  typealias Follower = @Sendable (News) -> Void

  private struct Guarded {
    var followers = [Int: Follower]()
    var nextNumber = 0
    var lastID: String?
    var isOpen = false
    var work: Task<Void, Never>?
    /// Raised when a follower comes, so that an end that was planned before does not count.
    var arrivals = 0

    /// That of the newest store which has followed; the next attempt uses it.
    var context: QueryContext
    /// How new it is.
    var recency = 0
    /// What the last attempt was made with; nil: the next one is the first.
    var used: Used?
  }

  private struct Used {
    /// nil: there was none.
    var credential: HTTPCredential?
    /// What it gave; nil: nothing so far.
    var secrets: [String: String]?
  }

  /// How long a connection stays without followers, in seconds.
  static let lingering = 30.0

  private let stream: EventStream
  private let backoff = MutationBackoff()
  private let guarded: Locked<Guarded>
  private let didEnd: @Sendable (EventConnection) -> Void

  /// - Parameters:
  ///   - context: Of the client; it must not keep it.
  ///   - didEnd: Called when it has ended for want of followers.
  init(
    _ stream: EventStream, in context: QueryContext,
    didEnd: @escaping @Sendable (EventConnection) -> Void
  ) {
    self.stream = stream
    self.guarded = Locked(Guarded(context: context))
    self.didEnd = didEnd
  }

  /// Follows the stream.
  ///
  /// - Parameters:
  ///   - id: The event that the follower's value has; nil: none.
  ///   - context: The follower's.
  ///   - recency: How new that is: an older one does not take the place of a newer one.
  ///   - follower: Told the news.
  /// - Returns: What ends it.
  func follow(
    after id: String?, in context: QueryContext, recency: Int, _ follower: @escaping Follower
  ) -> QuerySubscription {
    var context = context
    let (number, news, isOther) = self.guarded.withLock { guarded -> (Int, News?, Bool) in
      let number = guarded.nextNumber
      guarded.nextNumber += 1
      guarded.arrivals += 1
      guarded.followers[number] = follower
      if recency >= guarded.recency {
        guarded.recency = recency
        // The old one is released after the lock.
        swap(&guarded.context, &context)
      }
      let isOther = !self.usesNewest(guarded)
      if guarded.work == nil {
        guarded.lastID = id
        guarded.work = Task { [weak self] in await self?.run() }
      }
      if guarded.isOpen { return (number, .open(after: guarded.lastID), isOther) }
      return (number, guarded.lastID == id ? nil : .reset, isOther)
    }
    if isOther { Task { [weak self] in await self?.checkSecrets() } }
    if let news { follower(news) }
    return QuerySubscription { [weak self] in self?.leave(number) }
  }

  private var context: QueryContext { self.guarded.withLock { $0.context } }

  var followerCount: Int { self.guarded.withLock { $0.followers.count } }

  private func leave(_ number: Int) {
    let arrivals = self.guarded.withLock { guarded -> Int? in
      guard guarded.followers.removeValue(forKey: number) != nil, guarded.followers.isEmpty else {
        return nil
      }
      return guarded.arrivals
    }
    guard let arrivals else { return }
    let delayer = self.context.eventStreamDelayer
    Task {
      try? await delayer.delay(for: Self.lingering)
      self.end(ifArrivalsAre: arrivals)
    }
  }

  private func end(ifArrivalsAre arrivals: Int) {
    let work = self.guarded.withLock { guarded -> Task<Void, Never>? in
      guard guarded.arrivals == arrivals, guarded.followers.isEmpty else { return nil }
      defer { guarded.work = nil }
      guarded.isOpen = false
      return guarded.work
    }
    guard let work else { return }
    work.cancel()
    self.didEnd(self)
  }

  private func tell(_ news: News, _ change: (inout Guarded) -> Void = { _ in }) {
    let followers = self.guarded.withLock { guarded in
      change(&guarded)
      return guarded.followers.sorted { $0.key < $1.key }.map(\.value)
    }
    for follower in followers { follower(news) }
  }
}

// MARK: - Connecting

extension EventConnection {
  /// Connects again and again, until it is cancelled or the server says that there is nothing to come.
  private func run() async {
    var failures = 0
    var wait = Duration.zero
    while !Task.isCancelled {
      guard await self.network() else { return }
      var course = Course()
      do {
        if try await self.connect(&course) { return }
      } catch {
        // Whatever it was, the next attempt will tell.
      }
      self.guarded.withLock { $0.isOpen = false }
      // A stream that is quiet works, too; one that ends as soon as it is open does not.
      let hasLasted = course.opened.map { self.time - $0 > wait } == true
      failures = course.hasEvents || hasLasted ? 1 : failures + 1
      wait = max(course.retry ?? .zero, self.backoff.delay(after: failures))
      do { try await self.context.eventStreamDelayer.delay(for: wait / .seconds(1)) } catch {
        return
      }
    }
  }

  /// The time since some moment, by the clock of a test if the context has one.
  private var time: Duration {
    self.context.mockClock?.elapsed ?? Self.start.duration(to: .now)
  }

  private static let start = ContinuousClock.now

  /// What has come of one connection.
  private struct Course {
    /// nil: the server has not opened the stream.
    var opened: Duration?
    var hasEvents = false
    /// How long the server asks to wait before the next one.
    var retry: Duration?
  }

  /// Waits for the network.
  ///
  /// - Returns: Whether it is there, and not the end.
  private func network() async -> Bool {
    guard let observer = self.context.networkObserver else { return !Task.isCancelled }
    let needed = self.context.satisfiedConnectionStatus
    let (states, continuation) = AsyncStream<NetworkConnectionStatus>.makeStream()
    let subscription = observer.subscribe { continuation.yield($0) }
    defer { subscription.cancel() }
    continuation.yield(observer.currentStatus)
    for await status in states where status >= needed { return true }
    return false
  }

  /// - Returns: Whether the server says that there is nothing to come.
  private func connect(_ course: inout Course) async throws -> Bool {
    let lastID = self.guarded.withLock { $0.lastID }
    let parts = try StreamPart.stream(
      of: try await self.request(after: lastID), silence: self.stream.silence)
    var parser = EventStreamParser(lastID: lastID)
    defer { course.retry = parser.retry }
    for try await part in parts {
      switch part {
      case .head(let answer):
        guard try self.isOpen(answer, after: lastID) else { return answer.status == 204 }
        course.opened = self.time
      case .bytes(let data):
        let events: [StreamEvent]
        do { events = try parser.read(data) } catch {
          // It would come again after the last event: what it says is fetched instead.
          self.tell(.reset) { $0.lastID = nil }
          throw error
        }
        for event in events {
          course.hasEvents = true
          let isReset = event.name == "reset"
          self.tell(isReset ? .reset : .event(event)) { $0.lastID = event.id }
        }
      }
    }
    return false
  }

  private func isOpen(_ answer: HTTPAnswer, after lastID: String?) throws -> Bool {
    switch answer.status {
    case 200:
      let type = answer.headers["content-type"]
      guard type?.lowercased().hasPrefix("text/event-stream") == true else {
        throw EventStreamError.contentType(type)
      }
      self.tell(.open(after: lastID)) { $0.isOpen = true }
      return true
    case 410:
      // It has forgotten the event.
      self.tell(.reset) { $0.lastID = nil }
      return false
    default: return false
    }
  }

  private func request(after lastID: String?) async throws -> URLRequest {
    let (credentials, used) = self.guarded.withLock { guarded in
      defer { guarded.used = Used(credential: self.newestCredential(guarded)) }
      return (guarded.context.httpCredentials, guarded.used)
    }
    // It is released after the lock.
    withExtendedLifetime(used) {}
    let (url, secrets) = try await self.target(by: credentials)
    self.guarded.withLock { $0.used?.secrets = secrets }
    // What has been replaced meanwhile is not sent.
    try Task.checkCancellation()
    var request = URLRequest(url: url)
    for (name, value) in secrets { request.setValue(value, forHTTPHeaderField: name) }
    request.setValue("text/event-stream", forHTTPHeaderField: "Accept")
    // So that no packer keeps an event back.
    request.setValue("identity", forHTTPHeaderField: "Accept-Encoding")
    if let lastID { request.setValue(lastID, forHTTPHeaderField: "Last-Event-ID") }
    return request
  }

  /// Where the stream is, and the headers that a credential gives for it.
  private func target(by credentials: HTTPCredentials) async throws -> (URL, [String: String]) {
    // The same rules as for other reads.
    let url = try HTTPRequestDescription(method: "GET", url: self.stream.url).url
    guard let origin = HTTPOrigin(url) else { throw HTTPRequestError.badURL("") }
    return (url, try await credentials.headers(for: self.stream.credential, to: origin))
  }
}

// MARK: - Credentials

extension EventConnection {
  private func newestCredential(_ guarded: Guarded) -> HTTPCredential? {
    self.stream.credential.flatMap { guarded.context.httpCredentials[$0] }
  }

  /// Whether the last attempt was made, or the first one will be, with the newest credential.
  private func usesNewest(_ guarded: Guarded) -> Bool {
    guard let used = guarded.used else { return true }
    return used.credential?.identity === self.newestCredential(guarded)?.identity
  }

  /// Connects again if the newest credential gives other headers than those that were sent, or none.
  private func checkSecrets() async {
    let credentials = self.context.httpCredentials
    let secrets = try? await self.target(by: credentials).1
    let (old, used) = self.guarded.withLock { guarded -> (Task<Void, Never>?, Used?) in
      // Meanwhile another attempt may have been made, or a newer credential have come.
      let newest = self.newestCredential(guarded)
      guard let work = guarded.work, let used = guarded.used, !self.usesNewest(guarded),
        newest?.identity === self.stream.credential.flatMap({ credentials[$0] })?.identity
      else { return (nil, nil) }
      if let secrets, secrets == used.secrets {
        guarded.used?.credential = newest
        return (nil, used)
      }
      guarded.used = nil
      guarded.work = Task { [weak self] in
        // One after another, so that the followers are told in order.
        await work.value
        await self?.run()
      }
      return (work, used)
    }
    old?.cancel()
    // It is released after the lock.
    withExtendedLifetime(used) {}
  }
}

// MARK: - Sharing

/// The connections of all clients, one for each stream and client.
final class EventConnections: Sendable {
  static let shared = EventConnections()

  private struct Key: Hashable {
    var client: ObjectIdentifier
    var url: String
    var credential: String?
  }

  private struct Entry {
    /// Held, so that no other client gets its address.
    var client: any AnyObject & Sendable
    var connection: EventConnection
  }

  private let entries = Locked([Key: Entry]())
  private let lastRecency = Locked(0)

  /// How new the context is of a store that is made now, or gets other credentials: the higher, the newer.
  func nextRecency() -> Int {
    self.lastRecency.withLock { last in
      last += 1
      return last
    }
  }

  /// The connection of a stream for a client; a new one for a store without a client.
  func connection(to stream: EventStream, in context: QueryContext) -> EventConnection {
    guard let client = context.clientIdentity else {
      return EventConnection(stream, in: context) { _ in }
    }
    let key = Key(
      client: ObjectIdentifier(client), url: stream.url.normalisedForHTTP,
      credential: stream.credential)
    return self.entries.withLock { entries in
      if let entry = entries[key] { return entry.connection }
      let connection = EventConnection(stream, in: context) { [weak self] in self?.remove($0, key) }
      entries[key] = Entry(client: client, connection: connection)
      return connection
    }
  }

  /// How many followers the connections of a client have; nil: it has no connection.
  func followerCount(of client: QueryClient) -> Int? {
    let identity = client.defaultContext.clientIdentity
    let connections = self.entries.withLock { entries in
      entries.values.filter { $0.client === identity }.map(\.connection)
    }
    return connections.isEmpty ? nil : connections.reduce(0) { $0 + $1.followerCount }
  }

  private func remove(_ connection: EventConnection, _ key: Key) {
    let removed = self.entries.withLock { entries -> Entry? in
      // A follower may have come since, and have got another one.
      guard entries[key]?.connection === connection else { return nil }
      return entries.removeValue(forKey: key)
    }
    withExtendedLifetime(removed) {}
  }
}
