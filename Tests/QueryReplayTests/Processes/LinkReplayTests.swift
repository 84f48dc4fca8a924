import Foundation
import TestSupport
import Testing

/// An application that is killed while it is offline sends what it has saved when the link is back.
@Suite(.enabled(if: NetworkNamespace.isOffered, "\(NetworkNamespace.reason)"))
struct LinkReplayTests {
  @Test func whatWasSavedOfflineBeforeAKillIsSentOnceAndInOrderWhenTheLinkComesUp() async throws {
    let (client, server) = (try NetworkNamespace(), try NetworkNamespace())
    try client.connect(to: server)
    let folder = try ScratchFolder()
    let serving = try server.start(ChildProcess.product("replay-worker"), ["serve", "8080"])
    #expect(await serving.line() == "serving")
    try client.ip("link set inner down")

    let application = try ChildProcess.product("offline-notes")
    let first = try client.start(application, [folder.path, "one", "two", "three"])
    var saved = [String]()
    while let line = await first.line(), line != "replaying" {
      saved.append(line.replacingOccurrences(of: "saved ", with: ""))
    }
    first.kill()
    _ = await first.end()
    #expect(saved.count == 3)

    let second = try client.start(application, [folder.path])
    #expect(await second.line() == "replaying")
    try client.ip("link set inner up")
    try client.addDefaultRoute()
    let linkIsUp = Date().timeIntervalSince1970 * 1_000
    var received = [(key: String, time: Double)]()
    while received.count < 3, let line = await serving.line() {
      let words = line.split(separator: " ")
      // A probe that was given up as the link came up may arrive, too: the server knows it by its key.
      if received.contains(where: { $0.key == words[1] }) { continue }
      received.append((String(words[1]), Double(words[2]) ?? 0))
    }
    #expect(received.map(\.key) == saved)
    // For people: no test asserts a time.
    let last = received.last.map { $0.time - linkIsUp } ?? .infinity
    print("drained \(last) ms after the link came up")
    second.kill()
    serving.kill()
  }

  @Test func serverOfTheSameSiteIsSentToWithoutAWayToEverywhere() async throws {
    let (client, server) = (try NetworkNamespace(), try NetworkNamespace())
    try client.connect(to: server)
    let folder = try ScratchFolder()
    let serving = try server.start(ChildProcess.product("replay-worker"), ["serve", "8080"])
    #expect(await serving.line() == "serving")
    let application = try client.start(
      ChildProcess.product("offline-notes"), [folder.path, "one", "two", "three"])
    var saved = [String]()
    while let line = await application.line(), line != "replaying" {
      saved.append(line.replacingOccurrences(of: "saved ", with: ""))
    }
    #expect(saved.count == 3, "the system says that there is no network")
    var received = [String]()
    while received.count < 3, let line = await serving.line() {
      received.append(String(line.split(separator: " ")[1]))
    }
    #expect(received == saved)
    application.kill()
    serving.kill()
  }
}
