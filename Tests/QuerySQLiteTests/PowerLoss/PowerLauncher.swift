import Foundation
import StorageTestSupport
import TestSupport

/// A process that launches on what power cuts have left, one after the other; a new one after a
/// crash.
final class PowerLauncher {
  private var child: ChildProcess?

  /// Launches twice on the store of a folder.
  ///
  /// - Parameters:
  ///   - folder: What the power cut has left.
  ///   - workload: What was done.
  ///   - export: What to import again, if the workload imports.
  /// - Returns: What was found.
  func open(_ folder: String, _ workload: PowerWorkload, export: String) async throws -> FoundStore
  {
    let child =
      try self.child
      ?? ChildProcess(ChildProcess.product("power-worker"), ["open"], input: .pipe)
    self.child = child
    let words =
      [
        PowerPlace.store(in: folder), "\(workload.valueCount)",
        workload == .importing ? export : "-",
      ] + workload.accounts
    try child.write(words.joined(separator: " ") + "\n")
    var found = FoundStore()
    while !found.isWhole, let line = await child.line() { found.add(line) }
    if !found.isWhole {
      found.add("the process has ended with \(await child.end())")
      self.child = nil
    }
    return found
  }

  /// What is wrong with the folder itself after the launches, in words.
  static func objections(
    to folder: String, _ found: FoundStore, _ truth: StoreTruth
  ) throws -> [String] {
    let store = PowerPlace.store(in: folder)
    let names = try FileManager.default.contentsOfDirectory(atPath: store)
    var objections = [String]()
    for kind in ["cache.sqlite", "mutations.sqlite"] {
      let count = names.count {
        $0.hasPrefix("\(kind).corrupt-") && !$0.hasSuffix("-wal") && !$0.hasSuffix("-shm")
      }
      if count > (truth.isDamaged ? 1 : 0) { objections.append("\(kind) was set aside: \(names)") }
    }
    let texts = truth.forgottenTexts(in: found)
    for name in names where !name.hasSuffix("-shm") && !texts.isEmpty {
      guard let bytes = FileManager.default.contents(atPath: "\(store)/\(name)") else { continue }
      for text in texts where bytes.range(of: Data(text.utf8)) != nil {
        objections.append("\(name) holds \(text) after it was erased")
      }
    }
    return objections
  }
}
