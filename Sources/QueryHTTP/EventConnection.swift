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
  }

  /// How long a connection stays without followers, in seconds.
  static let lingering = 30.0

  private let stream: EventStream
  private let context: QueryContext
  private let backoff = MutationBackoff()
  private let guarded = Locked(Guarded())
  private let didEnd: @Sendable (EventConnection) -> Void

  /// - Parameters:
  ///   - context: Of the client; it must not keep it.
  ///   - didEnd: Called when it has ended for want of followers.
  init(
    _ stream: EventStream, in context: QueryContext,
    didEnd: @escaping @Sendable (EventConnection) -> Void
  ) {
    self.stream = stream
    self.context = context
    self.didEnd = didEnd
  }

  /// Follows the stream.
  ///
  /// - Parameters:
  ///   - id: The event that the follower's value has; nil: none.
  ///   - follower: Told the news.
  /// - Returns: What ends it.
  func follow(after id: String?, _ follower: @escaping Follower) -> QuerySubscription {
    let (number, news) = self.guarded.withLock { guarded -> (Int, News?) in
      let number = guarded.nextNumber
      guarded.nextNumber += 1
      guarded.arrivals += 1
      guarded.followers[number] = follower
      if guarded.work == nil {
        guarded.lastID = id
        guarded.work = Task { [weak self] in await self?.run() }
      }
      if guarded.isOpen { return (number, .open(after: guarded.lastID)) }
      return (number, guarded.lastID == id ? nil : .reset)
    }
    if let news { follower(news) }
    return QuerySubscription { [weak self] in self?.leave(number) }
  }

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
      let hasLasted = course.opened.map { $0.duration(to: .now) > wait } == true
      failures = course.hasEvents || hasLasted ? 1 : failures + 1
      wait = max(course.retry ?? .zero, self.backoff.delay(after: failures))
      do { try await self.context.eventStreamDelayer.delay(for: wait / .seconds(1)) } catch {
        return
      }
    }
  }

  /// What has come of one connection.
  private struct Course {
    /// nil: the server has not opened the stream.
    var opened: ContinuousClock.Instant?
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
        course.opened = .now
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
    // The same rules as for other reads.
    let url = try HTTPRequestDescription(method: "GET", url: self.stream.url).url
    guard let origin = HTTPOrigin(url) else { throw HTTPRequestError.badURL("") }
    let secrets = try await self.context.httpCredentials.headers(
      for: self.stream.credential, to: origin)
    var request = URLRequest(url: url)
    for (name, value) in secrets { request.setValue(value, forHTTPHeaderField: name) }
    request.setValue("text/event-stream", forHTTPHeaderField: "Accept")
    // So that no packer keeps an event back.
    request.setValue("identity", forHTTPHeaderField: "Accept-Encoding")
    if let lastID { request.setValue(lastID, forHTTPHeaderField: "Last-Event-ID") }
    return request
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
