import Foundation
import TestSupport
import Testing

/// Persistence §5 and §8, reliability: the power is cut at any moment of what the shipped parts do, and of
/// all that is not durable then anything can be lost: writes, sectors of writes, lengths and names.
///
/// No mutation is lost that was acknowledged, none that was settled comes back, lanes keep their order;
/// the values are those of some commit, at least of the last checkpoint that was told of; what was erased
/// is gone for good; nothing crashes, hangs, or is set aside that is not damaged.
@Suite struct PowerLossTests {
  /// So many power cuts each workload gets that are the same in each run, and so many that are not.
  private static let (usualCuts, newCuts): (UInt64, Int) =
    ProcessInfo.processInfo.environment["FULL"] == nil ? (5, 10) : (1_000, 430)

  /// What a failure has left: the record is played again, as often as it takes, with its seed as `SEED`.
  private static let kept = ProcessInfo.processInfo.environment["POWER_LOSS"]

  private static var seeds: [UInt64] {
    let environment = ProcessInfo.processInfo.environment
    if let seed = environment["SEED"].flatMap({ UInt64($0) }) { return [seed] }
    return Array(1...Self.usualCuts)
      + (0..<Self.newCuts).map { _ in UInt64.random(in: 10_000...999_999_999) }
  }

  private struct Cut {
    let seed: UInt64
    let place: Int
    var choice: PowerCut
  }

  @Test(arguments: PowerWorkload.allCases)
  func nothingIsLostThatWasPromised(_ workload: PowerWorkload) async throws {
    let root = try FastFolder()
    var place = PowerPlace(root: root.path)
    if let kept = Self.kept {
      // Of one workload.
      guard kept.hasSuffix("-\(workload.rawValue)") else { return }
      place = PowerPlace(root: kept)
    } else {
      try workload.prepare(place)
      #expect(try await workload.act(place).end == .code(0))
    }
    let record = try FileRecord(path: place.record)
    let first = record.place(after: "begin")
    let cuts = Self.seeds.map { seed in
      var choice = PowerCut(seed: seed, record)
      let place = choice.place(in: first...record.operations.count)
      return Cut(seed: seed, place: place, choice: choice)
    }
    var disk = SimulatedDisk(record)
    let launcher = PowerLauncher()
    for cut in cuts.sorted(by: { $0.place < $1.place }) {
      disk.play(to: cut.place)
      try await self.judge(cut, disk, workload, place, launcher)
    }
  }

  private func judge(
    _ cut: Cut, _ disk: SimulatedDisk, _ workload: PowerWorkload, _ place: PowerPlace,
    _ launcher: PowerLauncher
  ) async throws {
    var choice = cut.choice
    let remains = choice.remains(of: disk)
    let folder = try FastFolder()
    try remains.write(to: folder.path)
    let found = try await launcher.open(folder.path, workload, export: place.export)
    let truth = StoreTruth(
      disk.record.operations.prefix(cut.place), isFull: workload == .durable)
    let objections =
      try truth.objections(to: found) + PowerLauncher.objections(to: folder.path, found, truth)
    if objections.isEmpty { return }
    let kept = try self.keep(place, remains, cut, workload)
    Issue.record(
      """
      \(workload.rawValue), seed \(cut.seed), cut before call \(cut.place): \
      \(objections.prefix(8).joined(separator: "; ")). It can be repeated with \
      POWER_LOSS=\(kept) SEED=\(cut.seed); what the cut has left is there too.
      """)
  }

  /// Keeps what it takes to repeat a failure.
  private func keep(
    _ place: PowerPlace, _ remains: PowerCut.Remains, _ cut: Cut, _ workload: PowerWorkload
  ) throws -> String {
    if Self.kept != nil { return place.root }
    let kept = NSTemporaryDirectory() + "power-loss-\(getpid())-\(workload.rawValue)"
    let manager = FileManager.default
    if !manager.fileExists(atPath: kept) {
      try manager.createDirectory(atPath: kept, withIntermediateDirectories: true)
      for path in [place.record, place.export] where manager.fileExists(atPath: path) {
        let name = (path as NSString).lastPathComponent
        try manager.copyItem(atPath: path, toPath: "\(kept)/\(name)")
      }
    }
    let left = "\(kept)/left-\(cut.seed)"
    try manager.createDirectory(atPath: left, withIntermediateDirectories: true)
    try remains.write(to: left)
    return kept
  }

  /// The record is all that was done: played to its end it makes the files that are there.
  @Test(arguments: PowerWorkload.allCases)
  func theRecordIsWhole(_ workload: PowerWorkload) async throws {
    let root = try FastFolder()
    let place = PowerPlace(root: root.path)
    try workload.prepare(place)
    #expect(try await workload.act(place).end == .code(0))
    let record = try FileRecord(path: place.record)
    var disk = SimulatedDisk(record)
    disk.play(to: record.operations.count)
    var found = [String: [UInt8]]()
    let names = try FileManager.default.subpathsOfDirectory(atPath: place.folder)
    for name in names where !name.hasSuffix("-shm") {
      var status = stat()
      guard stat("\(place.folder)/\(name)", &status) == 0, status.st_mode & S_IFMT == S_IFREG
      else { continue }
      found[name] = [UInt8](try Data(contentsOf: URL(filePath: "\(place.folder)/\(name)")))
    }
    let played = PowerCut.everything(on: disk)
    #expect(played.keys.sorted() == found.keys.sorted())
    for (name, bytes) in found { #expect(played[name] == bytes, "\(name)") }
  }
}
