import Foundation
import Query
import TestSupport
import Testing

@Suite(.warningsAreIssues) struct ClientLifetimeTests {
  @Test func storesThatAreClearedAreReleased() {
    let living = Locked(0)
    let client = QueryClient.quiet()
    for index in 0..<1_000 {
      _ = client.store(
        for: ProbeQuery(
          path: ["released", index],
          onSetup: { context in
            living.withLock { $0 += 1 }
            context.kept = ReleaseProbe { living.withLock { $0 -= 1 } }
          }
        )
      )
    }
    #expect(living.withLock { $0 } == 1_000)
    client.clearStores(matching: ["released"])
    #expect(living.withLock { $0 } == 0)
  }

  // In a process of its own, whose memory no other test takes.
  @Test(.disabled(if: Sanitizer.isOn, "a sanitizer has memory of its own, of each access"))
  func aHundredThousandStoresReturnTheirMemory() async {
    await #expect(processExitsWith: .success) {
      let client = QueryClient.quiet(.default())
      func makeAndDrop() {
        for index in 0..<100_000 { _ = client.store(for: OtherProbeQuery(path: ["many", index])) }
        #expect(client.stores(matching: ["many"]).count == 100_000)
        client.clearStores()
      }
      makeAndDrop()
      let before = try Self.residentBytes()
      makeAndDrop()
      // A leak of 50 bytes a store would be more.
      #expect(try Self.residentBytes() - before < 5_000_000)
      #expect(client.stores(matching: []).isEmpty)
    }
  }

  private static func residentBytes() throws -> Int {
    let fields = try String(contentsOfFile: "/proc/self/statm", encoding: .utf8).split(
      separator: " ")
    return try #require(Int(fields[1])) * Int(getpagesize())
  }
}
