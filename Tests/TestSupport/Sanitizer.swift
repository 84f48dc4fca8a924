import Foundation

/// What instruments this process.
public enum Sanitizer {
  /// Whether the address sanitizer does. It keeps freed memory for a while.
  public static let isAddress = dlsym(nil, "__asan_init") != nil

  /// Whether any does. All takes many times as long then.
  public static let isOn = Sanitizer.isAddress || dlsym(nil, "__tsan_init") != nil

  /// Why a test of memory is skipped then.
  public static let addressReason = "the address sanitizer keeps freed memory"

  /// What a program that a test starts has in its environment: it does not look for leaks either, and ends at a
  /// failed precondition at once. The thread sanitizer fails in the handler of Swift's backtraces, or does not end.
  static let environment: [String: String] = {
    let options = ProcessInfo.processInfo.environment["ASAN_OPTIONS"].map { "\($0):" } ?? ""
    let leaks = ["ASAN_OPTIONS": "\(options)detect_leaks=0"]
    return Sanitizer.isOn ? leaks.merging(["SWIFT_BACKTRACE": "enable=no"]) { $1 } : leaks
  }()
}

/// Asked by the address sanitizer before it looks for leaks at a process's end.
///
/// Turned off: it reports what XCTest leaves behind at its start, and what Swift reaches by pointers
/// with tag bits, which it cannot follow. Lifetimes are asserted by tests of their own.
@_cdecl("__lsan_is_turned_off")
public func isLeakCheckTurnedOff() -> Int32 { 1 }
