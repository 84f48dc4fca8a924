import Foundation
import Query

/// Tells which owners have exited. Used by the thread that writes, and by no other.
final class OutboxReaper {
  private let folder: String

  /// Leases of other boots: their ends, and since when those are known, by this boot's clock.
  private var seen = [Int64: (end: Int64, since: Int64)]()

  /// - Parameter folder: The absolute path of the folder of the database.
  init(folder: String) { self.folder = OwnerFile.folder(in: folder) }

  /// Whether an owner's lock can be taken. A missing file proves nothing.
  func isGone(_ owner: String) -> Bool { OwnerFile.state(of: owner, in: self.folder) == .gone }

  /// Whether an owner's lock is held, by this process or by another.
  func isAlive(_ owner: String) -> Bool { OwnerFile.state(of: owner, in: self.folder) == .alive }

  /// How many microseconds a lease of another boot still lasts: its length, counted from when its
  /// end was last seen to change.
  func remaining(of number: Int64, endMonotonic: Int64, now: Int64, length: Int64) -> Int64 {
    if let known = self.seen[number], known.end == endMonotonic {
      return known.since.clampedSum(length).clampedDifference(now)
    }
    // More leases than can be alive at a time are not remembered.
    if self.seen.count > 1_000 { self.seen = [:] }
    self.seen[number] = (endMonotonic, now)
    return length
  }

  /// Removes the file of an owner that has exited and holds nothing.
  func remove(_ owner: String) {
    // Bytes: the lock of an owner that has exited.
    if RegularFile.isFolder(self.folder), self.isGone(owner) { unlink("\(self.folder)/\(owner)") }
  }

  /// The names of all files.
  var names: [String] {
    guard RegularFile.isFolder(self.folder) else { return [] }
    return (try? FileManager.default.contentsOfDirectory(atPath: self.folder)) ?? []
  }
}
