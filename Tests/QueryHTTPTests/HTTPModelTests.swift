import Foundation
import Query
import QuerySQLite
import TestSupport
import Testing

@testable import QueryHTTP

/// A server whose validators are forgotten, renamed, malformed, and used again: a client that asks by them
/// shows at every moment what one shows that never does.
@Suite(.serialized) struct HTTPModelTests {
  private static let walks: UInt64 =
    ProcessInfo.processInfo.environment["FULL"] == nil ? 30 : 2_000

  /// One of the two programs.
  private struct Program {
    let scratch: HTTPScratch
    let query: HTTPQuery<[Int]>
    var store: QueryStore<QueryState<[Int]?, [Int]>>

    init(_ server: ValidatingServer, _ policy: HTTPCachePolicy) throws {
      self.scratch = try HTTPScratch()
      self.query = HTTPQuery(server.url("/notes"), policy: policy, removesOnGone: true)
      self.store = self.scratch.client().store(for: self.query.persisted())
    }

    mutating func relaunch() async throws {
      try await self.scratch.relaunch()
      self.store = self.scratch.client().store(for: self.query.persisted())
    }

    var shown: String {
      let value = self.store.currentValue.map { "\($0)" } ?? "nothing"
      return "\(value) \(self.store.error.map { "\($0)" } ?? "") \(self.store.isInvalidated)"
    }
  }

  private struct Server {
    let server: ValidatingServer
    var random: SeededGenerator
    var value = 0
    var headers = ["ETag": "0"]
    var status = 200

    /// Another value, or the same, under any name that does not lie.
    mutating func change() {
      switch Int.random(in: 0..<8, using: &self.random) {
      case 0, 1, 2:
        self.value = Int.random(in: 0..<4, using: &self.random)
        self.status = 200
        self.name()
      case 3: self.name()
      case 4: self.headers["Cache-Control"] = "no-store"
      case 5: self.headers["Cache-Control"] = nil
      case 6: self.status = [200, 404, 503].randomElement(using: &self.random) ?? 200
      default: self.status = 200
      }
      self.server["/notes"] = ValidatingServer.Resource(
        "[\(self.value)]", headers: self.headers, status: self.status)
    }

    private mutating func name() {
      let cacheControl = self.headers["Cache-Control"]
      let day = self.value + 10
      switch Int.random(in: 0..<6, using: &self.random) {
      case 0: self.headers = [:]
      case 1: self.headers = ["Last-Modified": "Sun, \(day) Nov 1994 08:49:37 GMT"]
      case 2: self.headers = ["ETag": "W/\"\(self.value)\""]
      case 3: self.headers = ["ETag": "  \(self.value) \" not a tag", "Vary": "Accept"]
      case 4: self.headers = ["ETag": "\(self.value)", "Vary": "*"]
      default:
        self.headers = ["ETag": "\"\(self.value)-\(Int.random(in: 0..<3, using: &self.random))\""]
      }
      self.headers["Cache-Control"] = cacheControl
    }
  }

  @Test(arguments: SeededGenerator.seeds(walks))
  func validatorsChangeNothingThatIsShown(_ seed: UInt64) async throws {
    let server = try ValidatingServer()
    var model = Server(server: server, random: SeededGenerator(seed: seed))
    model.change()
    var one = try Program(server, .validators)
    var other = try Program(server, .none)
    var steps = [String]()
    for _ in 0..<25 {
      let step = Int.random(in: 0..<12, using: &model.random)
      steps.append("\(step)")
      switch step {
      case 0...5:
        _ = try? await one.store.fetch()
        _ = try? await other.store.fetch()
      case 6...8: model.change()
      case 9:
        try await one.relaunch()
        try await other.relaunch()
      case 10:
        let value = Bool.random(using: &model.random) ? [99] : [model.value]
        one.store.currentValue = value
        other.store.currentValue = value
      default:
        let resets = Bool.random(using: &model.random)
        for store in [one.store, other.store] {
          if resets { store.reset() } else { store.invalidate() }
        }
      }
      #expect(one.shown == other.shown, "seed \(seed), after \(steps.joined(separator: " "))")
      guard one.shown == other.shown else { break }
    }
    try await one.scratch.storage.close()
    try await other.scratch.storage.close()
  }
}
