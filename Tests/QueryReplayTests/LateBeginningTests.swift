import Foundation
import Query
import QuerySQLite
import TestSupport
import Testing

@testable import QueryReplay

/// A process that does not move, or cannot write, for so long that its lease is over before its call begins.
@Suite(.warningsAreIssues) struct LateBeginningTests {
  /// Arguments that are read slowly, once.
  private struct Slow: Codable, Sendable {
    @TaskLocal static var pause: (@Sendable () -> Void)?
    var text: String
    private enum CodingKeys: CodingKey { case text }

    init(text: String) { self.text = text }

    init(from decoder: any Decoder) throws {
      self.text = try decoder.container(keyedBy: CodingKeys.self).decode(String.self, forKey: .text)
      Self.pause?()
    }
  }

  @Test(arguments: [false, true])
  func noCallBeginsOnceItsLeaseIsAsGoodAsOver(_ isLate: Bool) async throws {
    let folder = try ScratchFolder()
    let clock = ManualClock()
    var configuration = SQLiteQueryStorage.Configuration()
    configuration.outboxClock = clock.outboxClock
    let storage = try SQLiteQueryStorage(directory: folder.url, configuration: configuration)
    let client = QueryClient(storage: storage)
    let numbers = Recorder<Int>()
    let send = BlockMutation(["send"]) { (_: Slow, context) in
      if let attempt = context.mutationAttempt { numbers.append(attempt.number) }
    }
    .persisted(as: "send", .init(scope: .named("notes")))
    let ticket = try await client.store(for: send).enqueue(with: Slow(text: "a"))
    var replaying = ReplayConfiguration()
    replaying.clock = clock.replayClock
    let replayer = MutationReplayer(
      client: client, network: MockNetworkObserver(), configuration: replaying)
    try replayer.register(send)
    let length = configuration.leaseLength
    let isFirst = Locked(true)
    let pause: @Sendable () -> Void = {
      let isNow = isFirst.withLock { isFirst in
        defer { isFirst = false }
        return isFirst
      }
      if isNow { clock.advance(by: isLate ? length * 9 / 10 : length / 2) }
    }
    let run = Slow.$pause.withValue(pause) { Task { try await replayer.run() } }
    try await ticket.outcome()
    #expect(numbers.elements == [isLate ? 2 : 1])
    run.cancel()
    _ = await run.result
    try await storage.close()
  }
}
