import TestSupport
import Testing

/// What a program that links the engine and the replayer loads.
@Suite struct LoadedLibrariesTests {
  @Test func neitherRequestsOfHTTPNorICUAreLoaded() async throws {
    let child = try ChildProcess(ChildProcess.product("library-lister"))
    var names = [String]()
    for await line in child.lines { names.append(line) }
    #expect(await child.end() == .code(0))
    #expect(names.contains { $0.hasPrefix("libFoundationEssentials") })
    for other in ["libFoundationNetworking", "libcurl", "lib_FoundationICU", "libFoundation."] {
      #expect(!names.contains { $0.hasPrefix(other) }, "\(names)")
    }
  }
}
