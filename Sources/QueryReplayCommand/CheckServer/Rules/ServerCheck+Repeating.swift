import Foundation

extension ServerCheck {
  /// The same key and body again: the same status and body.
  func repeats() async throws -> CheckFinding {
    let pair = try await self.firstPair()
    guard let second = pair.second.answer else {
      return .fails(
        "The same write again had no answer (\(pair.second.detail)): answer a known key as it was "
          + "answered first.")
    }
    let statuses = "\(pair.first.status) and then \(second.status)"
    if pair.first.status / 100 != second.status / 100 {
      return .fails(
        "The same write was answered \(statuses): answer a known key with the status and the body "
          + "that it was answered with first.")
    }
    if second.body.isEmpty, !pair.first.body.isEmpty {
      return .fails(
        "The same write again was answered with an empty body (\(statuses)): store the body beside "
          + "the key. A client whose first answer was lost learns the identifier from the second.")
    }
    if !pair.first.hasSameBody(as: second) {
      return .fails(
        "The same write again was answered with another body: store the first answer beside the "
          + "key, and give it again.")
    }
    return .holds
  }

  /// One more in the count, or one identifier.
  func once() async throws -> CheckFinding {
    let pair = try await self.firstPair()
    if let growth = pair.growth {
      if self.isOnce(growth) { return .holds }
      return .fails(
        "A write that was sent twice with one key was carried out \(Self.times(growth)): look for "
          + "the key, and store it, in the transaction that carries the write out.")
    }
    guard let first = pair.first.identity, let second = pair.second.answer?.identity else {
      return .unasked("The answers name no id: give --count-url and --count-path.")
    }
    if first == second { return .holds }
    return .fails(
      "A write that was sent twice with one key has made two things, \(first) and \(second): look "
        + "for the key, and store it, in the transaction that carries the write out.")
  }

  /// A key that is used for two writes.
  func fingerprint() async throws -> CheckFinding {
    let first = try await self.first()
    let other = self.target.otherBody(first.number)
    let outcome = try await self.send([try self.write(first.key, other)])[0]
    guard let answer = outcome.answer else {
      return .warns("A known key with another body had no answer (\(outcome.detail)): answer 422.")
    }
    if [409, 422].contains(answer.status) { return .holds }
    if answer.status == 400 {
      // Perhaps it takes no such body at all.
      let alone = try await self.send([try self.write(self.newWrite().key, other)])[0]
      if alone.answer?.isSuccess == true { return .holds }
      return .unasked(
        "The other body is refused with a key of its own, too (\(alone.words)): give --body with %n, "
          + "so that another one is as good.")
    }
    guard answer.isSuccess else {
      return .warns("A known key with another body was answered \(answer.status): answer 422.")
    }
    let what = answer.isSame(as: first.answer) ? "the first one's answer" : "an answer of its own"
    return .warns(
      "A known key with another body was answered \(answer.status), with \(what): a mistake of the "
        + "client's passes for success. Store a digest of the request beside the key, and answer 422."
    )
  }

  /// The same key with another credential.
  func scope() async throws -> CheckFinding {
    guard let others = self.target.otherHeaders else {
      return .unasked("It needs the credential of another account: --other-header.")
    }
    guard self.target.method == "POST" else { return .unasked("It is asked with POST alone.") }
    let first = try await self.first()
    let before = try await self.count()
    let request = try self.write(first.key, self.target.body(first.number), headers: others)
    let outcome = try await self.send([request])[0]
    guard let answer = outcome.answer else {
      return .warns("The key of another account had no answer (\(outcome.detail)).")
    }
    if [401, 403].contains(answer.status) {
      return .unasked("The other credential was refused with \(answer.status).")
    }
    if !answer.isSuccess {
      return .warns(
        "A key that another account has used was refused with \(answer.status): make the account "
          + "a part of the key, so that none can block another's.")
    }
    guard !answer.body.isEmpty, answer.hasSameBody(as: first.answer) else { return .holds }
    // Some servers answer all writes alike.
    if let growth = try await self.growth(since: before, 1) {
      if self.isOnce(growth) { return .holds }
    } else if answer.identity == nil {
      return .unasked(
        "All answers may be alike, and name no id: give --count-url and --count-path.")
    }
    return .fails(
      "The key of one account was answered to another one with the first one's answer: make the "
        + "account, as the server knows it, a part of the key. Whoever guesses a key reads the answer."
    )
  }
}
