import Foundation

/// Programs that a test runs to their end.
enum Command {
  /// Where a program is, or nil.
  static func path(of program: String) -> String? {
    ["/usr/sbin", "/sbin", "/usr/bin", "/bin"].map { "\($0)/\(program)" }
      .first { FileManager.default.isExecutableFile(atPath: $0) }
  }

  /// Runs `ip` with arguments.
  ///
  /// - Throws: ``Failure`` with what it wrote, where it fails or is not there.
  static func ip(_ arguments: [String]) throws {
    guard let path = Self.path(of: "ip") else { throw Failure(text: "there is no ip") }
    let process = Process()
    process.executableURL = URL(filePath: path)
    process.arguments = arguments
    process.standardInput = FileHandle.nullDevice
    let pipe = Pipe()
    process.standardOutput = pipe
    process.standardError = pipe
    try process.run()
    let output = pipe.fileHandleForReading.readDataToEndOfFile()
    process.waitUntilExit()
    guard process.terminationReason == .exit, process.terminationStatus == 0 else {
      let text = String(decoding: output, as: UTF8.self)
      throw Failure(text: "ip \(arguments.joined(separator: " ")): \(text)")
    }
  }

  struct Failure: Error, CustomStringConvertible {
    let text: String
    var description: String { self.text }
  }
}
