import Glibc

/// Tells whether this process runs tests.
enum TestDetection {
  /// Checked once: a process that runs tests does so from its start.
  static let isTesting: Bool =
    Self.isTestBundle || Self.isLoaded("libTesting.so") || Self.isLoaded("libXCTest.so")

  private static var isTestBundle: Bool {
    let program = CommandLine.arguments.first ?? ""
    return program.hasSuffix(".xctest") || program.hasSuffix("swiftpm-testing-helper")
  }

  private static func isLoaded(_ library: String) -> Bool {
    guard let handle = dlopen(library, RTLD_LAZY | RTLD_NOLOAD) else { return false }
    dlclose(handle)
    return true
  }
}
