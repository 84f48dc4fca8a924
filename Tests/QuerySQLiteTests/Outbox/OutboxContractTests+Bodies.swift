import Foundation
import Query
import TestSupport
import Testing

/// Replay §8: files that go with mutations.
extension OutboxContractTests {
  private static func mutation(_ bodies: [URL], after ids: [UUID] = []) -> NewMutation {
    var mutation = NewMutation(
      name: "note", instance: "instance", dependencies: ids, coder: "json", arguments: Data())
    mutation.bodies = bodies
    return mutation
  }

  private static func names(beside file: URL) -> Set<String> {
    let folder = file.deletingLastPathComponent().path
    return Set((try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? [])
  }

  /// Waits until the files that nobody needs are gone: the call that ends a mutation returns before that.
  private static func wait(beside file: URL, for names: Set<String>) async {
    while Self.names(beside: file) != names { await Task.yield() }
  }

  @Test(arguments: StorageUnderTest.withOutbox, [0, 1, 256 << 10, 600_001])
  func filesAreKeptAsTheyWereUntilTheMutationEnds(
    _ kind: StorageUnderTest, _ count: Int
  ) async throws {
    let trial = try OutboxTrial(kind)
    let source = try ScratchFolder()
    let data = Data((0..<count).map { UInt8(truncatingIfNeeded: $0 &* 31) })
    let files = [try source.file("a", data), try source.file("b", Data("second".utf8))]
    let enqueued = try await trial.outbox.enqueue(Self.mutation(files), claiming: true)
    for file in files { try Data("changed".utf8).write(to: file) }
    let copies = try await trial.outbox.bodies(of: enqueued.entry.id)
    #expect(try copies.map { try Data(contentsOf: $0) } == [data, Data("second".utf8)])
    for copy in copies {
      let attributes = try FileManager.default.attributesOfItem(atPath: copy.path)
      #expect(attributes[.posixPermissions] as? Int == 0o600)
    }
    let folder = copies[0].deletingLastPathComponent().path
    let attributes = try FileManager.default.attributesOfItem(atPath: folder)
    #expect(attributes[.posixPermissions] as? Int == 0o700)
    let lease = try #require(enqueued.lease)
    let isSettled = try await trial.outbox.settle(lease, .success)
    #expect(isSettled)
    await Self.wait(beside: copies[0], for: [])
    #expect(try await trial.outbox.bodies(of: enqueued.entry.id) == [])
  }

  @Test(arguments: StorageUnderTest.withOutbox)
  func filesGoWithARowThatIsCancelledOrErased(_ kind: StorageUnderTest) async throws {
    let trial = try OutboxTrial(kind)
    let source = try ScratchFolder()
    let file = try source.file("a", Data("hello".utf8))
    let first = try await trial.outbox.enqueue(Self.mutation([file]), claiming: false).entry.id
    let second = try await trial.outbox.enqueue(Self.mutation([file]), claiming: false).entry.id
    let copy = try #require(try await trial.outbox.bodies(of: second).first)
    #expect(Self.names(beside: copy).count == 2)
    try await trial.outbox.cancel(first)
    await Self.wait(beside: copy, for: [copy.lastPathComponent])
    try await trial.storage.erase()
    await Self.wait(beside: copy, for: [])
  }

  @Test(arguments: StorageUnderTest.withOutbox)
  func aDamagedFileIsNotGivenOut(_ kind: StorageUnderTest) async throws {
    let trial = try OutboxTrial(kind)
    let source = try ScratchFolder()
    let file = try source.file("a", Data("hello".utf8))
    let id = try await trial.outbox.enqueue(Self.mutation([file]), claiming: false).entry.id
    let copy = try #require(try await trial.outbox.bodies(of: id).first)
    let damaged = MutationBodyError.damaged(name: copy.lastPathComponent)
    for other in ["hellp", "hell", "hello!", ""] {
      try Data(other.utf8).write(to: copy)
      await #expect(throws: damaged) { try await trial.outbox.bodies(of: id) }
    }
    try FileManager.default.removeItem(at: copy)
    await #expect(throws: damaged) { try await trial.outbox.bodies(of: id) }
    // Not even if a link in its place leads to the same bytes.
    try Data("hello".utf8).write(to: file)
    #expect(symlink(file.path, copy.path) == 0)
    await #expect(throws: damaged) { try await trial.outbox.bodies(of: id) }
  }

  @Test(arguments: StorageUnderTest.withOutbox)
  func nothingIsKeptOfAMutationThatIsNotCommitted(_ kind: StorageUnderTest) async throws {
    let trial = try OutboxTrial(kind)
    let source = try ScratchFolder()
    let file = try source.file("a", Data("hello".utf8))
    let kept = try await trial.outbox.enqueue(Self.mutation([file]), claiming: false).entry.id
    let copy = try #require(try await trial.outbox.bodies(of: kept).first)
    let missing = source.url.appending(path: "missing")
    for other in [missing, source.url, URL(filePath: "/dev/null")] {
      await #expect(throws: MutationBodyError.notAFile(path: other.path)) {
        try await trial.outbox.enqueue(Self.mutation([file, other]), claiming: false)
      }
    }
    let unknown = UUID()
    await #expect(throws: OutboxError.unknownDependencies([unknown])) {
      try await trial.outbox.enqueue(Self.mutation([file], after: [unknown]), claiming: false)
    }
    #expect(Self.names(beside: copy) == [copy.lastPathComponent])
    #expect(try trial.outbox.counts.rows == OutboxCounts(pending: 1))
  }

  /// It is tried again: the file is whole.
  @Test func aFileThatCannotBeOpenedNowIsNotDamaged() async throws {
    await #expect(processExitsWith: .success) {
      let source = try ScratchFolder()
      let file = try source.file("a", Data("hello".utf8))
      let outbox = MemoryQueryStorage().outbox
      var mutation = NewMutation(
        name: "note", instance: "instance", coder: "json", arguments: Data())
      mutation.bodies = [file]
      let id = try await outbox.enqueue(mutation, claiming: false).entry.id
      let copy = try #require(try await outbox.bodies(of: id).first)
      await withoutDescriptors {
        await #expect(throws: StorageError.self) { try await outbox.bodies(of: id) }
        await #expect(throws: StorageError.self) {
          try await outbox.enqueue(mutation, claiming: false)
        }
      }
      let copies = try await outbox.bodies(of: id)
      #expect(copies == [copy])
    }
  }
}
