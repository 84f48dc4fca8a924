import Foundation

/// What the bench is told on its command line; `Tools/torture --help` describes it.
struct BenchOptions: Equatable, Sendable {
  var minutes = 1.0
  var seed = UInt64.random(in: 1...999_999_999)
  var mode = Mode.mixed
  /// The folder that holds the folders of rounds; nil: a temporary one.
  var folder: String?
  var processes = 8
  /// Whether all folders are kept.
  var isKeeping = false

  /// Something on the command line that cannot be.
  struct UsageError: Error, Hashable, CustomStringConvertible {
    let description: String
  }

  init() {}

  /// - Parameter arguments: The command line, without the program's name.
  /// - Throws: ``UsageError``.
  init(_ arguments: [String]) throws {
    var rest = arguments[...]
    while let name = rest.popFirst() {
      if name == "--keep" {
        self.isKeeping = true
        continue
      }
      guard ["--minutes", "--seed", "--mode", "--folder", "--processes"].contains(name) else {
        throw UsageError(description: "unknown argument '\(name)'")
      }
      guard let value = rest.popFirst(), try self.set(name, value) else {
        throw UsageError(description: "\(name) needs \(Self.wanted(name))")
      }
    }
  }

  private mutating func set(_ name: String, _ value: String) throws -> Bool {
    switch name {
    case "--minutes":
      guard let minutes = Double(value), minutes > 0, minutes < 100_000 else { return false }
      self.minutes = minutes
    case "--seed":
      guard let seed = UInt64(value) else { return false }
      self.seed = seed
    case "--mode":
      guard let mode = Mode(rawValue: value) else { return false }
      self.mode = mode
    case "--processes":
      guard let processes = Int(value), (3...64).contains(processes) else { return false }
      self.processes = processes
    default:
      if value.isEmpty { return false }
      self.folder = URL(filePath: value).path
    }
    return true
  }

  private static func wanted(_ name: String) -> String {
    switch name {
    case "--minutes": "a number of minutes, as 10 or 0.5"
    case "--seed": "a whole number, 0 or more"
    case "--mode": "one of \(Mode.allCases.map(\.rawValue).joined(separator: ", "))"
    case "--processes": "a number from 3 to 64"
    default: "a folder"
    }
  }
}
