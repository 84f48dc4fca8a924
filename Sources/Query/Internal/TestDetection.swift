import Glibc

/// Tells whether this process runs tests.
enum TestDetection {
  /// Checked once: a process that runs tests does so from its start.
  static let isTesting: Bool =
    Self.isTestBundle || Self.hasSymbol(Self.testing) || Self.hasSymbol(Self.xcTest)

  private static var isTestBundle: Bool {
    let program = CommandLine.arguments.first ?? ""
    return program.hasSuffix(".xctest") || program.hasSuffix("swiftpm-testing-helper")
  }

  /// By what a program runs the tests of Swift Testing (its `ABI.v0.entryPoint`).
  static let testing = "swt_abiv0_getEntryPoint"
  /// The class `XCTestCase`.
  static let xcTest = "$s6XCTest0A4CaseCMn"

  /// Whether a library that the process has loaded has this symbol. To ask for the library by its name
  /// would look for its file in each folder of the search path, in every program that runs no tests.
  static func hasSymbol(_ name: String) -> Bool { dlsym(nil, name) != nil }
}
