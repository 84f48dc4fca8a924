import Foundation
import TestSupport
import Testing

/// What takes more than one commit is killed before each call that changes a file: the next launch does
/// it again to its end, with all rows that are sound, and the one after it finds nothing left to do.
@Suite struct KilledAtEachCallTests {
  private static let isFull = ProcessInfo.processInfo.environment["FULL"] != nil

  /// How many calls are tried in the ordinary run: of those that make something durable or change a
  /// name, and of all others.
  private static let (turningCalls, otherCalls) = (7, 3)

  private static var seed: UInt64 {
    ProcessInfo.processInfo.environment["SEED"].flatMap { UInt64($0) }
      ?? UInt64.random(in: 1...999_999)
  }

  @Test(arguments: [PowerWorkload.create, .salvage, .erase, .importing, .vacuum, .steps])
  func theNextLaunchDoesItToItsEnd(_ workload: PowerWorkload) async throws {
    let root = try FastFolder()
    let template = PowerPlace(root: root.path)
    try workload.prepare(template)
    let launcher = PowerLauncher()
    let seed = Self.seed
    for nth in try await Self.calls(of: workload, template, seed) {
      let copy = try FastFolder()
      let place = PowerPlace(root: copy.path)
      try FolderContents.copy(root.path, to: copy.path)
      let end = try await workload.act(place, killedBefore: nth).end
      // Threads take turns, so that there may be a few calls less than in the run that was counted.
      #expect(end == .signal(SIGKILL) || end == .code(0))
      let found = try await launcher.open(place.folder, workload, export: template.export)
      let truth = StoreTruth(try FileRecord(path: place.record).operations, isFull: false)
      let objections =
        try truth.objections(to: found) + PowerLauncher.objections(to: place.folder, found, truth)
      #expect(
        objections.isEmpty, "\(workload.rawValue), seed \(seed), killed before call \(nth)")
    }
  }

  /// Counts the calls of a run, and chooses some.
  private static func calls(
    of workload: PowerWorkload, _ template: PowerPlace, _ seed: UInt64
  ) async throws -> [Int] {
    let copy = try FastFolder()
    let place = PowerPlace(root: copy.path)
    try FolderContents.copy(template.root, to: copy.path)
    let count = try #require(try await workload.act(place).calls)
    if Self.isFull { return Array(1...count) }
    let record = try FileRecord(path: place.record)
    let calls = record.operations[record.place(after: "begin")...].filter { $0.kind != .mark }
    var generator = SeededGenerator(seed: seed)
    let numbered = Array(calls.enumerated()).shuffled(using: &generator)
    let turning = numbered.filter(\.element.kind.isTurningPoint).prefix(Self.turningCalls)
    let other = numbered.filter { !$0.element.kind.isTurningPoint }.prefix(Self.otherCalls)
    return (turning + other).map { $0.offset + 1 }.sorted()
  }
}
