import Foundation
import Query
import TestSupport

/// A network of its own: a pair of links that are connected to one another, one with an address,
/// and no default route. It is removed with the last reference to it.
final class NetworkNamespace: Sendable {
  /// Whether this process may make one.
  static let isOffered: Bool = (try? NetworkNamespace()) != nil

  /// Why a test is skipped where it may not.
  static let reason: String = "this process may not make a network namespace with a pair of links"

  private static let lastNumber = Locked(0)

  let name: String

  /// - Throws: An error that says why one cannot be made here.
  init() throws {
    let number = Self.lastNumber.withLock { number in
      number += 1
      return number
    }
    self.name = "query-test-\(getpid())-\(number)"
    // A process of this number that crashed may have left one.
    try? Self.ip(["netns", "delete", self.name])
    try Self.ip(["netns", "add", self.name])
    // All of the object is there, so that its end removes the namespace also where this throws.
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
  func ip(_ arguments: String) throws {
    try Self.ip(["-n", self.name] + arguments.split(separator: " ").map(String.init))
  }

  func addDefaultRoute() throws { try self.ip("route add default via 192.0.2.1") }

  func removeDefaultRoute() throws { try self.ip("route delete default") }
}
