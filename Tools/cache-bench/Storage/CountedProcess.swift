import CCallCounts
import Foundation

/// A program whose frames and syncs are added to those of this process when it has ended.
final class CountedProcess {
  private let process = Process()
  private let counts: URL
  let input = Pipe()
  let output = Pipe()

  /// - Parameter name: A program that stands beside this one; nil: this one.
  init(_ name: String?, _ arguments: [String]) {
    let own = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath()
    self.process.executableURL =
      name.map { own.deletingLastPathComponent().appending(path: $0) } ?? own
    self.process.arguments = arguments
    self.process.standardInput = self.input
    self.process.standardOutput = self.output
    self.counts = FileManager.default.temporaryDirectory.appending(path: "counts-\(UUID())")
    var environment = ProcessInfo.processInfo.environment
    environment[CALL_COUNTS_VARIABLE] = self.counts.path
    self.process.environment = environment
  }

  var processIdentifier: Int32 { self.process.processIdentifier }

  /// Starts it.
  ///
  /// - Throws: What `Process` throws.
  func run() throws { try self.process.run() }

  /// Waits for its end, and adds its counts.
  ///
  /// - Returns: Its status.
  /// - Throws: ``CheckFailure`` if it has not counted.
  func waitForEnd() throws -> Int32 {
    self.process.waitUntilExit()
    defer { try? FileManager.default.removeItem(at: self.counts) }
    guard let data = try? Data(contentsOf: self.counts), data.count == 16 else {
      throw CheckFailure(description: "a program has not counted its calls")
    }
    let numbers = data.withUnsafeBytes { bytes in
      [0, 8].map { Double(bytes.loadUnaligned(fromByteOffset: $0, as: Int.self)) }
    }
    Expense.add(of: Expense(frames: numbers[1], syncs: numbers[0]))
    return self.process.terminationStatus
  }
}
