import Foundation
import StorageTestSupport
import Testing

@testable import QuerySQLite

@Suite struct CheckpointPauseTests {
  private let folder: TemporaryFolder
  private let pause: CheckpointPause
  private let now: Int64 = 1_700_000_000_000_000_000

  init() throws {
    self.folder = try TemporaryFolder()
    self.pause = CheckpointPause(kind: .cache, folder: self.folder.path)
  }

  private func makeFile() throws { try DatabaseFiles().makeFile(self.pause.path) }

  private func seconds(_ count: Int64) -> Int64 { self.now + count * 1_000_000_000 }

  @Test func withoutAFileNothingIsKnown() {
    #expect(self.pause.read() == nil)
    #expect(!self.pause.begin(.seconds(1)))
  }

  @Test func aFileThatWasJustMadeHasNone() throws {
    try self.makeFile()
    #expect(self.pause.read() == CheckpointPause.Standing.none)
    let lock = FileLock(kind: .cache, folder: self.folder.path)
    try lock.lockShared()
    #expect(self.pause.read() == CheckpointPause.Standing.none)
  }

  @Test func onePauseIsKnownToAllUntilItEnds() throws {
    try self.makeFile()
    #expect(self.pause.begin(.seconds(8), now: self.now))
    let other = CheckpointPause(kind: .cache, folder: self.folder.path)
    #expect(other.read(now: self.seconds(3)) == .init(remaining: .seconds(5), length: .seconds(8)))
    // What was learnt of the reader is remembered for as long again.
    #expect(other.read(now: self.seconds(9)) == .init(remaining: .zero, length: .seconds(8)))
    #expect(other.read(now: self.seconds(16)) == CheckpointPause.Standing.none)
    other.end(now: self.seconds(3))
    #expect(self.pause.read(now: self.seconds(3)) == CheckpointPause.Standing.none)
  }

  @Test func aClockThatIsSetEndsIt() throws {
    try self.makeFile()
    #expect(self.pause.begin(.seconds(8), now: self.now))
    #expect(self.pause.read(now: self.seconds(-1)) == CheckpointPause.Standing.none)
    #expect(self.pause.read(now: self.seconds(100_000)) == CheckpointPause.Standing.none)
  }

  @Test func noneIsLongerThanAMinute() throws {
    try self.makeFile()
    #expect(self.pause.begin(.seconds(600), now: self.now))
    #expect(self.pause.read(now: self.now)?.length == .seconds(60))
    // Times that another program has set.
    var times = [timespec(tv_sec: 0, tv_nsec: 0), timespec(tv_sec: 4_000_000_000, tv_nsec: 0)]
    #expect(utimensat(AT_FDCWD, self.pause.path, &times, 0) == 0)
    #expect(self.pause.read() == CheckpointPause.Standing.none)
  }
}
