import Foundation

extension ServerCheck {
  /// A read right after a write has it.
  func readsOwnWrites() async throws -> CheckFinding {
    _ = try await self.first()
    let (key, number) = self.newWrite()
    let before = try await self.count()
    let outcome = try await self.send(key, number)
    guard let answer = outcome.answer, answer.isSuccess else {
      return .unasked("The write was answered \(outcome.words).")
    }
    if let url = self.readURL(of: answer) {
      let read = try await self.get(url)
      guard let page = read.answer, page.isSuccess else { return Self.isBehind }
      // A place of its own is there or not; a list has it or not.
      if self.target.readURL?.contains("{id}") ?? true { return .holds }
      guard let id = answer.identity else {
        return .unasked("The answers name no id to look for: give --read-url with {id}.")
      }
      return page.mentions(id) ? .holds : Self.isBehind
    }
    guard let before, let now = try await self.count() else {
      return .unasked("It needs --read-url, a Location in the answer, or --count-url.")
    }
    guard self.target.method == "POST" else { return .unasked("It needs --read-url.") }
    if now - before != 0, !self.hasLagged { return .holds }
    return Self.isBehind
  }

  private static let isBehind = CheckFinding.warns(
    "A read right after the write did not have it: what a person has entered vanishes for a while. "
      + "Read what a write was made to, or name in Idempotency-Applied what an answer includes.")

  private func readURL(of answer: CheckAnswer) -> URL? {
    if let text = self.target.readURL {
      let id = (answer.identity ?? "")
        .addingPercentEncoding(withAllowedCharacters: .alphanumerics.union(["-", ".", "_", "~"]))
      return URL(string: text.replacingOccurrences(of: "{id}", with: id ?? ""))
    }
    // Nobody else is asked for what this server says.
    let url = answer.headers["location"].flatMap { URL(string: $0, relativeTo: self.target.url) }
    guard let url = url?.absoluteURL, url.host() == self.target.url.host(),
      url.port == self.target.url.port, url.scheme == self.target.url.scheme
    else { return nil }
    return url
  }

  /// A read that is repeated is answered 304.
  func validators() async throws -> CheckFinding {
    let answer =
      self.target.readURL == nil && self.target.count != nil
      ? nil : try await self.first().answer
    guard let url = answer.flatMap(self.readURL(of:)) ?? self.target.count?.url else {
      return .unasked("It needs --read-url, a Location in the answer, or --count-url.")
    }
    let read = try await self.get(url)
    guard let tag = read.answer?.headers["etag"] else {
      return .hint("What is read has no ETag: with one, what has not changed is not sent again.")
    }
    let again = try await self.get(url, [CheckHeader("If-None-Match", tag)])
    if again.answer?.status == 304 { return .holds }
    return .hint("If-None-Match with the ETag that was given is answered \(again.words), not 304.")
  }
}
