import Foundation
import Query
import QueryInspection
import QueryReplay
import QuerySQLite

// MARK: - Opening

extension Worker {
  func reopen() async {
    var (version, number) = (self.place.firstNumber, self.place.firstNumber)
    while !Task.isCancelled {
      await self.place.withStorage(closing: self.place.chance(75)) { storage in
        if self.place.chance(60) {
          await self.writeValues(self.place.draw(1...3), in: storage, &version)
        }
        let client = self.client(storage)
        for _ in 0..<self.place.draw(0...2) { await self.enqueue(client, &number) }
        if self.place.chance(40) {
          let replayer = MutationReplayer(client: client)
          try replayer.register(self.mutation)
          _ = try await replayer.replayOnce(deadline: .milliseconds(200))
        }
      }
      await self.place.pause(milliseconds: 0...50)
    }
  }

  /// What one account does away with is no other's.
  func erase() async {
    let partition = "account-\(self.place.order.writer)"
    var number = self.place.firstNumber
    while !Task.isCancelled {
      await self.place.withStorage(partition: partition) { storage in
        let client = self.client(storage)
        for index in 0..<self.place.draw(1...20) {
          client.store(for: NoteQuery(writer: "erased", number: index).persisted()).currentValue =
            Note(writer: "erased", number: index, version: number, length: self.length)
        }
        let store = client.store(for: self.mutation)
        for _ in 0..<self.place.draw(0...3) {
          number += 1
          try await store.enqueue(
            with: LaneNote(lane: "erased", writer: partition, number: number, text: ""))
        }
        try await storage.erase()
        let left = try storage.outbox.entries().count
        if left > 0 { self.place.complain("\(left) mutations are left of an erased account") }
      }
      await self.place.pause(milliseconds: 50...400)
    }
  }
}

// MARK: - Looking

extension Worker {
  func inspect() async {
    var hasSeenStore = false
    while !Task.isCancelled {
      do {
        try self.inspectOnce()
        // A store that is being made has files before it has an account.
        let store = try StoreInspection(directory: self.place.order.storage)
        hasSeenStore = try hasSeenStore || store.partitions().contains("")
      } catch InspectionError.noStore where !hasSeenStore {
        // Nobody has made it yet.
      } catch InspectionError.unknownPartition where !hasSeenStore {
        // Nobody has written into it yet.
      } catch {
        self.place.complain(error, "")
      }
      await self.place.pause(milliseconds: 0...100)
    }
  }

  private func inspectOnce() throws {
    let store = try StoreInspection(directory: self.place.order.storage)
    switch self.place.draw(1...5) {
    case 1: try store.entries(EntryQuery(sort: .size, limit: 20)) { _ in }
    case 2: try store.mutations { _ in }
    case 3: try self.check(store)
    case 4: try self.export(store)
    default: _ = try StoreMaintenance(directory: self.place.order.storage).vacuum()
    }
  }

  private func check(_ store: StoreInspection) throws {
    try store.check { finding in
      // What a killed or stopped process leaves until another one sends.
      if finding.kind == .ownerGone || finding.kind == .endedLease { return }
      self.place.complain(
        "check of \(finding.file): \(finding.kind) \(finding.subject ?? "") \(finding.message)")
    }
  }

  private func export(_ store: StoreInspection) throws {
    do {
      let damaged = try store.export("", withOutbox: self.place.chance(50)) { _ in }
      if !damaged.isEmpty { self.place.complain("an export leaves out \(damaged)") }
    } catch InspectionError.unavailable(let error) where error.message.contains("changed") {
      // The outbox has changed meanwhile, as the command's own page says.
    }
  }
}
