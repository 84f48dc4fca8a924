import CFileRecorder
import Foundation
import Query
import QueryInspection
import QuerySQLite

/// What is done to a store while it is recorded: first what is there before, then what is cut off.
enum Workload: String {
  /// The first mutation and the first value of a store in a folder that is not there yet.
  case create
  /// Mutations and values, sent, retried, and written over, with checkpoints, a close and a launch.
  case commits
  /// The same with a cache whose commits are on the disk before a flush returns.
  case durable
  /// A launch that finds both files damaged.
  case salvage
  /// `erase()` of one of two accounts.
  case erase
  /// An import of values and mutations into an empty store.
  case importing = "import"
  /// Values removed one by one, and their pages given back.
  case vacuum
  /// An invalidation of all values, and an eviction of most, a few in each transaction.
  case steps

  /// Makes what is there before.
  func prepare(_ place: Place) async throws {
    switch self {
    case .create: break
    case .commits, .durable: try await Self.fill(place.store, mutations: 3, values: 2)
    case .salvage:
      try await Self.fill(place.store, mutations: 12, values: 4)
      try Damage.overwrite("clock", of: "\(place.store)/mutations.sqlite")
      try Damage.overwrite("partitions", of: "\(place.store)/cache.sqlite")
      Account.mark("damaged")
    case .erase:
      try await Self.fill(place.store, account: "gone", mutations: 6, values: 4)
      try await Self.fill(place.store, mutations: 4, values: 3)
      // A damaged outbox stands beside it.
      try Damage.overwrite("clock", of: "\(place.store)/mutations.sqlite")
      Account.mark("damaged-outbox")
      try await Self.launch(place)
    case .importing: try await Self.export(place)
    case .vacuum: try await Self.fill(place.store, mutations: 1, values: 12, length: 6_000)
    case .steps: try await Self.fill(place.store, mutations: 1, values: 12)
    }
  }

  /// Does what is to be survived.
  func act(_ place: Place) async throws {
    switch self {
    case .create: try await Self.create(place)
    case .commits: try await Self.commit(place) { _ in }
    case .durable: try await Self.commit(place) { $0.cacheDurability = .full }
    case .salvage: try await Self.launch(place)
    case .erase: try await Self.erase(place)
    case .importing: try await Self.importAll(place)
    case .vacuum: try await Self.vacuum(place)
    case .steps: try await Self.steps(place)
    }
  }
}

/// The folder in which a workload works.
struct Place {
  /// The folder that is recorded.
  let folder: String

  /// That of the storage.
  var store: String { "\(self.folder)/data/store" }

  /// What is imported. It is not recorded.
  var export: String { "\(self.folder).export" }
}

// MARK: - Workloads

extension Workload {
  private static func fill(
    _ folder: String, account: String = "main", mutations: Int, values: Int, length: Int = 3_000
  ) async throws {
    let account = try Account(account, in: folder)
    for number in 0..<mutations {
      // The first has ended.
      let lease = try await account.enqueue(
        "\(account.name)-old\(number)", lane: number < 2 ? nil : "lane\(number % 2)",
        length: length, claiming: number == 0)
      if let lease { try await account.settle(lease, .succeeded(SuccessfulAttempt(result: nil))) }
    }
    for number in 0..<values {
      try await account.set("\(account.name)-value\(number)", version: 0, length: length)
    }
    try await account.close()
  }

  private static func create(_ place: Place) async throws {
    let account = try Account("main", in: place.store)
    try await account.enqueue("first")
    try await account.set("main-value0", version: 1)
    try await account.enqueue("second", length: 5_000)
    try await account.close()
  }

  private static func commit(
    _ place: Place, _ edit: (inout SQLiteQueryStorage.Configuration) -> Void
  ) async throws {
    for launch in 1...2 {
      let account = try Account("main", in: place.store, edit)
      let other = try Account("other", in: place.store, edit)
      for round in 0..<6 {
        let name = "new\(launch).\(round)"
        try await account.enqueue(name, lane: "lane\(round % 2)", length: round * 1_500)
        if round % 2 == 0 { try await account.send() }
        if round == 3 { try await account.send(Account.failure) }
        try await account.set("main-value\(round % 4)", version: launch * 10 + round)
        if round % 3 == 0 { try await other.enqueue("other\(launch).\(round)") }
      }
      try await Self.enqueueFile(account, "file\(launch)")
      try await other.storage.close()
      try await account.close()
    }
  }

  /// Enqueues a mutation with a file, as one that has files does it.
  private static func enqueueFile(_ account: Account, _ name: String) async throws {
    let source = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString)
    try Data(repeating: 0x62, count: 6_000).write(to: source)
    defer { try? FileManager.default.removeItem(at: source) }
    try await account.enqueue(name, file: source)
  }

  private static func launch(_ place: Place) async throws {
    let account = try Account("main", in: place.store)
    // The first that is asked may be the one that finds the damage.
    for _ in 0..<5 where (try? await account.enqueue("new", lane: "lane1")) != nil { break }
    try await account.set("main-value0", version: 1)
    try await account.send()
    try await account.close()
  }

  private static func erase(_ place: Place) async throws {
    let gone = try Account("gone", in: place.store)
    let main = try Account("main", in: place.store)
    try await gone.enqueue("gone-late", length: 3_000)
    try await main.enqueue("main-late")
    try await gone.erase()
    try await main.enqueue("main-later")
    try await main.set("main-value1", version: 2)
    try await gone.enqueue("new-after")
    try await gone.storage.close()
    try await main.close()
  }

  private static func vacuum(_ place: Place) async throws {
    let folder = URL(filePath: place.store)
    let store = try StoreMaintenance(directory: folder)
    for number in 0..<8 {
      let name = "main-value\(number)"
      let identity = try QueryIdentity(path: PowerQuery(name: name).path).text
      let entry = try StoreInspection(directory: folder).entry(named: identity)
      Account.mark("remove", "main", name)
      try store.remove(entry)
      // No other connection had the file.
      Account.mark("closed")
    }
    _ = try store.vacuum()
    let account = try Account("main", in: place.store)
    try await account.set("main-value0", version: 3, length: 9_000)
    try await account.close()
  }
}

// MARK: - Steps

extension Workload {
  private static func steps(_ place: Place) async throws {
    let account = try Account("main", in: place.store) { $0.stepRows = 2 }
    account.storage.invalidate(matching: [])
    try await account.storage.flush()
    try await account.close()
    // In the order in which they were invalidated, that of their texts.
    for number in [0, 1, 10, 11, 2, 3, 4, 5] {
      Account.mark("remove", "main", "main-value\(number)")
    }
    _ = try StoreMaintenance(directory: URL(filePath: place.store))
      .evict(toBytes: nil, entries: 4, stepRows: 2)
    Account.mark("closed")
  }
}

// MARK: - Import

extension Workload {
  /// Makes a store beside the folder, with a file that belongs to a mutation, and exports it.
  private static func export(_ place: Place) async throws {
    let source = "\(place.folder).source"
    try await Self.fill(source, mutations: 4, values: 3)
    let account = try Account("main", in: source)
    try await Self.enqueueFile(account, "with-file")
    try await account.close()
    guard FileManager.default.createFile(atPath: place.export, contents: nil) else {
      throw CocoaError(.fileWriteUnknown)
    }
    let file = try FileHandle(forWritingTo: URL(filePath: place.export))
    _ = try StoreInspection(directory: URL(filePath: source))
      .export("main", withOutbox: true) { try file.write(contentsOf: $0) }
    try file.close()
    Account.mark("exported")
  }

  private static func importAll(_ place: Place) async throws {
    _ = try StoreMaintenance(directory: URL(filePath: place.store))
      .importExport(at: place.export, withOutbox: true)
    Account.mark("imported")
    let account = try Account("main", in: place.store)
    try await account.enqueue("after-import")
    try await account.close()
  }
}
