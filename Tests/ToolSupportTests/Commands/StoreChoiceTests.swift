import Foundation
import Testing
import ToolSupport

struct StoreChoiceTests {
  @Test func aStoreIsNamedByItsFolderOrItsApplication() throws {
    let folder = try StoreChoice(SampleTool.parse("list", "--store", "/tmp/a b/"))
    #expect("\(folder)" == "/tmp/a b/")
    let application = try StoreChoice(SampleTool.parse("list", "-a", "org.example.notes"))
    #expect(application == .application("org.example.notes"))
    guard case .directory(let url) = try StoreChoice(SampleTool.parse("list", "-s", "here")) else {
      Issue.record("it is a folder")
      return
    }
    #expect(url.path().hasPrefix("/"), "a relative one counts from the working folder")
  }

  @Test func oneOfBothIsNeeded() throws {
    #expect(
      throws: UsageError("name the store: --store DIR or --application ID", path: ["list"])
    ) { try StoreChoice(SampleTool.parse("list")) }
    #expect(
      throws: UsageError("give --store or --application, not both", path: ["list"])
    ) { try StoreChoice(SampleTool.parse("list", "-s", "/tmp", "-a", "x")) }
  }
}
