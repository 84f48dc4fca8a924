import Foundation
import ToolSupport

extension ServerCheck {
  /// As long as a client's history has its keys.
  private static let longEnough = Duration.seconds(30 * 86_400)

  /// A key of an earlier run is still known.
  func keeps() async throws -> CheckFinding {
    guard let keyFile else {
      return .unasked("It needs a key of an earlier run: --keys FILE, and --older-than there.")
    }
    let mine = try keyFile.read().filter {
      $0.url == self.target.url.absoluteString && $0.method == self.target.method
    }
    let first = try await self.first()
    try keyFile.add(
      KeyFile.Known(
        url: self.target.url.absoluteString, method: self.target.method, key: first.key, at: Date(),
        body: self.target.body(first.number), status: first.answer.status,
        answer: first.answer.body))
    guard let olderThan else {
      return .unasked("A key of this run is kept: ask for it later, by --older-than.")
    }
    let limit = Date(timeIntervalSinceNow: -(olderThan / .seconds(1)))
    guard let known = mine.filter({ $0.at <= limit }).max(by: { $0.at < $1.at }) else {
      return .unasked("\(keyFile.path) has no key of this server that is so old.")
    }
    let request = try self.write(known.key, known.body)
    let outcome = try await self.send([request])[0]
    let old = CheckAnswer(status: known.status, headers: [:], body: known.answer)
    if let answer = outcome.answer, answer.isSame(as: old) {
      if olderThan >= Self.longEnough { return .holds }
      return CheckFinding(verdict: .holds, says: "Ask again when the key is 30 days old.")
    }
    return .warns(
      "A key of \(known.at.formatted(.iso8601)) is not known any more (\(outcome.words)): keep keys "
        + "for 30 days. A client that was offline for so long sends its writes again.")
  }

  /// The server is killed between a write and its answer.
  func survives() async throws -> CheckFinding {
    guard let kill = self.target.kill, let start = self.target.start else {
      return .unasked("It needs --kill-command and --start-command.")
    }
    let server = ServerProcess(kill: kill, start: start, url: self.target.url)
    let first = try await self.first()
    try await server.fire(try server.arm())
    try await server.launch()
    let outcome = try await self.sendWhileRunning(first.key, first.number)
    // How it repeats an answer is asked elsewhere.
    let answers = [first.answer, self.pair?.second.answer].compactMap(\.self)
    guard let answer = outcome.answer, answers.contains(where: answer.isSame) else {
      return .fails(
        "After it was killed and started, the server did not know a key that it had answered "
          + "(\(outcome.words)): store keys where the writes are, on disk.")
    }
    guard self.target.count != nil else {
      return .unasked(
        "A key is known after a restart; what a kill leaves between a write and its answer, "
          + "--count-url and --count-path tell.")
    }
    let rounds = self.writesLeft / 2
    for round in 0..<rounds where self.writesLeft > 1 {
      // Spread over the time that a write takes, and a bit more.
      let delay = self.latency * 1.2 * (Double(round) + 0.5) / Double(rounds)
      do {
        if let finding = try await self.killed(server, after: delay) { return finding }
      } catch is OutOfWrites {
        // A server that says for a while that a write is under way takes more of them than two a round.
        return round > 0 ? .holds : .noWriteLeft
      }
    }
    return rounds > 0 ? .holds : .noWriteLeft
  }

  private func killed(_ server: ServerProcess, after delay: Double) async throws -> CheckFinding? {
    let (key, number) = self.newWrite()
    let before = try await self.count()
    let request = try self.write(key, self.target.body(number))
    let armed = try server.arm()
    let transport = self.transport(to: request.url)
    async let lost = transport.outcomes(of: [request])
    try await Task.sleep(for: .seconds(delay))
    try await server.fire(armed)
    _ = await lost
    try await server.launch()
    let again = try await self.sendWhileRunning(key, number)
    guard let answer = again.answer, answer.isSuccess else {
      return .fails(
        "A write during which the server was killed was answered \(again.words) when it was sent "
          + "again: what a killed process has begun must be nothing, or done.")
    }
    guard let growth = try await self.growth(since: before, 1), !self.isOnce(growth) else {
      return nil
    }
    return .fails(
      "A write during which the server was killed, and that was sent again, was carried out "
        + "\(Self.times(growth)): commit the key in the same transaction as the write, neither before "
        + "nor after.")
  }
}
