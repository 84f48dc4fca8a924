import Foundation
// No other module of the package: that this compiles is what is tested first.
import OfflineQuery
import Testing

@Suite struct OfflineQueryTests {
  @Test func oneImportBringsAllThatAProgramNeeds() async throws {
    let folder = FileManager.default.temporaryDirectory
      .appending(path: "offline-query-\(UUID().uuidString)", directoryHint: .isDirectory)
    defer { try? FileManager.default.removeItem(at: folder) }
    let network = MockNetworkObserver(initialStatus: .disconnected)
    func launch() throws -> (SQLiteQueryStorage, QueryClient) {
      let storage = try SQLiteQueryStorage(directory: folder)
      return (
        storage,
        QueryClient(
          storage: storage, storeCreator: .default(retryLimit: 0, networkObserver: network))
      )
    }
    let notes = BlockQuery(["notes"]) { _ in ["a"] }.persisted()
    let add = BlockMutation(["add-note"]) { (text: String, _) in text.count }
      .persisted(as: "add-note")

    var (storage, client) = try launch()
    try await client.store(for: notes).fetch()
    await #expect(throws: MutationQueuedError.self) {
      try await client.store(for: add).mutate(with: "abc")
    }
    try await storage.close()

    (storage, client) = try launch()
    #expect(client.store(for: notes).currentValue == ["a"])
    network.send(status: .connected)
    let replayer = MutationReplayer(client: client)
    try replayer.register(add)
    #expect(try await replayer.replayOnce() == ReplaySummary(succeeded: 1))
    #expect(client.store(for: add).history.compactMap { try? $0.currentResult?.get() } == [3])
    try await storage.close()
  }

  @Test func theObserverOfTheSystemIsThereToo() {
    let observer: any NetworkObserver = SystemNetworkObserver.shared
    #expect(observer is SystemNetworkObserver)
  }
}
