import Foundation
import TestSupport
import Testing

/// A workload of a `power-worker`, with what it takes to judge it.
enum PowerWorkload: String, CaseIterable, CustomTestStringConvertible {
  case create, commits, durable, salvage, erase, vacuum, steps
  case importing = "import"

  var testDescription: String { self.rawValue }

  /// The accounts that it has.
  var accounts: [String] {
    switch self {
    case .commits, .durable: ["main", "other"]
    case .erase: ["main", "gone"]
    case .create, .salvage, .vacuum, .steps, .importing: ["main"]
    }
  }

  /// How many values an account has at most.
  var valueCount: Int { [.vacuum, .steps].contains(self) ? 12 : 4 }

  /// Makes what is there before the workload.
  func prepare(_ place: PowerPlace) throws {
    try mkdirOrThrow(place.folder)
    try ChildProcess.run(
      try ChildProcess.product("power-worker"),
      ["prepare", self.rawValue, place.folder, place.record])
  }

  /// Runs the workload.
  ///
  /// - Parameter nth: The call before which it is killed; 0: none.
  /// - Returns: How it ended, and how many calls there were if it was not killed.
  func act(
    _ place: PowerPlace, killedBefore nth: Int = 0
  ) async throws -> (end: ChildProcess.End, calls: Int?) {
    let child = try ChildProcess(
      ChildProcess.product("power-worker"),
      ["act", self.rawValue, place.folder, place.record, "\(nth)"])
    let calls = await child.line().flatMap { Int($0) }
    return (await child.end(), calls)
  }

  private func mkdirOrThrow(_ path: String) throws {
    guard mkdir(path, 0o700) == 0 else { throw POSIXError(.init(rawValue: errno) ?? .EIO) }
  }
}

/// The folder in which a workload works.
struct PowerPlace {
  let root: String

  /// What is recorded.
  var folder: String { "\(self.root)/files" }
  var record: String { "\(self.root)/record" }

  /// What is imported.
  var export: String { "\(self.folder).export" }

  /// The folder of the storage, in what is recorded or in a copy of it.
  static func store(in folder: String) -> String { "\(folder)/data/store" }
}
