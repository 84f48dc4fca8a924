import Foundation
import Query
import StorageTestSupport
import Testing

@testable import QuerySQLite

@Suite struct ChangeWatchTests {
  private let folder: TemporaryFolder

  init() throws { self.folder = try TemporaryFolder() }

  private func watch() async throws -> ChangeWatch { try await Self.watch(self.folder.path) }

  /// A user has 128 watches, which the storages of other tests may use up at times.
  private static func watch(_ path: String) async throws -> ChangeWatch {
    while true {
      if let watch = ChangeWatch(kind: .cache, folder: path) { return watch }
      try await Task.sleep(for: .milliseconds(10))
    }
  }

  private func kick() -> ChangeKick { ChangeKick(kind: .cache, folder: self.folder.path) }

  private func isReadable(_ watch: ChangeWatch) -> Bool {
    var polled = pollfd(fd: watch.descriptor, events: Int16(POLLIN), revents: 0)
    return poll(&polled, 1, 0) == 1
  }

  @Test func aKickIsSeenOnce() async throws {
    let watch = try await self.watch()
    let kick = self.kick()
    #expect(!self.isReadable(watch))
    #expect(watch.drain() == [])
    for _ in 1...3 {
      kick.kick()
      kick.kick()
      #expect(self.isReadable(watch))
      #expect(watch.drain() == .kicked)
      #expect(!self.isReadable(watch))
      #expect(watch.drain() == [])
    }
  }

  /// The file is open from before the first commit on, so that to tell of one needs nothing.
  @Test func aProcessThatHasNoDescriptorLeftTellsOfEachCommit() async {
    await #expect(processExitsWith: .success) { [path = self.folder.path as String] in
      let watch = try await Self.watch(path)
      let kick = ChangeKick(kind: .cache, folder: path)
      kick.hold()
      let seen = await withoutDescriptors {
        (1...3).map { _ in
          kick.kick()
          return watch.drain()
        }
      }
      #expect(seen == [.kicked, .kicked, .kicked])
    }
  }

  @Test func theFileIsForItsUserAloneAndStaysSmall() throws {
    let kick = self.kick()
    for _ in 1...10 { kick.kick() }
    var status = stat()
    #expect(stat(kick.path, &status) == 0)
    #expect(status.st_mode & 0o777 == 0o600)
    #expect(status.st_size == 1)
  }

  @Test func theEndOfAProcessThatCouldHaveKickedIsSeen() async throws {
    let watch = try await self.watch()
    _ = await #expect(processExitsWith: .failure) { [path = self.folder.path as String] in
      let kick = ChangeKick(kind: .cache, folder: path)
      kick.hold()
      kill(getpid(), SIGKILL)
      withExtendedLifetime(kick) {}
    }
    #expect(watch.drain() == .kicked)
  }

  @Test func aKickOfAnotherProcessIsSeen() async throws {
    let watch = try await self.watch()
    await #expect(processExitsWith: .success) { [path = self.folder.path as String] in
      ChangeKick(kind: .cache, folder: path).kick()
    }
    #expect(watch.drain() == .kicked)
  }

  @Test func theOtherDatabaseIsNot() async throws {
    let watch = try await self.watch()
    ChangeKick(kind: .mutations, folder: self.folder.path).kick()
    try DatabaseFiles().makeFile("\(self.folder.path)/mutations.sqlite")
    #expect(watch.drain() == [])
  }

  @Test func aCommitAloneDoesNotWakeAnyone() async throws {
    let connection = try DatabaseOpener(.cache, in: self.folder).openWriter()
    let watch = try await self.watch()
    try connection.write { try connection.execute(PartitionRow.insert, "a") }
    #expect(!self.isReadable(watch))
    // The writer's order: what the watch tells of can be seen.
    self.kick().kick()
    #expect(watch.drain() == .kicked)
  }

  @Test func aFolderThatWasEmptiedIsSeenAndKicksGoOn() async throws {
    let watch = try await self.watch()
    let kick = self.kick()
    kick.kick()
    #expect(watch.drain() == .kicked)
    #expect(unlink(kick.path) == 0)
    _ = watch.drain()
    kick.kick()
    #expect(watch.drain() == [.kicked, .kickMade])
    // The new file is watched too.
    kick.kick()
    #expect(watch.drain() == .kicked)
    self.kick().kick()
    #expect(watch.drain() == .kicked)
  }

  @Test func aKickFileThatIsReplacedIsFollowed() async throws {
    let watch = try await self.watch()
    let other = "\(self.folder.path)/other"
    try DatabaseFiles().makeFile(other)
    #expect(rename(other, self.kick().path) == 0)
    #expect(watch.drain() == [.kicked, .kickMade])
    self.kick().kick()
    #expect(watch.drain() == .kicked)
    #expect(watch.drain() == [])
  }

  @Test func aDatabaseThatComesOrGoesIsSeen() async throws {
    let watch = try await self.watch()
    let path = "\(self.folder.path)/cache.sqlite"
    try DatabaseFiles().makeFile(path)
    #expect(watch.drain() == .databaseMoved)
    #expect(rename(path, "\(path).away") == 0)
    #expect(watch.drain() == .databaseMoved)
    #expect(rename("\(path).away", path) == 0)
    #expect(watch.drain() == .databaseMoved)
    #expect(unlink(path) == 0)
    #expect(watch.drain() == .databaseMoved)
  }

  @Test func aFolderThatGoesEndsTheWatch() async throws {
    let watch = try await self.watch()
    #expect(unlink(self.kick().path) == 0)
    _ = watch.drain()
    #expect(rmdir(self.folder.path) == 0)
    // A process that another test is just starting has the files of this one until it runs its own program.
    while !self.isReadable(watch) { await Task.yield() }
    #expect(watch.drain() == .ended)
    #expect(ChangeWatch(kind: .cache, folder: self.folder.path) == nil)
  }

  @Test func aFolderThatIsRenamedEndsTheWatch() async throws {
    let path = "\(self.folder.path)/a"
    try DatabaseFiles().makeFolder(path)
    let watch = try await Self.watch(path)
    #expect(rename(path, "\(path)b") == 0)
    #expect(watch.drain() == .ended)
  }

  @Test func aKickThatCannotBeWrittenIsNoError() {
    ChangeKick(kind: .cache, folder: "\(self.folder.path)/none").kick()
  }

  @Test func droppedEventsMayHaveBeenAny() async throws {
    let watch = try await self.watch()
    let overflow = ChangeWatch.Event(watch: -1, mask: ChangeWatch.inOverflow, name: "")
    #expect(watch.changes(of: overflow) == [.kicked, .kickMade, .databaseMoved])
  }

  @Test func eventsAreReadOneAfterAnother() {
    func bytes(_ watch: Int32, _ mask: UInt32, _ name: String, length: Int) -> [UInt8] {
      let fields = [UInt32(bitPattern: watch), mask, 0, UInt32(length)]
      let head = fields.withUnsafeBytes { Array($0) }
      return head + Array(name.utf8) + Array(repeating: 0, count: length - name.utf8.count)
    }
    let all =
      bytes(1, 0x100, "cache.kick", length: 16) + bytes(-1, 0x4000, "", length: 0)
      + bytes(2, 0x2, "a", length: 4)
    func events(_ bytes: ArraySlice<UInt8>) -> [ChangeWatch.Event] {
      var events = [ChangeWatch.Event]()
      bytes.withUnsafeBytes { bytes in
        ChangeWatch.forEachEvent(in: bytes) { events.append($0) }
      }
      return events
    }
    let expected = [
      ChangeWatch.Event(watch: 1, mask: 0x100, name: "cache.kick"),
      ChangeWatch.Event(watch: -1, mask: 0x4000, name: ""),
      ChangeWatch.Event(watch: 2, mask: 0x2, name: "a"),
    ]
    #expect(events(all[...]) == expected)
    // Whatever is cut off is left out.
    #expect(events(all.dropLast()) == Array(expected.dropLast()))
    #expect(events([]) == [])
  }
}
