import StorageTestSupport
import Testing

@testable import QuerySQLite

@Suite struct WriteHoldsTests {
  @Test func afterALongHoldOthersGetTheirTurn() {
    var holds = WriteHolds()
    #expect(holds.pause() == .zero)
    holds.didHold(since: .now - WriteHolds.long)
    #expect(holds.longest >= WriteHolds.long)
    let now = SuspendingClock.now
    #expect(holds.pause(now) <= LockWait.longestSleep)
    #expect(holds.pause(now - .seconds(1)) > LockWait.longestSleep)
    #expect(holds.pause(now + .seconds(1)) == .zero)
    holds.didHold(since: .now)
    #expect(holds.longest >= WriteHolds.long)
  }

  @Test func othersGetTheirTurnOnlyIfThereMayBeAny() throws {
    let folder = try TemporaryFolder()
    let connection = try SQLiteConnection.scratch(in: folder)
    var asked = 0
    connection.isAlone = {
      asked += 1
      return true
    }
    connection.writeHolds = WriteHolds()
    try connection.write { try connection.execute(Scratch.insert, "a") }
    #expect(asked == 0)
    connection.writeHolds.didHold(since: .now - WriteHolds.long)
    try connection.write { try connection.execute(Scratch.insert, "b") }
    #expect(asked == 1)
    connection.letOthersWrite()
    #expect(asked == 2)
  }

  @Test func aTransactionThatWritesIsCountedAndOneThatReadsIsNot() throws {
    let folder = try TemporaryFolder()
    let connection = try SQLiteConnection.scratch(in: folder)
    connection.writeHolds = WriteHolds()
    try connection.read { _ = try connection.texts() }
    #expect(connection.writeHolds.longest == .zero)
    try connection.write { try connection.execute(Scratch.insert, "a") }
    #expect(connection.writeHolds.longest > .zero)
  }
}
