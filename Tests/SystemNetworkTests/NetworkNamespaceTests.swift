import TestSupport
import Testing

/// With links of the kernel's, in a network of their own.
@Suite(.enabled(if: NetworkNamespace.isOffered, "\(NetworkNamespace.reason)"))
struct NetworkNamespaceTests {
  @Test func aDefaultRouteThatGoesAndComesBackIsToldInOrder() async throws {
    let namespace = try NetworkNamespace()
    let watcher = try WatcherProcess(in: namespace)
    #expect(await watcher.line() == "ready")
    #expect(try await watcher.ask("subscribe") == "status disconnected")
    for _ in 0..<3 {
      try namespace.addDefaultRoute()
      #expect(await watcher.line() == "status connected")
      try namespace.removeDefaultRoute()
      #expect(await watcher.line() == "status disconnected")
    }
  }

  /// Of the routes of IPv6 that go with a link the kernel tells, and that would hide that of others it does
  /// not.
  @Test(arguments: [true, false])
  func aLinkThatGoesDownTakesTheNetworkWithItEachTime(hasIPv6: Bool) async throws {
    let namespace = try NetworkNamespace()
    if !hasIPv6 {
      let setting = "/proc/sys/net/ipv6/conf/all/disable_ipv6"
      let script = "! test -e \(setting) || echo 1 > \(setting)"
      #expect(try await namespace.start("/bin/sh", ["-c", script]).end() == .code(0))
    }
    try namespace.addDefaultRoute()
    let watcher = try WatcherProcess(in: namespace)
    #expect(await watcher.line() == "ready")
    #expect(try await watcher.ask("subscribe") == "status connected")
    for _ in 0..<2 {
      // The kernel says nothing of the route that goes.
      try namespace.ip("link set inner down")
      #expect(await watcher.line() == "status disconnected")
      try namespace.ip("link set inner up")
      try namespace.addDefaultRoute()
      #expect(await watcher.line() == "status connected")
    }
  }

  @Test func anAddressThatLeavesTakesTheNetworkWithIt() async throws {
    let namespace = try NetworkNamespace()
    try namespace.addDefaultRoute()
    let watcher = try WatcherProcess(in: namespace)
    #expect(await watcher.line() == "ready")
    #expect(try await watcher.ask("subscribe") == "status connected")
    try namespace.ip("addr delete 192.0.2.2/24 dev inner")
    #expect(await watcher.line() == "status disconnected")
  }

  @Test func aMonitorThatStartsAgainKnowsWhatHappenedMeanwhile() async throws {
    let namespace = try NetworkNamespace()
    let watcher = try WatcherProcess(in: namespace)
    #expect(await watcher.line() == "ready")
    #expect(try await watcher.ask("current") == "current disconnected")
    for _ in 0..<2 {
      #expect(try await watcher.ask("subscribe") == "status disconnected")
      #expect(try await watcher.ask("cancel") == "cancelled")
      try namespace.addDefaultRoute()
      #expect(try await watcher.ask("current") == "current connected")
      #expect(try await watcher.ask("subscribe") == "status connected")
      #expect(try await watcher.ask("cancel") == "cancelled")
      try namespace.removeDefaultRoute()
    }
  }

  @Test func aHostIsReachableWhereARouteLeadsToIt() async throws {
    let namespace = try NetworkNamespace()
    let watcher = try WatcherProcess(in: namespace)
    #expect(await watcher.line() == "ready")
    #expect(try await watcher.ask("reach http://192.0.2.1:8080/path") == "reach reachable")
    #expect(try await watcher.ask("reach https://198.51.100.1/") == "reach unreachable")
    #expect(try await watcher.ask("reach https://[2001:db8::1]/") == "reach unreachable")
    try namespace.addDefaultRoute()
    #expect(try await watcher.ask("reach https://198.51.100.1/") == "reach reachable")
    #expect(try await watcher.ask("reach mailto:nobody") == "reach unknown")
  }
}
