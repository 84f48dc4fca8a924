public import Foundation
import Query

/// A server of texts that knows them again by validators, on the loopback interface, and counts the bytes of
/// its answers.
public final class ValidatingServer: Sendable {
  /// A text, and what the server says with it.
  public struct Resource: Sendable {
    public var body: String
    public var headers: [String: String]
    /// Instead of 200; the headers go with it.
    public var status: Int

    public init(_ body: String, headers: [String: String] = [:], status: Int = 200) {
      self.body = body
      self.headers = headers
      self.status = status
    }
  }

  private let resources: Locked<[String: Resource]>
  private let server: LoopbackServer
  /// How many bytes the answers had, with their headers.
  public var sentBytes: Int { self.server.sentBytes }
  /// The status of each answer, with its path: `304 /notes`.
  public let answers = Recorder<String>()

  /// Starts a server.
  ///
  /// - Parameters:
  ///   - resources: What it has, by their paths with their queries.
  ///   - keepsConnections: As of ``LoopbackServer``.
  /// - Throws: `POSIXError` if no socket can be opened.
  public init(_ resources: [String: Resource] = [:], keepsConnections: Bool = false) throws {
    let held = Locked(resources)
    self.resources = held
    let answers = self.answers
    self.server = try LoopbackServer(keepsConnections: keepsConnections) { request, _ in
      let path = String(request.line.split(separator: " ")[1])
      let answer = Self.answer(to: request, held.withLock { $0[path] })
      if case .status(let status, _, _) = answer { answers.append("\(status) \(path)") }
      return answer
    }
  }

  /// The URL of a path.
  public func url(_ path: String) -> URL {
    URL(string: self.server.root + path) ?? self.server.url
  }

  /// Its address, without a slash at the end.
  public var root: String { self.server.root }
  /// What has arrived.
  public var requests: Recorder<ReceivedRequest> { self.server.requests }

  public subscript(path: String) -> Resource? {
    get { self.resources.withLock { $0[path] } }
    set { self.resources.withLock { $0[path] = newValue } }
  }

  private static func answer(
    to request: ReceivedRequest, _ resource: Resource?
  ) -> LoopbackServer.Answer {
    guard let resource else { return .status(404) }
    let etag = resource.headers["ETag"]
    let asked = request.headers["if-none-match"]
    let isKnown =
      if let asked {
        asked == etag
      } else if let since = request.headers["if-modified-since"] {
        since == resource.headers["Last-Modified"]
      } else {
        false
      }
    if resource.status == 200, isKnown {
      return .status(304, headers: resource.headers)
    }
    return .status(resource.status, headers: resource.headers, body: resource.body)
  }
}
