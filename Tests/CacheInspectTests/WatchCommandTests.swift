import Foundation
import TestSupport
import Testing

/// The tools: `watch` shows what others write, and ends with 0 when it is told to.
@Suite struct WatchCommandTests {
  @Test func changesAreShownAsTheyHappen() async throws {
    let store = try SampleStore()
    let watch = try InspectorRun.start(["watch", "--json", "--count", "5", "-s", store.path])
    #expect(await watch.errorLine()?.contains("watching") == true)
    let worker = try ChildProcess(
      ChildProcess.product("storage-worker"),
      ["write", store.path, "w", "5", "1", "20", "5"], output: .null)
    #expect(await worker.end() == .code(0))
    var identities = Set<String>()
    while let line = await watch.line() {
      let object = try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any]
      #expect(object?["kind"] as? String == "entry")
      identities.insert(object?["identity"] as? String ?? "")
    }
    #expect(identities == Set((1...5).map { "[\"notes\",\"w\",\($0)]" }))
    #expect(await watch.end() == .code(0))
  }

  @Test(arguments: [SIGINT, SIGTERM])
  func aSignalEndsItWithoutAnError(_ signal: Int32) async throws {
    let store = try SampleStore()
    let watch = try InspectorRun.start(["watch", "-s", store.path])
    #expect(await watch.errorLine()?.contains("watching") == true)
    watch.send(signal)
    #expect(await watch.end() == .code(0))
  }
}
