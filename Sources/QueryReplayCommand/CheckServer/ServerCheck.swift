import Foundation
import ToolSupport

/// The questions to a server, and what is known of it so far.
final class ServerCheck {
  /// How many writes are sent at most.
  static let maximumWrites = 40

  let target: CheckTarget
  let keyFile: KeyFile?
  let olderThan: Duration?
  /// How many writes were sent.
  private(set) var writes = 0
  /// Whether a count was behind the writes that were acknowledged.
  var hasLagged = false
  /// How long the first write took, in seconds.
  private(set) var latency = 0.0

  private var number = 0
  private var known: KnownWrite?
  private(set) var pair: Pair?

  /// A write that the server has carried out.
  struct KnownWrite {
    var key: String
    var number: Int
    var answer: CheckAnswer
  }

  /// A write that was sent twice.
  struct Pair {
    var first: CheckAnswer
    var second: CheckOutcome
    /// By how much the count has grown; nil if there is none.
    var growth: Int?
  }

  /// The server refuses the write itself, so that nothing can be asked.
  struct Refused: Error {
    let words: String
  }

  /// As many writes were sent as may be.
  struct OutOfWrites: Error {}

  init(_ target: CheckTarget, keyFile: KeyFile?, olderThan: Duration?) {
    self.target = target
    self.keyFile = keyFile
    self.olderThan = olderThan
  }

  /// How many writes may still be sent.
  var writesLeft: Int { Self.maximumWrites - self.writes }

  // MARK: - Writing

  /// A key and a number that were not used yet.
  func newWrite() -> (key: String, number: Int) {
    self.number += 1
    return ("check-\(UUID().uuidString.lowercased())", self.number)
  }

  /// The request of a write, which counts as sent.
  func write(
    _ key: String, _ body: Data, headers: [CheckHeader]? = nil
  ) throws(OutOfWrites) -> CheckRequest {
    guard self.writesLeft > 0 else { throw OutOfWrites() }
    self.writes += 1
    return CheckRequest(
      method: self.target.method, url: self.target.url,
      headers: [CheckHeader("Idempotency-Key", key)] + (headers ?? self.target.headers), body: body)
  }

  /// Sends the write of a key and a number.
  ///
  /// - Throws: ``OutOfWrites``; `ToolError` if the server cannot be reached.
  func send(_ key: String, _ number: Int) async throws -> CheckOutcome {
    try await self.send([try self.write(key, self.target.body(number))])[0]
  }

  /// What sends a request: its credentials are not sent in the clear to a place of which the command line
  /// says `https`.
  func transport(to url: URL) -> any CheckTransport {
    url.scheme?.lowercased() == "https" ? TLSTransport() : SocketTransport()
  }

  /// Sends requests to one server at once.
  ///
  /// - Throws: `ToolError` if the server cannot be reached.
  func send(_ requests: [CheckRequest]) async throws -> [CheckOutcome] {
    guard let url = requests.first?.url else { return [] }
    let outcomes = await self.transport(to: url).outcomes(of: requests)
    for case .unreached(let reason) in outcomes { throw self.unreached(reason, url) }
    return outcomes
  }

  /// Sends a write again until no other one with its key is said to be under way.
  ///
  /// - Throws: As ``send(_:_:)``.
  func sendWhileRunning(_ key: String, _ number: Int) async throws -> CheckOutcome {
    for _ in 0..<3 {
      let outcome = try await self.send(key, number)
      guard let status = outcome.answer?.status, [409, 425].contains(status) else { return outcome }
      try await Task.sleep(for: .seconds(1))
    }
    return try await self.send(key, number)
  }

  /// The reason to end, since there is nobody.
  func unreached(_ reason: String, _ url: URL) -> ToolError {
    ToolError(.workRemains, "\(url) cannot be reached: \(reason)")
  }

  // MARK: - What is known

  /// The first write, which is sent once.
  ///
  /// - Throws: ``Refused`` if the server refuses it; as ``send(_:_:)``.
  func first() async throws -> KnownWrite {
    if let known { return known }
    let (key, number) = self.newWrite()
    let start = ContinuousClock.now
    let outcome = try await self.send(key, number)
    self.latency = (ContinuousClock.now - start) / .seconds(1)
    guard let answer = outcome.answer else {
      throw self.unreached(outcome.detail, self.target.url)
    }
    guard answer.isSuccess else {
      let hint = [401, 403].contains(answer.status) ? ": give its credential by --header" : ""
      throw Refused(
        words: "The first write was refused with \(answer.status)\(hint); so nothing can be asked.")
    }
    let write = KnownWrite(key: key, number: number, answer: answer)
    self.known = write
    return write
  }

  /// The first write and its repetition, a second later.
  ///
  /// - Throws: As ``first()``.
  func firstPair() async throws -> Pair {
    if let pair { return pair }
    let before = try await self.count()
    let first = try await self.first()
    try await Task.sleep(for: .seconds(1))
    let second = try await self.sendWhileRunning(first.key, first.number)
    let pair = Pair(
      first: first.answer, second: second, growth: try await self.growth(since: before, 1))
    self.pair = pair
    return pair
  }
}

// MARK: - Reading

extension ServerCheck {
  /// Reads.
  ///
  /// - Throws: `ToolError` if the server cannot be reached.
  func get(_ url: URL, _ headers: [CheckHeader] = []) async throws -> CheckOutcome {
    let request = CheckRequest(
      method: "GET", url: url,
      headers: self.target.headers.filter { $0.name.lowercased() != "content-type" } + headers,
      body: Data())
    return try await self.send([request])[0]
  }

  /// The count; nil if there is none.
  ///
  /// - Throws: `ToolError` if it is not at the place that the command line names.
  func count() async throws -> Int? {
    guard let (url, pointer) = self.target.count else { return nil }
    let outcome = try await self.get(url)
    guard let answer = outcome.answer else { throw self.unreached(outcome.detail, url) }
    guard answer.isSuccess else {
      throw ToolError(.usage, "\(url) has no count (\(outcome.words)); check --count-url")
    }
    guard let count = pointer.count(in: answer.json) else {
      throw ToolError(.usage, "what \(url) answers has no number there; check --count-path")
    }
    return count
  }

  /// By how much the count has grown. A copy that is read may be behind, so it is given a while.
  ///
  /// - Parameters:
  ///   - before: The count before; nil if there is none.
  ///   - expected: By how much it should have.
  /// - Throws: As ``count()``.
  func growth(since before: Int?, _ expected: Int) async throws -> Int? {
    guard let before else { return nil }
    for turn in 0..<30 {
      guard let now = try await self.count() else { return nil }
      if now - before >= expected {
        if turn == 0 { return now - before }
        self.hasLagged = true
        // What is behind may have more to come.
        try await Task.sleep(for: .seconds(1))
        return try await self.count().map { $0 - before }
      }
      try await Task.sleep(for: .milliseconds(100))
    }
    return try await self.count().map { $0 - before }
  }

  /// Whether a count may have grown so after one write: a method that replaces need not change it.
  func isOnce(_ growth: Int) -> Bool {
    growth == 1 || self.target.method != "POST" && (-1...1).contains(growth)
  }

  static func times(_ count: Int) -> String {
    switch count {
    case 0: "not at all"
    case 1: "once"
    case 2: "twice"
    default: "\(count) times"
    }
  }
}

extension CheckOutcome {
  /// What became of it, as far as that is known.
  var detail: String {
    switch self {
    case .answer(let answer): "\(answer.status)"
    case .unreached(let reason), .unanswered(let reason): reason
    }
  }
}
