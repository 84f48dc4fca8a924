import Foundation
import TestSupport
import Testing

/// Reads over connections that the network has forgotten, in network namespaces of their own.
@Suite(
  .enabled(if: NetworkNamespace.isOffered, "\(NetworkNamespace.reason)"), .timeLimit(.minutes(5)))
struct LostConnectionTests {
  private static let address = "http://192.0.2.1:8080"

  /// A server, and a client that has read from it once.
  private struct World {
    let client: NetworkNamespace
    let server: NetworkNamespace
    let serving: ChildProcess
    let asking: ChildProcess
    /// The port of the client's connection.
    let port: String

    init() async throws {
      (self.client, self.server) = (try NetworkNamespace(), try NetworkNamespace())
      try self.client.connect(to: self.server)
      let worker = try ChildProcess.product("http-worker")
      self.serving = try self.server.start(worker, ["serve", "8080"])
      #expect(await self.serving.line() == "serving")
      self.asking = try self.client.start(worker, ["ask"], input: .pipe)
      #expect(await self.asking.line() == "ready")
      try self.asking.write("\(LostConnectionTests.address)/\n")
      #expect(await self.asking.line() == "answered 200")
      let line = try #require(await self.serving.line())
      self.port = line.replacingOccurrences(of: "connection ", with: "")
      #expect(await self.serving.line() == "request \(self.port)")
    }

    /// Gives the client another address in the place of its own.
    func changeAddress() throws {
      try self.client.ip("addr delete 192.0.2.2/24 dev inner")
      try self.client.ip("addr add 192.0.2.3/24 dev inner")
    }

    func ask(_ path: String) throws {
      try self.asking.write("\(LostConnectionTests.address)\(path)\n")
    }

    func end() {
      self.asking.kill()
      self.serving.kill()
    }
  }

  @Test func aConnectionIsNotUsedAgainFromAnAddressThatIsGone() async throws {
    let world = try await World()
    try world.changeAddress()
    try world.ask("/")
    #expect(await world.asking.line() == "answered 200")
    let line = try #require(await world.serving.line())
    #expect(line.hasPrefix("connection ") && line != "connection \(world.port)")
    world.end()
  }

  /// As behind a router that was restarted, or after a change to another one.
  @Test func whatIsNotAcknowledgedOverAnOldConnectionIsSentOverANewOne() async throws {
    let world = try await World()
    try world.server.ip("rule add ipproto tcp dport \(world.port) blackhole")
    try world.ask("/")
    #expect(await world.asking.line() == "answered 200")
    var lines = [String]()
    while let line = await world.serving.line() {
      lines.append(line)
      if line.hasPrefix("request "), line != "request \(world.port)" { break }
    }
    #expect(lines.contains { $0.hasPrefix("connection ") })
    world.end()
  }

  @Test func aReadWhoseAddressIsLostUnderWayFailsBeforeItsPatienceEnds() async throws {
    let world = try await World()
    try world.ask("/silent")
    #expect(await world.serving.line() == "request \(world.port)")
    try world.changeAddress()
    #expect(await world.asking.line() == "failed \(URLError.Code.networkConnectionLost.rawValue)")
    try world.ask("/")
    #expect(await world.asking.line() == "answered 200")
    world.end()
  }
}
