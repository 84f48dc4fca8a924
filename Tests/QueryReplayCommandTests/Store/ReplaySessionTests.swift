import Foundation
import TestSupport
import Testing

/// How a store is found.
struct ReplaySessionTests {
  @Test func aStoreThatIsNotThereEndsWith66AndIsNotMade() async throws {
    let store = try ReplayStore()
    for command in ["status", "dead", "pause", "resume"] {
      let run = try await ToolRun(command, on: store)
      #expect(run.end == .code(66))
      #expect(run.errors.count == 1)
    }
    #expect(try FileManager.default.contentsOfDirectory(atPath: store.path) == [])
    let run = try await ToolRun(["status", "--store", "\(store.path)/deeper"])
    #expect(run.end == .code(66))
  }

  @Test func anApplicationsStoreIsBelowTheUsersData() async throws {
    let store = try ReplayStore()
    let id = try await store.addOther()
    let data = try ReplayStore()
    try FileManager.default.moveItem(
      at: store.folder, to: data.folder.appending(path: "org.example.notes"))
    let run = try await ToolRun(
      ["status", "--application", "org.example.notes", "--json"],
      environment: ["XDG_DATA_HOME": data.path, "XDG_CACHE_HOME": data.path])
    #expect(run.end == .code(0))
    let others = try run.objects().first?["others"] as? [[String: Any]]
    #expect(others?.first?["application"] as? String == "org.example.notes")
    let dead = try await ToolRun(
      ["cancel", "-a", "org.example.notes", id.uuidString],
      environment: ["XDG_DATA_HOME": data.path, "XDG_CACHE_HOME": data.path])
    #expect(dead.lines == ["cancelled \(id.uuidString.lowercased()) create-note"])
  }

  @Test func anIdentifierThatIsNoNameOfAFolderEndsWith64() async throws {
    let run = try await ToolRun(["status", "--application", "../notes"])
    #expect(run.end == .code(64))
  }
}
