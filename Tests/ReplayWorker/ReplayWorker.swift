import Foundation
import Query
import QueryHTTP
import QueryReplay
import QuerySQLite

/// A process that tests start, stop and kill: it fills an outbox or drains it, and says on standard
/// output what it has come to, a line each.
///
/// ```
/// replay-worker enqueue FOLDER URL WRITER COUNT LANES
///   enqueues COUNT mutations in LANES lanes; after each "acked WRITER-LANE NUMBER KEY"
/// replay-worker both FOLDER URL WRITER COUNT LANES
///   the same, while it replays
/// replay-worker replay FOLDER URL
///   replays until nothing is left; then "drained"
/// replay-worker batches FOLDER URL
///   the same, up to ten mutations of a lane in one request
/// replay-worker urgent FOLDER URL COUNT
///   enqueues COUNT mutations that are not urgent, then five that are, all of one host; after each "acked"
///   as above
/// replay-worker hasty FOLDER URL
///   replays both until nothing is left; then "drained"
/// replay-worker photo FOLDER URL FILE
///   enqueues a mutation with a file; then "drained"
/// replay-worker upload FOLDER URL FILE
///   enqueues a request with that file as its body; then "drained"
/// replay-worker uploads FOLDER URL
///   replays such requests until nothing is left; "progress SENT" for each that is told; then "drained"
/// replay-worker once FOLDER URL ID COUNT
///   enqueues a mutation of that identifier COUNT times; after each "key KEY"
/// replay-worker together FOLDER URL WRITER COUNT SIZE
///   enqueues COUNT times SIZE mutations together, in a lane each time; after each "together LANE"
/// replay-worker mutate FOLDER URL WRITER
///   mutates once; then "done", or what was thrown
/// replay-worker enter FOLDER URL LANE COUNT FETCHES
///   fetches the list that shows the mutations if FETCHES is 1; enqueues COUNT of them, after each "entered
///   LANE/NUMBER", and replays until it is killed, after each success "settled LANE/NUMBER"
/// replay-worker show FOLDER URL
///   fetches that list, and at each change "shown" with what is seen; then "landed" with the answer
/// replay-worker depart FOLDER URL HOW
///   exits at `SIGTERM`, as README shows, while the main function awaits a mutation: by "submit" or by "once",
///   which stands for `replayOnce`
/// replay-worker serve PORT
///   takes every request; after each "received KEY MILLISECONDS"
/// ```
/// `LEASE_MILLISECONDS` in the environment is the length of a lease, `WRITE_DELAY_MILLISECONDS` how long a
/// changed value waits before it is written.
@main
struct ReplayWorker {
  let client: QueryClient
  let storage: SQLiteQueryStorage
  let mutation: ModifiedQuery<SendNote, _PersistedMutationModifier<SendNote>>

  static func main() async throws {
    let arguments = Array(CommandLine.arguments.dropFirst())
    if arguments.first == "serve", let port = arguments.last.flatMap(UInt16.init) {
      try NoteServer(port: port).serve(Self.say)
    }
    guard arguments.count >= 3, let url = URL(string: arguments[2]) else { exit(64) }
    let worker = try ReplayWorker(folder: arguments[1], server: url)
    Self.say("ready")
    switch arguments[0] {
    case "enqueue": try await worker.enqueue(arguments)
    case "replay": try await worker.replay()
    case "batches": try await worker.replayBatches(to: url)
    case "urgent": try await worker.enqueueUrgent(to: url, count: Int(arguments[3]) ?? 0)
    case "hasty":
      try await worker.replay(
        Self.mutation(of: .low, to: url), Self.mutation(of: .high, to: url))
    case "both":
      let replaying = Task { try await worker.replay(untilEmpty: false) }
      try await worker.enqueue(arguments)
      try await worker.waitUntilEmpty()
      replaying.cancel()
    case "photo":
      try await worker.client.store(for: worker.mutation).enqueue(
        with: LaneNote(lane: "photo", number: 0, photo: URL(filePath: arguments[3])))
    case "upload":
      try await worker.client.store(for: HTTPMutation().durable()).enqueue(
        with: try HTTPRequestDescription(url: url, body: .file(URL(filePath: arguments[3]))))
    case "uploads": try await worker.replayUploads()
    case "once": try await worker.enqueueOnce(arguments)
    case "together": try await worker.enqueueTogether(arguments)
    case "mutate": await worker.mutate(arguments)
    case "enter":
      try await worker.shown(url).send(
        lane: arguments[3], count: Int(arguments[4]) ?? 0, fetching: arguments[5] == "1")
    case "show": try await worker.shown(url).show()
    case "depart": try await worker.depart(by: arguments[3])
    default: exit(64)
    }
    Self.say("drained")
  }

  private init(folder: String, server: URL) throws {
    var configuration = SQLiteQueryStorage.Configuration()
    // Checkpoints at every turn, so that they meet the commits of others.
    configuration.checkpointFrames = 10
    let environment = ProcessInfo.processInfo.environment
    if let lease = environment["LEASE_MILLISECONDS"].flatMap(Int.init) {
      configuration.leaseLength = .milliseconds(lease)
    }
    if let delay = environment["WRITE_DELAY_MILLISECONDS"].flatMap(Int.init) {
      configuration.writeDelay = .milliseconds(delay)
    }
    self.storage = try SQLiteQueryStorage(
      directory: URL(filePath: folder), configuration: configuration)
    var context = QueryContext()
    // A test has no second for each lost answer.
    context.mutationBackoff = MutationBackoff(base: .milliseconds(20))
    self.client = QueryClient(storage: self.storage, defaultContext: context)
    self.mutation = SendNote(server: server).persisted(
      as: "send-note",
      MutationPersistenceOptions(scope: .by { $0.lane }, bodies: { $0.photo.map { [$0] } ?? [] }))
  }

  private func shown(_ server: URL) -> ShownNotes {
    ShownNotes(client: self.client, storage: self.storage, server: server, say: Self.say)
  }

  private func depart(by way: String) async throws {
    signal(SIGTERM, SIG_IGN)
    let termination = DispatchSource.makeSignalSource(signal: SIGTERM, queue: .global())
    termination.setEventHandler { exit(0) }
    termination.resume()
    let store = self.client.store(for: self.mutation)
    let note = LaneNote(lane: "last", number: 0)
    if way == "submit" {
      _ = try await store.submit(with: note)
    } else {
      try await store.enqueue(with: note)
      let replayer = MutationReplayer(client: self.client)
      try replayer.register(self.mutation)
      _ = try await replayer.replayOnce()
    }
  }

  private func enqueueOnce(_ arguments: [String]) async throws {
    guard let id = UUID(uuidString: arguments[3]), let count = Int(arguments[4]) else { exit(64) }
    let store = self.client.store(for: self.mutation)
    for number in 0..<count {
      let ticket = try await store.enqueue(with: LaneNote(lane: "once", number: number), id: id)
      Self.say("key \(ticket.idempotencyKey)")
    }
  }

  private func enqueueTogether(_ arguments: [String]) async throws {
    let store = self.client.store(for: self.mutation)
    let numbers = arguments[4...].compactMap { Int($0) }
    for round in 0..<numbers[0] {
      let lane = "\(arguments[3])-\(round)"
      try await self.client.enqueue { batch in
        var last: UUID?
        for number in 0..<numbers[1] {
          let ticket = try batch.add(
            store, with: LaneNote(lane: lane, number: number), dependsOn: last.map { [$0] } ?? [])
          last = ticket.id
        }
      }
      Self.say("together \(lane)")
    }
  }

  /// Writes a line at once, also into a pipe.
  @Sendable
  private static func say(_ line: String) {
    FileHandle.standardOutput.write(Data("\(line)\n".utf8))
  }

  private func enqueue(_ arguments: [String]) async throws {
    let store = self.client.store(for: self.mutation)
    let numbers = arguments[4...].compactMap { Int($0) }
    for number in 0..<numbers[0] {
      let lane = "\(arguments[3])-\(number % numbers[1])"
      let ticket = try await store.enqueue(with: LaneNote(lane: lane, number: number))
      Self.say("acked \(lane) \(number) \(ticket.idempotencyKey)")
    }
  }

  private func replayBatches(to server: URL) async throws {
    try await self.replay(
      self.mutation.batched(upTo: 10) { notes, _ in try await SendNote.send(notes, to: server) })
  }

  private func replayUploads() async throws {
    let replaying = try self.client.startReplaying(HTTPMutation().durable())
    let events = replaying.replayer.events
    let telling = Task {
      for await event in events {
        if case .progress(_, let progress) = event { Self.say("progress \(progress.sent)") }
        if case .succeeded = event { return }
      }
    }
    await telling.value
    try await self.waitUntilEmpty()
    await replaying.stop()
  }

  private static func mutation(
    of priority: MutationPriority, to server: URL
  ) -> some MutationRequest<LaneNote, Void> {
    SendNote(server: server, label: "\(priority)").persisted(
      as: "send-\(priority)",
      .init(scope: .by { $0.lane }, host: { _ in "notes" }, priority: priority))
  }

  private func enqueueUrgent(to server: URL, count: Int) async throws {
    for (priority, count) in [(MutationPriority.low, count), (.high, 5)] {
      let store = self.client.store(for: Self.mutation(of: priority, to: server))
      for number in 0..<count {
        let lane = "\(priority)-\(number)"
        let ticket = try await store.enqueue(with: LaneNote(lane: lane, number: 0))
        Self.say("acked \(lane) 0 \(ticket.idempotencyKey)")
      }
    }
  }

  private func replay(untilEmpty: Bool = true) async throws {
    try await self.replay(self.mutation, untilEmpty: untilEmpty)
  }

  private func replay<each Mutation: MutationRequest>(
    _ mutations: repeat each Mutation, untilEmpty: Bool = true
  ) async throws {
    let replayer = MutationReplayer(client: self.client)
    for mutation in repeat each mutations { try replayer.register(mutation) }
    let running = Task { try await replayer.run() }
    if untilEmpty {
      try await self.waitUntilEmpty()
      running.cancel()
    }
    try? await running.value
  }

  private func waitUntilEmpty() async throws {
    for await counts in self.storage.outbox.changes where counts.pending + counts.leased == 0 {
      return
    }
  }

  private func mutate(_ arguments: [String]) async {
    do {
      try await self.client.store(for: self.mutation)
        .mutate(with: LaneNote(lane: arguments[3], number: 0))
      Self.say("done")
    } catch {
      Self.say("\(error)")
    }
  }
}
