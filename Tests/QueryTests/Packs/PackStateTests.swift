import Query
import Testing

@Suite struct PackStateTests {
  private static let full = StorageError(operation: "write", code: .full, message: "no room")

  /// A program prints it to a person or into a log.
  @Test(arguments: [
    (PackState.fetching, "fetching"), (.waiting(.network), "waiting for the network"),
    (.waiting(.others), "waiting for another process or client"),
    (.waiting(.storage(Self.full)), "waiting for the storage: \(Self.full)"),
    (.stopped(.gone(pack: "a")), "stopped: \(PackError.gone(pack: "a"))"),
  ])
  func aStateIsWords(_ state: PackState, _ words: String) {
    #expect("\(state)" == words)
  }
}
