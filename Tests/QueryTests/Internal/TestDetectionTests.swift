import Glibc
import Testing

@testable import Query

@Suite struct TestDetectionTests {
  @Test func aProcessThatRunsTestsIsRecognised() { #expect(TestDetection.isTesting) }

  @Test(arguments: [
    ("libTesting.so", TestDetection.testing), ("libXCTest.so", TestDetection.xcTest),
  ])
  func eitherLibraryIsKnownByItsSymbol(_ library: String, _ symbol: String) throws {
    // Both are in the toolchain, and loaded here or loadable.
    let handle = try #require(dlopen(library, RTLD_LAZY | RTLD_GLOBAL))
    defer { dlclose(handle) }
    #expect(TestDetection.hasSymbol(symbol))
    #expect(!TestDetection.hasSymbol(symbol + "x"))
  }
}
