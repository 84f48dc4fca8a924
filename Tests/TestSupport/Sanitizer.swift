import Foundation

/// What instruments this process.
public enum Sanitizer {
  /// Whether the address sanitizer does. It keeps freed memory for a while, and its leak check fails
  /// a child process for what the test library left behind at its start.
  public static let isAddress = dlsym(nil, "__asan_init") != nil

  /// Why a test of memory or of a child's exit code is skipped then.
  public static let addressReason = "the address sanitizer keeps freed memory and checks for leaks"
}
