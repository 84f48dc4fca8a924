import Foundation
import Query
import QueryReplay
import QuerySQLite

extension Worker {
  /// At most this many wait anywhere in the bench: senders must keep up with writers that enqueue.
  private static let backlog = 400

  func enqueue(in storage: SQLiteQueryStorage) async throws {
    let client = self.client(storage)
    var number = self.place.firstNumber
    while !Task.isCancelled {
      await self.enqueue(client, &number)
      await self.place.pause(milliseconds: 0...15)
      while (try? storage.outbox.counts.pending) ?? 0 > Self.backlog, !Task.isCancelled {
        await self.place.pause(milliseconds: 20...60)
      }
    }
  }

  /// Enqueues a mutation, and takes note of it.
  func enqueue(_ client: QueryClient, _ number: inout Int) async {
    let note = self.note(&number)
    do {
      let ticket = try await client.store(for: self.mutation).enqueue(with: note)
      self.place.acknowledge(note.mutation, key: ticket.idempotencyKey)
    } catch {
      self.place.complain(error, "enqueue: ")
    }
  }

  /// The next note: mostly of a lane of this writer's, now and then of one of everybody's, or its own.
  private func note(_ number: inout Int) -> LaneNote {
    number += 1
    let writer = self.place.order.writer
    let lane =
      switch self.place.draw(1...20) {
      case 1: "alone-\(writer)-\(number)"
      case 2...6: "shared-\(self.place.draw(1...3))"
      default: "own-\(writer)-\(self.place.draw(1...5))"
      }
    return LaneNote(
      lane: lane, writer: writer, number: number,
      text: String(repeating: "x", count: self.length))
  }

  func mutate(in storage: SQLiteQueryStorage) async throws {
    let client = self.client(storage)
    var number = self.place.firstNumber
    while !Task.isCancelled {
      let note = self.note(&number)
      do {
        try await client.store(for: self.mutation).mutate(with: note)
        self.place.acknowledge(note.mutation, key: nil)
      } catch let queued as MutationQueuedError {
        self.place.acknowledge(note.mutation, key: queued.idempotencyKey)
      } catch let ended as MutationEndedError where [.succeeded, .unknown].contains(ended.reason) {
        // Another process has sent it, and so many after it that the history has forgotten its result.
        self.place.acknowledge(note.mutation, key: nil)
      } catch is MutationDeadError {
        self.place.acknowledge(note.mutation, key: nil)
      } catch let error as HTTPStatusError where error.statusCode == 422 && note.mutation.isRefused
      {
        self.place.acknowledge(note.mutation, key: nil)
      } catch {
        self.place.complain(error, "mutate: ")
      }
      await self.place.pause(milliseconds: 0...15)
    }
  }

  func replay(in storage: SQLiteQueryStorage) async throws {
    let configuration = ReplayConfiguration(
      maximumConcurrency: 4, maximumPerHost: 4, pollInterval: .seconds(1))
    let replayer = MutationReplayer(client: self.client(storage), configuration: configuration)
    try replayer.register(self.mutation)
    try await replayer.run()
  }

  func enqueueAndReplay() async {
    await self.place.withStorage { storage in
      async let sending: Void = self.replay(in: storage)
      try await self.enqueue(in: storage)
      try await sending
    }
  }

  func drain(_ storage: SQLiteQueryStorage) async throws {
    let sending = Task { try await self.replay(in: storage) }
    for await counts in storage.outbox.changes where counts.pending + counts.leased == 0 { break }
    sending.cancel()
    try? await sending.value
  }
}
