import Foundation
import Query
import StorageTestSupport
import Testing

@testable import QuerySQLite

/// What a mutation that runs at once leaves behind, and what it does not touch.
@Suite struct OutboxFootprintTests {
  private func frames(
    of scratch: OutboxScratch, _ body: () async throws -> Void
  ) async throws -> Int {
    let database = scratch.storage.mutations.database
    let before = database.bytesWritten
    try await body()
    return (database.bytesWritten - before) / SQLiteConnection.frameBytes
  }

  @Test func aMutationThatNeverWaitsHasOneIndexAndNoHead() async throws {
    let scratch = try OutboxScratch()
    var (enqueueing, settling) = ([Int](), [Int]())
    // Makes the file.
    try await scratch.add()
    // The first commit of a WAL writes which one it is, and a checkpoint would begin another.
    let reader = try scratch.readerThatKeepsTheLog()
    defer { try? reader.close() }
    // The first round makes the row of this process.
    for round in 0..<3 {
      var lease: MutationLease?
      enqueueing.append(
        try await self.frames(of: scratch) {
          lease =
            try await scratch.outbox.enqueue(OutboxScratch.mutation("\(round)"), claiming: true)
            .lease
        })
      #expect(try scratch.rows("SELECT count(*) FROM lane_heads") == ["1"])
      let held = try #require(lease)
      settling.append(
        try await self.frames(of: scratch) {
          let isHeld = try await scratch.outbox.settle(held, OutboxScratch.success)
          #expect(isHeld)
        })
    }
    // Its row, its index, and the totals.
    #expect(enqueueing.min() == 3)
    // The row of the history and its two indexes besides.
    #expect(settling.min() == 6)
    try await scratch.storage.close()
  }

  /// The head of a lane stays what it is, however many come behind it.
  @Test func oneThatIsEnqueuedBehindAnotherWritesNoHead() async throws {
    let scratch = try OutboxScratch()
    for text in ["first", "second"] { try await scratch.add(text, lane: "lane") }
    // The first commit of a WAL writes which one it is, and a checkpoint would begin another.
    let reader = try scratch.readerThatKeepsTheLog()
    defer { try? reader.close() }
    var enqueueing = [Int]()
    for round in 0..<3 {
      enqueueing.append(
        try await self.frames(of: scratch) {
          try await scratch.add("\(round)", lane: "lane")
        })
    }
    // Its row, the indexes by identifier, name and lane, and the totals.
    #expect(enqueueing.min() == 5)
    #expect(try scratch.rows("SELECT number FROM lane_heads") == ["1"])
    try await scratch.storage.close()
  }

  /// A claim changes its row, and takes the head away: it leaves the indexes by identifier and name.
  @Test func aClaimOfOneThatHasWaitedWritesFewFrames() async throws {
    let scratch = try OutboxScratch()
    // The first claim makes the row of this process.
    for text in ["first", "second", "third"] { try await scratch.add(text) }
    #expect(try await scratch.claim().count == 1)
    let reader = try scratch.readerThatKeepsTheLog()
    defer { try? reader.close() }
    var claiming = [Int]()
    for _ in 0..<2 {
      claiming.append(
        try await self.frames(of: scratch) {
          let claimed = try await scratch.claim()
          #expect(claimed.count == 1)
        })
    }
    // Its row, the index of leases, its head, the index of heads that are ready, and the totals; a machine
    // that is slow extends the lease of the first one besides.
    #expect(try #require(claiming.min()) <= 6)
    let listed = "SELECT count(*) FROM outbox WHERE has_waited <> 0 AND id > x''"
    #expect(try scratch.rows(listed) == ["3"])
    try await scratch.storage.close()
  }

  /// A claim of one that has failed leaves the index of its lane too.
  @Test func aClaimOfARepeatInALaneWritesFewFrames() async throws {
    let scratch = try OutboxScratch()
    for number in 0..<3 {
      _ = try await scratch.outbox.enqueue(
        NewMutation(
          name: "note", instance: "[]", lane: "lane \(number)", coder: "json", arguments: Data([1])),
        claiming: false)
    }
    for lease in try await scratch.claim(3) {
      #expect(try await scratch.outbox.settle(lease, OutboxScratch.failure(.now)))
    }
    let reader = try scratch.readerThatKeepsTheLog()
    defer { try? reader.close() }
    var claiming = [Int]()
    for _ in 0..<3 {
      claiming.append(
        try await self.frames(of: scratch) {
          let claimed = try await scratch.claim()
          #expect(claimed.count == 1)
        })
    }
    // Its row, the index of leases, its head, the index of heads that are ready, and the totals.
    #expect(try #require(claiming.min()) <= 5)
    try await scratch.storage.close()
  }

  @Test func oneThatFailsWaitsWithAHeadAndIsFoundAsBefore() async throws {
    let scratch = try OutboxScratch()
    let enqueued = try await scratch.outbox.enqueue(OutboxScratch.mutation("text"), claiming: true)
    let lease = try #require(enqueued.lease)
    let id = enqueued.entry.id
    #expect(try scratch.outbox.history(of: "note", instance: "[]").map(\.id) == [id])
    #expect(try scratch.outbox.entries().map(\.state) == [.leased])
    #expect(try await scratch.outbox.settle(lease, OutboxScratch.failure(.now)))
    #expect(try scratch.rows("SELECT state FROM lane_heads") == ["ready"])
    #expect(try scratch.outbox.history(of: "note", instance: "[]").map(\.id) == [id])
    let claimed = try await scratch.claim()
    let again = try #require(claimed.first)
    #expect(again.entry.id == id)
    #expect(try scratch.rows("SELECT count(*) FROM lane_heads") == ["0"])
    #expect(try await scratch.outbox.settle(again, OutboxScratch.success))
    try await scratch.storage.close()
  }

  @Test func aNumberIsNeverGivenTwice() async throws {
    let scratch = try OutboxScratch()
    var numbers = [Int]()
    for _ in 0..<3 {
      let enqueued = try await scratch.outbox.enqueue(
        OutboxScratch.mutation("text"), claiming: true)
      numbers.append(enqueued.entry.number)
      let lease = try #require(enqueued.lease)
      #expect(try await scratch.outbox.settle(lease, OutboxScratch.success))
      // Nothing is left that has the number, in either table.
      try await scratch.outbox.clearHistory(of: "note", instance: "[]")
      #expect(try scratch.rows("SELECT count(*) FROM history") == ["0"])
    }
    try await scratch.storage.close()
    let next = try OutboxScratch(in: scratch.folder)
    numbers.append(
      try await next.outbox.enqueue(OutboxScratch.mutation("text"), claiming: false).entry.number)
    #expect(numbers == [1, 2, 3, 4])
    #expect(try next.rows("SELECT last_sequence FROM partitions") == ["3"])
    try await next.storage.close()
  }
}
