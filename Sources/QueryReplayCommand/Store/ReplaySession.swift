import Foundation
import Query
import QueryReplay
import QuerySQLite
import SystemNetwork
import ToolSupport

/// A store that a command works on, and its replayer.
struct ReplaySession {
  let invocation: Invocation
  let storage: SQLiteQueryStorage
  let client: QueryClient
  let network: any NetworkObserver
  let replayer: MutationReplayer
  /// The account.
  let partition: String
  /// The store's owner as shown to users: the application's identifier, or the path of the folder.
  let owner: String

  var outbox: any MutationOutbox { self.storage.outbox }

  /// Opens the store that a command line names.
  ///
  /// - Parameters:
  ///   - invocation: The command.
  ///   - applicationID: The application whose store is used if the command line names none.
  /// - Throws: `UsageError`; `ToolError` if there is no store; `StorageError`.
  init(_ invocation: Invocation, applicationID: String?) throws {
    let command = invocation.command
    let choice = try Self.choice(command, applicationID)
    let partition = command.text(CommonOption.partition) ?? ""
    switch choice {
    case .directory(let url):
      try Self.requireFile(StoreFiles(directory: url), choice)
      self.storage = try SQLiteQueryStorage(directory: url, partition: partition)
    case .application(let id):
      try Self.requireFile(StoreFiles(applicationID: id), choice)
      self.storage = try SQLiteQueryStorage(applicationID: id, partition: partition)
    }
    self.invocation = invocation
    self.partition = partition
    self.owner = "\(choice)"
    let network: any NetworkObserver =
      command.has(RunOption.evenOffline) ? .always : SystemNetworkObserver()
    self.network = network
    self.client = QueryClient(storage: self.storage)
    self.replayer = MutationReplayer(
      client: self.client, network: network,
      configuration: ReplayConfiguration(
        lane: command.text(RunOption.lane), maximumAttempts: command.integer(RunOption.maximum)))
  }

  private static func choice(
    _ command: ParsedCommand, _ applicationID: String?
  ) throws -> StoreChoice {
    let isNamed = command.has(CommonOption.store) || command.has(CommonOption.application)
    if let applicationID, !isNamed { return .application(applicationID) }
    return try StoreChoice(command)
  }

  /// Opening a store creates missing files, which a tool should not do.
  private static func requireFile(_ files: StoreFiles, _ choice: StoreChoice) throws {
    for path in [files.mutations, files.cache] {
      if access(path, F_OK) == 0 { return }
      guard errno == ENOENT || errno == ENOTDIR else {
        throw ToolError(
          .inputOutput, "cannot look at \(path): \(String(cString: strerror(errno)))")
      }
    }
    throw ToolError(
      .noStore,
      "there is no store of \(choice): \(files.mutations) is missing; check --store, --application")
  }

  /// Tells of accounts with mutations if the command line names none, and the one without a name has none:
  /// they are probably what is meant.
  ///
  /// - Parameter tool: The name of the program.
  /// - Throws: `UsageError` if the command would promise something of an account that has nothing;
  ///   `StorageError`.
  func tellOfOtherAccounts(in tool: String) throws {
    let command = self.invocation.command
    guard command.text(CommonOption.partition) == nil else { return }
    let accounts = try self.storage.accountsWithMutations()
    guard !accounts.isEmpty, !accounts.contains(where: { $0.name.isEmpty }) else { return }
    let names = accounts.prefix(5).map { account in
      let counts = account.counts
      return "“\(SafeText.escape(account.name))” (\(counts.pending + counts.leased + counts.dead))"
    }
    let others = names.joined(separator: ", ") + (accounts.count > 5 ? " and others" : "")
    let verb = accounts.count == 1 ? "has: name it" : "have: name one"
    let text = "the account without a name has no mutations; \(others) \(verb) by --partition"
    switch command.path.first {
    case "pause", "resume": throw command.usageError(text)
    default: Output.error("\(tool): \(text)")
    }
  }

  /// The live and dead mutations that a command line names by identifiers or their beginnings, each
  /// once, in the order of the command line.
  ///
  /// - Throws: `UsageError` if one is not found; `StorageError`.
  func entries(named command: ParsedCommand) throws -> [OutboxEntry] {
    var (found, all) = ([OutboxEntry](), [OutboxEntry]())
    for word in command.arguments {
      var entry = try UUID(uuidString: word).flatMap { try self.outbox.entry($0) }
      if entry == nil {
        // Of a queue of 100 000 all are read, which takes a while.
        if all.isEmpty { all = try self.outbox.entries() }
        do {
          let names = all.map(\.id.uuidString)
          entry = all[try PrefixLookup.index(of: word, in: names, noun: "live or dead mutation")]
        } catch {
          throw command.usageError(error.message)
        }
      }
      if let entry, !found.contains(where: { $0.id == entry.id }) { found.append(entry) }
    }
    return found
  }

  /// Whether this program sends rows of this kind.
  func canSend(_ entry: OutboxEntry) -> Bool {
    self.replayer.handlers.contains { $0.canRun(entry) }
  }

  /// A mutation of the store as JSON.
  func json(_ entry: OutboxEntry) -> MutationJSON {
    var json = MutationJSON(entry, partition: self.partition)
    json.details.canSend = self.canSend(entry)
    return json
  }

  /// Closes the files. A write that failed was already thrown to its caller.
  func close() async { try? await self.storage.close() }
}
