import Foundation
import Query

/// A network of its own: a pair of links that are connected to one another, one with an address,
/// and no default route. It is removed with the last reference to it.
public final class NetworkNamespace: Sendable {
  /// Whether this process may make one.
  public static let isOffered: Bool = (try? NetworkNamespace()) != nil

  /// Why a test is skipped if this process may not make one.
  public static let reason: String =
    "this process may not make a network namespace with a pair of links"

  private static let lastNumber = Locked(0)

  /// What `ip` knows it as.
  public let name: String

  /// - Throws: An error that says why one cannot be made here.
  public init() throws {
    let number = Self.lastNumber.withLock { number in
      number += 1
      return number
    }
    self.name = "query-test-\(getpid())-\(number)"
    // A process of this number that crashed may have left one.
    try? Self.ip(["netns", "delete", self.name])
    try Self.ip(["netns", "add", self.name])
    // The object is complete, so that its end removes the namespace even if this throws.
    try self.ip("link add name inner type veth peer name outer")
    try self.ip("link set lo up")
    try self.ip("link set outer up")
    try self.ip("link set inner up")
    try self.ip("addr add 192.0.2.2/24 dev inner")
  }

  deinit { try? Self.ip(["netns", "delete", self.name]) }

  private static func ip(_ arguments: [String]) throws {
    guard let path = ChildProcess.system("ip") else { throw TestError("there is no ip") }
    try ChildProcess.run(path, arguments)
  }

  /// Runs `ip` in the namespace.
  public func ip(_ arguments: String) throws {
    try Self.ip(["-n", self.name] + arguments.split(separator: " ").map(String.init))
  }

  /// Makes the other end of the link the way to everywhere.
  public func addDefaultRoute() throws { try self.ip("route add default via 192.0.2.1") }

  /// Leaves only the link's own network.
  public func removeDefaultRoute() throws { try self.ip("route delete default") }

  /// Moves the end of the link that has no address into another namespace, as `192.0.2.1`, in the place
  /// of the link that there is.
  public func connect(to other: NetworkNamespace) throws {
    try other.ip("link delete inner")
    try self.ip("link set outer netns \(other.name) name peer")
    try other.ip("addr add 192.0.2.1/24 dev peer")
    try other.ip("link set peer up")
  }

  /// Starts a program in it, with the links of the kernel as what tells of the network: the system's
  /// NetworkManager knows nothing of the namespace.
  public func start(
    _ executable: String,
    _ arguments: [String] = [],
    input: ChildProcess.Stream = .null
  ) throws -> ChildProcess {
    guard let ip = ChildProcess.system("ip") else { throw TestError("there is no ip") }
    return try ChildProcess(
      ip, ["netns", "exec", self.name, executable] + arguments,
      environment: ["GIO_USE_NETWORK_MONITOR": "netlink"], input: input)
  }
}
