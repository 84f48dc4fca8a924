import StorageTestSupport
import TestSupport
import Testing

@testable import QuerySQLite

@Suite struct OutboxReaperTests {
  private let folder: TemporaryFolder
  private let reaper: OutboxReaper

  init() throws {
    self.folder = try TemporaryFolder()
    self.reaper = OutboxReaper(folder: self.folder.path)
  }

  private func remaining(of number: Int64, end: Int64 = 7, now: Int64) -> Int64 {
    self.reaper.remaining(of: number, endMonotonic: end, now: now, length: 60)
  }

  /// Of each of many: all are looked at in turn.
  @Test func leasesOfAnotherBootLastAsLongAsALeaseFromWhenTheyAreFirstSeen() {
    for now in [100, 130, 160, 161] as [Int64] {
      for number in 0..<500 as Range<Int64> {
        #expect(self.remaining(of: number, now: now) == 160 - now)
      }
    }
  }

  @Test func oneThatWasProlongedBeginsAnew() {
    #expect(self.remaining(of: 1, now: 100) == 60)
    #expect(self.remaining(of: 1, end: 8, now: 150) == 60)
    #expect(self.remaining(of: 1, end: 8, now: 200) == 10)
  }
}
