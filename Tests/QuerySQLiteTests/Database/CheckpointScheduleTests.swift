import Foundation
import StorageTestSupport
import Testing

@testable import QuerySQLite

@Suite struct CheckpointScheduleTests {
  private let folder: TemporaryFolder
  private let start = SuspendingClock.now

  init() throws {
    self.folder = try TemporaryFolder()
    try DatabaseFiles().makeFile("\(self.folder.path)/cache.lock")
  }

  /// A schedule that expectations can change.
  private final class Writer {
    private var schedule: CheckpointSchedule

    init(_ schedule: CheckpointSchedule) { self.schedule = schedule }

    var due: SuspendingClock.Instant? { self.schedule.due }
    var pause: CheckpointSchedule.Pause? { self.schedule.pause }

    func didCommit(frames: Int, _ now: SuspendingClock.Instant) -> Bool {
      self.schedule.didCommit(frames: frames, now)
    }

    func isDue(_ now: SuspendingClock.Instant) -> Bool { self.schedule.isDue(now) }

    func didCheckpoint(
      _ outcome: CheckpointOutcome, held: Duration = .zero, _ now: SuspendingClock.Instant
    ) {
      self.schedule.didCheckpoint(outcome, held: held, now)
    }

    var frameLimit: Int { self.schedule.frameLimit }
    var limitShare: Double { self.schedule.limitShare }
  }

  /// That of one process.
  private func schedule(frameLimit: Int = 10) -> Writer {
    let pause = CheckpointPause(kind: .cache, folder: self.folder.path)
    return Writer(CheckpointSchedule(frameLimit: frameLimit, pause))
  }

  /// Room that is made is not left to the WAL, which would take all of it.
  @Test func afterAFullDiskEachCommitIsFollowedByACheckpointUntilOneHasRoom() {
    let schedule = self.schedule()
    schedule.didCheckpoint(.full, self.start)
    #expect(schedule.pause == nil)
    #expect(schedule.due == self.start + .seconds(1))
    #expect(schedule.didCommit(frames: 1, self.start))
    schedule.didCheckpoint(.full, self.start)
    #expect(schedule.didCommit(frames: 2, self.start))
    schedule.didCheckpoint(.complete, self.start)
    #expect(!schedule.didCommit(frames: 1, self.start))
  }

  @Test func aLongLogIsCopiedAtOnceAndAShortOneAfterASecond() {
    let schedule = self.schedule()
    #expect(schedule.due == nil)
    #expect(!schedule.didCommit(frames: 10, self.start))
    #expect(schedule.due == self.start + .seconds(1))
    #expect(!schedule.isDue(self.start))
    #expect(schedule.isDue(self.start + .seconds(1)))
    #expect(schedule.didCommit(frames: 11, self.start))
    schedule.didCheckpoint(.complete, self.start)
    #expect(schedule.due == nil && schedule.pause == nil)
    #expect(!schedule.didCommit(frames: 0, self.start))
    #expect(schedule.due == nil)
  }

  @Test func aSlowDiskGetsShorterLogsAndAQuickOneTheFullLengthAgain() {
    let schedule = self.schedule(frameLimit: 1_000)
    #expect(!schedule.didCommit(frames: 1_000, self.start))
    schedule.didCheckpoint(.complete, held: .milliseconds(100), self.start)
    #expect(schedule.didCommit(frames: 251, self.start))
    // As long as it should be: it stays.
    schedule.didCheckpoint(.complete, held: .milliseconds(20), self.start)
    #expect(schedule.frameLimit == 250 && schedule.limitShare == 0.25)
    schedule.didCheckpoint(.complete, held: .seconds(10), self.start)
    #expect(schedule.frameLimit == CheckpointSchedule.fewestFrames)
    for _ in 0..<20 { schedule.didCheckpoint(.complete, held: .milliseconds(1), self.start) }
    #expect(schedule.frameLimit == 1_000)
  }

  @Test func aLogIsCopiedBeforeACommitAsLongAsTheLastWouldMakeItTooLong() {
    let schedule = self.schedule(frameLimit: 1_000)
    // What another process has left says nothing about the commits of this one.
    #expect(!schedule.didCommit(frames: 600, self.start))
    #expect(!schedule.didCommit(frames: 700, self.start))
    #expect(!schedule.didCommit(frames: 800, self.start))
    #expect(!schedule.didCommit(frames: 900, self.start))
    #expect(schedule.didCommit(frames: 990, self.start))
    schedule.didCheckpoint(.complete, self.start)
    #expect(!schedule.didCommit(frames: 500, self.start))
    schedule.didCheckpoint(.complete, self.start)
    #expect(schedule.didCommit(frames: 501, self.start))
    // Another process has let the log begin anew.
    #expect(!schedule.didCommit(frames: 3, self.start))
    #expect(!schedule.didCommit(frames: 6, self.start))
  }

  @Test func aLimitThatIsLowAnywayIsNotRaised() {
    let schedule = self.schedule(frameLimit: 10)
    schedule.didCheckpoint(.complete, held: .seconds(10), self.start)
    #expect(schedule.frameLimit == 10)
    schedule.didCheckpoint(.complete, held: .zero, self.start)
    #expect(schedule.frameLimit == 10)
  }

  @Test func whereAReaderStaysThePauseDoublesUpToAMinute() throws {
    let schedule = self.schedule()
    var lengths = [Duration]()
    var now = self.start
    for _ in 0..<12 {
      #expect(schedule.didCommit(frames: 1_000, now))
      schedule.didCheckpoint(.blocked, now)
      let pause = try #require(schedule.pause)
      lengths.append(pause.length)
      #expect(schedule.due == pause.until)
      #expect(!schedule.didCommit(frames: 1_000, now), "nobody tries in between")
      #expect(!schedule.isDue(now))
      now = pause.until
      // The files' times go by another clock: there, too, the pause is over.
      self.age(by: pause.length)
    }
    let expected = (0..<10).map { Duration.milliseconds(100 << $0) } + [.seconds(60), .seconds(60)]
    #expect(lengths == expected)
    #expect(schedule.isDue(now))
    schedule.didCheckpoint(.complete, now)
    #expect(schedule.pause == nil)
    #expect(schedule.didCommit(frames: 1_000, now))
    schedule.didCheckpoint(.blocked, now)
    #expect(schedule.pause?.length == .milliseconds(100), "the next reader is another one")
  }

  @Test func anotherProcessKeepsThePauseAndIsToldOfItsEnd() {
    let first = self.schedule()
    let second = self.schedule()
    first.didCheckpoint(.blocked, self.start)
    #expect(!second.didCommit(frames: 1_000, self.start))
    #expect(second.pause?.length == .milliseconds(100))
    #expect(second.due.map { $0 > self.start } == true)
    // What two have found out at the same time is no longer pause.
    second.didCheckpoint(.blocked, self.start)
    #expect(second.pause?.length == .milliseconds(100))
    first.didCheckpoint(.complete, self.start)
    #expect(second.didCommit(frames: 1_000, self.start))
    #expect(second.pause == nil)
  }

  @Test func ofABusyOneNothingIsLearntOfReaders() {
    let schedule = self.schedule()
    schedule.didCheckpoint(.busy, self.start)
    #expect(schedule.pause == nil)
    #expect(schedule.due == self.start + .seconds(1))
  }

  @Test func withoutAFileToShareAProcessKeepsItsOwnPause() throws {
    try FileManager.default.removeItem(atPath: "\(self.folder.path)/cache.lock")
    let schedule = self.schedule()
    schedule.didCheckpoint(.blocked, self.start)
    #expect(!schedule.didCommit(frames: 1_000, self.start))
    #expect(schedule.didCommit(frames: 1_000, self.start + .seconds(1)))
    schedule.didCheckpoint(.blocked, self.start + .seconds(1))
    #expect(schedule.pause?.length == .milliseconds(200))
  }

  /// Makes the pause that is shared as old as it would be after some time.
  private func age(by duration: Duration) {
    let nanoseconds = Int64(duration / .nanoseconds(1))
    let pause = CheckpointPause(kind: .cache, folder: self.folder.path)
    _ = pause.begin(duration, now: CheckpointPause.now - nanoseconds)
  }
}
