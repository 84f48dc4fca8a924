import Foundation
import Query
import QueryInspection
import QuerySQLite

/// What the next launch finds in a folder, a line for each thing, for a test to judge.
struct Opening {
  let store: String
  let accounts: [String]
  let valueCount: Int
  /// What is imported again; nil: nothing.
  let export: String?

  /// Prints what the next two launches find, after repeating an import that was cut off, and what
  /// the tool's `check` reports.
  func run() async {
    if let export = self.export { await self.repeatImport(export) }
    await self.launch("first")
    await self.launch("second")
    self.check()
    Self.say("done")
  }

  /// Writes a line at once, also into a pipe.
  static func say(_ words: String...) {
    let line = words.joined(separator: " ").replacing("\n", with: " ")
    FileHandle.standardOutput.write(Data("\(line)\n".utf8))
  }

  private func launch(_ name: String) async {
    do {
      var opened = [Account]()
      for account in self.accounts { opened.append(try Account(account, in: self.store)) }
      // What an application sees before it writes anything.
      await self.look("\(name)", opened)
      for account in opened { await self.write("probe-\(name)", account) }
      await self.look("\(name)-written", opened)
      for account in opened {
        if account.storage.statistics.isDegraded { Self.say("wrong", "degraded") }
        try await account.storage.close()
      }
    } catch {
      Self.say("wrong", "launch: \(error)")
    }
  }

  /// Writes a mutation and a value. The first try may be what finds damage.
  private func write(_ name: String, _ account: Account) async {
    for attempt in 1...5 {
      do {
        try await account.enqueue("\(account.name)-\(name)")
        try await account.set("\(account.name)-\(name)", version: 0)
        return
      } catch {
        if attempt == 5 { Self.say("wrong", "write: \(error)") }
      }
    }
  }

  private func look(_ name: String, _ accounts: [Account]) async {
    Self.say("look", name)
    for account in accounts {
      do {
        for entry in try account.storage.outbox.entries() {
          let text = String(decoding: entry.arguments, as: UTF8.self)
          let head = PowerNote.head(of: text) ?? "broken"
          Self.say("live", account.name, entry.id.uuidString, entry.state.rawValue, head)
        }
        for row in try account.storage.outbox.history(of: "note", instance: "[]") {
          guard case .ended = row.state else { continue }
          Self.say("ended", account.name, row.id.uuidString)
        }
      } catch {
        Self.say("wrong", "read: \(error)")
      }
      for number in 0..<self.valueCount {
        guard let text = await account.text("\(account.name)-value\(number)") else { continue }
        Self.say("value", account.name, PowerNote.head(of: text) ?? "broken")
      }
    }
  }

  /// Repeats an import as a user whom the power cut interrupted would: rows that are already there
  /// are not imported twice.
  private func repeatImport(_ export: String) async {
    do {
      let count = try await self.countOfMutations()
      _ = try StoreMaintenance(directory: URL(filePath: self.store))
        .importExport(at: export, withOutbox: count == 0)
      Self.say("imported")
    } catch {
      Self.say("wrong", "import: \(error)")
    }
  }

  private func countOfMutations() async throws -> Int {
    let account = try Account("main", in: self.store)
    let count = try account.storage.outbox.entries().count
    try await account.storage.close()
    return count
  }

  private func check() {
    do {
      try StoreInspection(directory: URL(filePath: self.store)).check { finding in
        switch finding.kind {
        // What a process that is gone has leased, the next one that claims takes back.
        case .ownerGone, .endedLease: break
        default: Self.say("wrong", "check: \(finding.file) \(finding.kind) \(finding.message)")
        }
      }
    } catch {
      Self.say("wrong", "check: \(error)")
    }
  }
}
