import Query
import TestSupport

/// What the queries of the document fetch from: a list of five pages, players, and a place to
/// create players at.
///
/// The pages are `previous 2`, `previous 1`, `initial`, `next 1` and `next 2`.
final class PlayersAPI: Sendable {
  /// When each call began and ended: `start initial`, `end initial`.
  let log = Recorder<String>()

  private let gates = Locked([String: Gate]())
  private let failures = Locked([String: Int]())

  /// Makes calls with a name wait at a gate from now on.
  func hold(_ name: String) -> Gate {
    let gate = Gate()
    self.gates.withLock { $0[name] = gate }
    return gate
  }

  /// Makes so many of the next calls with a name fail.
  func fail(_ name: String, count: Int = 1) {
    self.failures.withLock { $0[name] = count }
  }

  /// The names of the calls so far.
  var calls: [String] {
    self.log.elements.filter { $0.hasPrefix("start ") }.map { String($0.dropFirst(6)) }
  }

  func page(_ id: String) async throws -> PlayersPage {
    try await self.call(id)
    let ids = ["previous 2", "previous 1", "initial", "next 1", "next 2"]
    guard let index = ids.firstIndex(of: id) else { throw TestError("no page \(id)") }
    return PlayersPage(
      players: [Player(id: index, name: "Player of \(id)")],
      nextPageKey: index + 1 < ids.count ? ids[index + 1] : nil,
      previousPageKey: index > 0 ? ids[index - 1] : nil
    )
  }

  func player(_ id: Int) async throws -> Player {
    try await self.call("player \(id)")
    return Player(id: id, name: "Blob")
  }

  func createPlayer(name: String, number: Int) async throws -> Player {
    try await self.call("create \(name)")
    return Player(name: name, number: number)
  }

  private func call(_ name: String) async throws {
    self.log.append("start \(name)")
    defer { self.log.append("end \(name)") }
    try await self.gates.withLock { $0[name] }?.pass()
    let isFailing = self.failures.withLock { failures in
      guard let count = failures[name], count > 0 else { return false }
      failures[name] = count - 1
      return true
    }
    if isFailing { throw TestError(name) }
  }
}

extension QueryContext {
  var playersAPI: PlayersAPI {
    get { self[PlayersAPIKey.self] }
    set { self[PlayersAPIKey.self] = newValue }
  }

  private enum PlayersAPIKey: Key {
    static var defaultValue: PlayersAPI { PlayersAPI() }
  }

  /// A context whose queries fetch from an API.
  static func players(_ api: PlayersAPI) -> QueryContext {
    var context = QueryContext()
    context.playersAPI = api
    return context
  }
}
