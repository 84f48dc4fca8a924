import Foundation

extension ServerCheck {
  /// The connection is closed before the answer is read; then the same again.
  func lostAnswer() async throws -> CheckFinding {
    _ = try await self.first()
    let (key, number) = self.newWrite()
    let before = try await self.count()
    let request = try self.write(key, self.target.body(number))
    if let reason = await self.transport(to: request.url).abandon(request) {
      return .unasked("It was not sent: \(reason).")
    }
    // So that the server has had the time to carry it out, or to notice.
    try await Task.sleep(for: .milliseconds(300))
    let outcome = try await self.sendWhileRunning(key, number)
    guard let answer = outcome.answer, answer.isSuccess else {
      return .fails(
        "A write whose answer was lost was answered \(outcome.words) when it was sent again: answer "
          + "a known key as it would have been answered first.")
    }
    guard let growth = try await self.growth(since: before, 1) else {
      return .unasked("Whether it was carried out once, --count-url and --count-path tell.")
    }
    if self.isOnce(growth) { return .holds }
    return .fails(
      "A write whose answer was lost and that was sent again was carried out "
        + "\(Self.times(growth)): commit the key with the write, whether or not the client is still "
        + "there.")
  }

  private static let crowd = 8
  private static let others = 4

  /// The same write eight times at once; then four that have nothing to do with one another.
  func concurrent() async throws -> CheckFinding {
    _ = try await self.first()
    let (key, number) = self.newWrite()
    let before = try await self.count()
    let crowd = try (0..<Self.crowd).map { _ in try self.write(key, self.target.body(number)) }
    let outcomes = try await self.send(crowd)
    if let finding = Self.judge(crowd: outcomes) { return finding }
    let growth = try await self.growth(since: before, 1)
    if let growth, !self.isOnce(growth) {
      return .fails(
        "A write that was sent \(Self.crowd) times at once with one key was carried out "
          + "\(Self.times(growth)): take a lock on the key, or let a unique index refuse the second."
      )
    }
    return try await self.strangers(outcomes)
  }

  private static func judge(crowd: [CheckOutcome]) -> CheckFinding? {
    let successes = crowd.compactMap(\.answer).filter(\.isSuccess)
    let words = Self.words(crowd)
    if successes.isEmpty {
      return .fails("Of \(Self.crowd) same writes at once none succeeded (\(words)).")
    }
    let isRight = crowd.allSatisfy { outcome in
      outcome.answer.map { $0.isSuccess || [409, 425].contains($0.status) } ?? false
    }
    if !isRight {
      return .fails(
        "\(Self.crowd) same writes at once were answered \(words): answer what is under way with 409 "
          + "and Retry-After, or let it wait for the first one's answer.")
    }
    // An empty one is a matter of how an answer is repeated.
    let bodies = successes.filter { !$0.body.isEmpty }
    if bodies.contains(where: { !$0.hasSameBody(as: bodies[0]) }) {
      return .fails(
        "\(Self.crowd) same writes at once had several answers that succeed and differ: take a lock "
          + "on the key, or let a unique index refuse the second.")
    }
    return nil
  }

  /// Writes that must not hold up one another.
  private func strangers(_ crowd: [CheckOutcome]) async throws -> CheckFinding {
    let requests = try (0..<Self.others).map { _ in
      let (key, number) = self.newWrite()
      return try self.write(key, self.target.body(number))
    }
    let outcomes = try await self.send(requests)
    if outcomes.contains(where: { $0.answer?.isSuccess != true }) {
      return .fails(
        "\(Self.others) writes at once with a key of their own each were answered "
          + "\(Self.words(outcomes)): lock the key, and not everything; a write that waits for "
          + "another one's lock is not refused.")
    }
    let conflicts = crowd.compactMap(\.answer).filter { $0.status == 409 }
    if conflicts.contains(where: { $0.headers["retry-after"] == nil }) {
      return .warns(
        "A write that is under way is answered 409 without Retry-After, which a client takes for a "
          + "conflict of contents, and gives up: send Retry-After: 1, or 425.")
    }
    return .holds
  }

  /// As “3 × 201, 5 × 409”.
  private static func words(_ outcomes: [CheckOutcome]) -> String {
    Dictionary(grouping: outcomes, by: \.words).sorted { $0.key < $1.key }
      .map { "\($0.value.count) × \($0.key)" }.joined(separator: ", ")
  }
}
