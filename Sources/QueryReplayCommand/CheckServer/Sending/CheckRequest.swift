import Foundation

/// A request to a server that is checked.
struct CheckRequest: Sendable {
  var method: String
  var url: URL
  /// In the order in which they are sent.
  var headers: [CheckHeader]
  var body: Data
}

/// A header of a request.
struct CheckHeader: Hashable, Sendable {
  var name: String
  var value: String

  init(_ name: String, _ value: String) { (self.name, self.value) = (name, value) }

  /// - Parameter line: As `Name: value`.
  /// - Returns: nil if it is no header.
  init?(line: String) {
    // By scalars: a mark at the beginning of a value would make one character of it and the colon.
    let parts = line.unicodeScalars.split(
      separator: ":", maxSplits: 1, omittingEmptySubsequences: false
    ).map { String($0) }
    let token = { (byte: UInt8) in byte > 0x20 && byte < 0x7f }
    guard parts.count == 2, !parts[0].isEmpty, parts[0].utf8.allSatisfy(token) else { return nil }
    let value = parts[1].trimmingCharacters(in: .whitespaces)
    guard value.utf8.allSatisfy({ $0 >= 0x20 && $0 != 0x7f || $0 == 0x09 }) else { return nil }
    self.init(parts[0], value)
  }
}

/// What a server has answered.
struct CheckAnswer: Sendable {
  var status: Int
  /// By their names in lower case.
  var headers: [String: String]
  var body: Data

  var isSuccess: Bool { (200..<300).contains(self.status) }

  /// The body as JSON; nil if it is none.
  var json: Any? { try? JSONSerialization.jsonObject(with: self.body, options: .fragmentsAllowed) }

  /// Whether another answer says the same: a status of the same class, and the same body, whose JSON
  /// may have been written anew.
  func isSame(as other: CheckAnswer) -> Bool {
    self.status / 100 == other.status / 100 && self.hasSameBody(as: other)
  }

  /// Whether another answer has the same body.
  func hasSameBody(as other: CheckAnswer) -> Bool {
    if self.body == other.body { return true }
    guard let mine = self.json as? NSObject, let others = other.json as? NSObject else {
      return false
    }
    return mine == others
  }

  /// Whether something in it is called so: a value of its JSON, or a part of its text.
  func mentions(_ identity: String) -> Bool {
    func isIn(_ json: Any) -> Bool {
      switch json {
      case let object as [String: Any]: object.values.contains(where: isIn)
      case let list as [Any]: list.contains(where: isIn)
      default: "\(json)" == identity
      }
    }
    if let json { return isIn(json) }
    return String(decoding: self.body, as: UTF8.self).contains(identity)
  }

  /// How the server calls what it has made: a member of the body, or where it says that it is.
  var identity: String? {
    let object = self.json as? [String: Any]
    for name in ["id", "_id", "uuid", "ID"] {
      if let value = object?[name] { return "\(value)" }
    }
    return self.headers["location"]
  }
}

/// What became of a request.
enum CheckOutcome: Sendable {
  case answer(CheckAnswer)
  /// Nothing of it was sent.
  case unreached(String)
  /// It was sent, and no answer came, for this reason.
  case unanswered(String)

  var answer: CheckAnswer? {
    if case .answer(let answer) = self { return answer }
    return nil
  }

  /// As in a sentence.
  var words: String {
    switch self {
    case .answer(let answer): "\(answer.status)"
    case .unreached: "not reached"
    case .unanswered: "no answer"
    }
  }
}

/// Sends requests in ways in which a client of HTTP does not.
protocol CheckTransport: Sendable {
  /// Sends requests at one moment, as far as that is possible, and waits for all answers.
  ///
  /// - Returns: What became of each, in their order.
  func outcomes(of requests: [CheckRequest]) async -> [CheckOutcome]

  /// Sends a request, and closes the connection before any of the answer is read.
  ///
  /// - Returns: nil if it was sent; else why not.
  func abandon(_ request: CheckRequest) async -> String?
}

/// Runs what blocks on a thread of its own.
func onThread<Result: Sendable>(_ body: @escaping @Sendable () -> Result) async -> Result {
  await withCheckedContinuation { continuation in
    Thread.detachNewThread { continuation.resume(returning: body()) }
  }
}
