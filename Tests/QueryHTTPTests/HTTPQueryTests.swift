import Foundation
import FoundationNetworking
import Query
import QuerySQLite
import StorageTestSupport
import TestSupport
import Testing

@testable import QueryHTTP

/// What a read keeps beside its value, and what it costs if nothing has changed.
@Suite(.serialized) struct HTTPQueryTests {
  typealias Resource = ValidatingServer.Resource

  private let scratch: HTTPScratch
  private let server: ValidatingServer

  init() throws {
    self.scratch = try HTTPScratch()
    self.server = try ValidatingServer()
  }

  private func query(
    policy: HTTPCachePolicy = .validators, removesOnGone: Bool = false
  ) -> HTTPQuery<[Int]> {
    HTTPQuery(self.server.url("/notes"), policy: policy, removesOnGone: removesOnGone)
  }

  private var asked: [String?] {
    self.server.requests.elements.map { $0.headers["if-none-match"] }
  }

  @Test(arguments: ["\"1\"", "W/\"1\"", "\"1-gzip\"", "unquoted"])
  func anETagIsSentBackAsItCame(_ tag: String) async throws {
    self.server["/notes"] = Resource(
      "[1]", headers: ["ETag": tag, "Last-Modified": "Sun, 06 Nov 1994 08:49:37 GMT"])
    _ = try await self.scratch.client().store(for: self.query().persisted()).fetch()
    try await self.scratch.relaunch()
    let store = self.scratch.client().store(for: self.query().persisted())
    self.scratch.clock.advance(by: 60)
    #expect(try await store.fetch() == [1])
    #expect(self.asked == [nil, tag])
    #expect(self.server.answers.elements == ["200 /notes", "304 /notes"])
    #expect(store.valueUpdateCount == 2)
    #expect(store.valueLastUpdatedAt == self.scratch.clock.now())
    #expect(self.server.requests.elements.last?.headers["if-modified-since"] == nil)
  }

  /// A server may say which writes are in its answer: an edit that counts is not counted twice, whether the
  /// answer is new (200) or as before (304).
  @Test func theReceiptOfAnAnswerIsToldAndConfirmed() async throws {
    struct Add: MutationRequest, Hashable {
      func mutate(
        with number: Int, in context: QueryContext, with continuation: QueryContinuation<Int>
      ) async throws -> Int {
        throw HTTPStatusError(statusCode: 503)
      }
    }
    let query = self.query()
    let add = Add().persisted(as: "add")
      .optimistic(
        on: { _ in query }, { numbers, number, _ in numbers = (numbers ?? []) + [number] })
    let client = self.scratch.client()
    try client.register(add)
    let notes = client.store(for: query.persisted())
    let ticket = try await client.store(for: add).enqueue(with: 7)
    #expect(notes.currentValue == [7])
    let key = try #require(try self.scratch.storage.outbox.entry(ticket.id)?.idempotencyKey)
    self.server["/notes"] = Resource(
      "[1,7]", headers: ["ETag": "1", "Idempotency-Applied": "other, \(key)"])
    for _ in 0..<2 {
      _ = try await notes.fetch()
      #expect(notes.currentValue == [1, 7])
    }
    #expect(self.asked == [nil, "1"])
  }

  /// By a client's default of three retries.
  @Test(arguments: [
    (404, nil, []), (503, "2", [2.0, 2, 4]), (429, "31", []), (503, "soon", [1, 2, 4]),
    (503, "-5", [1, 2, 4]), (503, "Thu, 01 Jan 1970 00:00:00 GMT", [1, 2, 4]),
  ])
  func whatMayPassIsAskedForAgainAfterTheWaitThatTheServerNames(
    _ status: Int, _ wait: String?, _ delays: [TimeInterval]
  ) async throws {
    self.server["/notes"] = Resource(
      "", headers: wait.map { ["Retry-After": $0] } ?? [:], status: status)
    let delayer = RecordingDelayer()
    let client = QueryClient(
      storage: self.scratch.storage, storeCreator: .default(retryLimit: 3, delayer: delayer))
    let store = client.store(for: self.query().persisted())
    let error = await #expect(throws: HTTPStatusError.self) { try await store.fetch() }
    #expect(error?.statusCode == status)
    #expect(delayer.delays == delays)
    #expect(self.asked.count == delays.count + 1)
    self.server["/notes"] = Resource("[1]")
    #expect(try await store.fetch() == [1])
  }

  /// A server may send something else the next time; a write of it has arrived.
  @Test func anAnswerThatIsNoneIsAskedForAgainAndAWriteIsNotSentAgain() async throws {
    self.server["/notes"] = Resource("no list")
    let client = QueryClient(
      storage: self.scratch.storage, storeCreator: .default(retryLimit: 3, delayer: .noDelay))
    await #expect(throws: HTTPBodyError.self) {
      try await client.store(for: self.query().persisted()).fetch()
    }
    #expect(self.asked.count == 4)
    var request = URLRequest(url: self.server.url("/notes"))
    request.httpMethod = "POST"
    let add = BlockMutation<Int, Int>(["add"]) { [request] _, _ in
      try await HTTPTransport.shared.answer(to: request, limit: 2).0.count
    }
    await #expect(throws: HTTPBodyError.self) { try await client.store(for: add).mutate(with: 1) }
    #expect(self.asked.count == 5)
  }

  @Test func aDateIsSentBackWhereThereIsNoETag() async throws {
    let date = "Sun, 06 Nov 1994 08:49:37 GMT"
    self.server["/notes"] = Resource("[1]", headers: ["Last-Modified": date])
    let store = self.scratch.client().store(for: self.query().persisted())
    for _ in 0..<2 { #expect(try await store.fetch() == [1]) }
    #expect(self.server.requests.elements.map { $0.headers["if-modified-since"] } == [nil, date])
    #expect(self.server.answers.elements == ["200 /notes", "304 /notes"])
  }

  @Test func changedAnswerTakesThePlace() async throws {
    self.server["/notes"] = Resource("[1]", headers: ["ETag": "1"])
    let store = self.scratch.client().store(for: self.query().persisted())
    try await store.fetch()
    self.server["/notes"] = Resource("[1,2]", headers: ["ETag": "2"])
    for _ in 0..<2 { #expect(try await store.fetch() == [1, 2]) }
    #expect(self.asked == [nil, "1", "2"])
  }

  @Test func anotherETagOfTheSameAnswerIsTakenOver() async throws {
    let server = try LoopbackServer { request, number in
      number == 1
        ? .status(200, headers: ["ETag": "1"], body: "[1]") : .status(304, headers: ["ETag": "2"])
    }
    let query = HTTPQuery(server.url, as: [Int].self).persisted()
    _ = try await self.scratch.client().store(for: query).fetch()
    _ = try await self.scratch.client().store(for: query).fetch()
    try await self.scratch.relaunch()
    #expect(try await self.scratch.client().store(for: query).fetch() == [1])
    #expect(server.requests.elements.map { $0.headers["if-none-match"] } == [nil, "1", "2"])
  }

  @Test func withoutValidatorsAllIsAskedForEachTime() async throws {
    self.server["/notes"] = Resource("[1]")
    let store = self.scratch.client().store(for: self.query().persisted())
    for _ in 0..<2 { #expect(try await store.fetch() == [1]) }
    self.server["/notes"] = Resource("[2]", headers: ["ETag": "1"])
    let plain = self.scratch.client().store(for: self.query(policy: .none).persisted())
    for _ in 0..<2 { #expect(try await plain.fetch() == [2]) }
    #expect(self.asked == [nil, nil, nil, nil])
  }

  /// The continuation is not the fetch's own, so that there is nothing to keep.
  @Test func confirmationOfAValueThatIsNotThereIsAskedOnceMore() async throws {
    self.server["/notes"] = Resource("[1]", headers: ["ETag": "1"])
    let (query, isApart) = (self.query(), Locked(false))
    let apart = BlockQuery<[Int]>(["apart"]) { context, continuation in
      guard isApart.withLock({ $0 }) else {
        return try await query.fetch(in: context, with: continuation)
      }
      return try await Task.detached {
        try await query.fetch(in: context, with: QueryContinuation { _, _ in })
      }.value
    }
    let store = self.scratch.client().store(for: apart.persisted())
    try await store.fetch()
    isApart.withLock { $0 = true }
    #expect(try await store.fetch() == [1])
    #expect(self.asked == [nil, "1", nil])
    #expect(self.server.answers.elements == ["200 /notes", "304 /notes", "200 /notes"])
  }

  @Test func unaskedConfirmationIsAnError() async throws {
    let server = try LoopbackServer { _, _ in .status(304) }
    let store = self.scratch.client().store(for: HTTPQuery(server.url, as: [Int].self))
    await #expect(throws: HTTPStatusError(statusCode: 304)) { try await store.fetch() }
    #expect(server.requests.count == 1)
  }

  /// No read asks for a part of its value.
  @Test func aPartIsNotTheValue() async throws {
    let part = Resource(
      "[1]", headers: ["ETag": "1", "Content-Range": "bytes 0-2/9"], status: 206)
    self.server["/notes"] = part
    let store = self.scratch.client().store(for: self.query().persisted())
    await #expect(throws: HTTPStatusError(statusCode: 206)) { try await store.fetch() }
    #expect(store.currentValue == nil)
    #expect(try await self.scratch.storedValueCount() == 0)
    self.server["/notes"] = Resource("[1,2,3]", headers: ["ETag": "2"])
    try await store.fetch()
    self.server["/notes"] = part
    await #expect(throws: HTTPStatusError(statusCode: 206)) { try await store.fetch() }
    #expect(store.currentValue == [1, 2, 3])
    #expect(self.asked == [nil, nil, "2"])
  }

  @Test func whatMustNotBeStoredIsShownAndRemovesWhatIsThere() async throws {
    self.server["/notes"] = Resource("[1]", headers: ["ETag": "1"])
    let query = self.query().persisted()
    let store = self.scratch.client().store(for: query)
    try await store.fetch()
    #expect(try await self.scratch.storedValueCount() == 1)
    self.server["/notes"] = Resource(
      "[2]", headers: ["ETag": "2", "Cache-Control": "private, No-Store"])
    #expect(try await store.fetch() == [2])
    #expect(store.currentValue == [2])
    #expect(try await self.scratch.storedValueCount() == 0)
    store.invalidate()
    #expect(try await self.scratch.storedValueCount() == 0)
    try await self.scratch.relaunch()
    let later = self.scratch.client().store(for: query)
    #expect(later.currentValue == nil)
    self.server["/notes"] = Resource("[3]")
    try await later.fetch()
    #expect(self.asked == [nil, "1", nil])
    #expect(try await self.scratch.storedValueCount() == 1)
  }

  @Test func whatMustNoLongerBeStoredIsRemovedAlthoughItHasNotChanged() async throws {
    self.server["/notes"] = Resource("[1]", headers: ["ETag": "1"])
    let store = self.scratch.client().store(for: self.query().persisted())
    try await store.fetch()
    self.server["/notes"] = Resource("[1]", headers: ["ETag": "1", "Cache-Control": "no-store"])
    #expect(try await store.fetch() == [1])
    #expect(self.server.answers.elements == ["200 /notes", "304 /notes"])
    #expect(try await self.scratch.storedValueCount() == 0)
    try await store.fetch()
    #expect(self.asked == [nil, "1", nil])
  }

  @Test(arguments: [404, 410])
  func whatIsGoneIsAnErrorBesideTheValueUnlessItRemoves(_ status: Int) async throws {
    self.server["/notes"] = Resource("[1]", headers: ["ETag": "1"])
    let kept = self.scratch.client().store(for: self.query().persisted())
    try await kept.fetch()
    self.server["/notes"] = Resource("secret", status: status)
    await #expect(throws: HTTPStatusError(statusCode: status)) { try await kept.fetch() }
    #expect(kept.currentValue == [1])
    #expect(kept.error as? HTTPStatusError == HTTPStatusError(statusCode: status))
    #expect(try await self.scratch.storedValueCount() == 1)

    let removing = self.scratch.client().store(for: self.query(removesOnGone: true).persisted())
    #expect(removing.currentValue == [1])
    await #expect(throws: HTTPStatusError(statusCode: status)) { try await removing.fetch() }
    #expect(removing.currentValue == nil)
    #expect(removing.error as? HTTPStatusError == HTTPStatusError(statusCode: status))
    #expect(!removing.isLoading)
    #expect(removing.valueUpdateCount == 0)
    #expect(try await self.scratch.storedValueCount() == 0)
    self.server["/notes"] = Resource("[2]")
    #expect(try await removing.fetch() == [2])
    #expect(self.asked.last == .some(nil))
  }

  @Test func whatIsGoneForAnAttemptThatIsTriedAgainIsNotRemoved() async throws {
    let server = try LoopbackServer { _, number in
      number == 2 ? .status(410) : .status(200, headers: ["ETag": "\(number)"], body: "[1]")
    }
    let query = HTTPQuery(server.url, as: [Int].self, removesOnGone: true)
      .retry(limit: 1) { _ in true }.backoff(.noBackoff).persisted()
    let store = self.scratch.client().store(for: query)
    try await store.fetch()
    #expect(try await store.fetch() == [1])
    #expect(store.valueUpdateCount == 2)
    #expect(
      server.requests.elements.map { $0.headers["if-none-match"] } == [nil, "1", "1"])
  }

  @Test func serverSaysHowLongAValueIsFresh() async throws {
    self.server["/notes"] = Resource(
      "[1]", headers: ["ETag": "1", "Cache-Control": "max-age=100", "Age": "40"])
    let query = self.query(policy: .serverFreshness).stale(after: 1).persisted()
    try await self.scratch.client().store(for: query).fetch()
    try await self.scratch.relaunch()
    let store = self.scratch.client().store(for: query)
    self.scratch.clock.advance(by: 59)
    #expect(!store.isStale)
    self.scratch.clock.advance(by: 2)
    #expect(store.isStale)
    // Confirmed without a word about its age: that of the first answer.
    self.server["/notes"] = Resource("[1]", headers: ["ETag": "1"])
    try await store.fetch()
    #expect(self.server.answers.elements.last == "304 /notes")
    self.scratch.clock.advance(by: 59)
    #expect(!store.isStale)
    self.scratch.clock.advance(by: 2)
    #expect(store.isStale)
  }

  @Test func aValueStaysBesideAnErrorHoweverOldItMayBe() async throws {
    self.server["/notes"] = Resource(
      "[1]", headers: ["Cache-Control": "max-age=1, stale-if-error=2"])
    let store = self.scratch.client().store(
      for: self.query(policy: .serverFreshness).persisted())
    try await store.fetch()
    self.server["/notes"] = Resource("down", status: 503)
    self.scratch.clock.advance(by: 1_000)
    await #expect(throws: HTTPStatusError(statusCode: 503)) { try await store.fetch() }
    #expect(store.currentValue == [1])
    #expect(store.isStale)
  }

  @Test(arguments: ["*", "Accept, *"])
  func anAnswerThatDependsOnAnythingIsNotAskedAbout(_ vary: String) async throws {
    self.server["/notes"] = Resource("[1]", headers: ["ETag": "1", "Vary": vary])
    let store = self.scratch.client().store(for: self.query().persisted())
    for _ in 0..<2 { try await store.fetch() }
    #expect(self.asked == [nil, nil])
  }

  @Test func eachLanguageHasAValueOfItsOwn() async throws {
    let server = try LoopbackServer { request, _ in
      let language = request.headers["accept-language"] ?? ""
      return request.headers["if-none-match"] == language
        ? .status(304)
        : .status(
          200, headers: ["ETag": language, "Vary": "Accept-Language"], body: "\"\(language)\"")
    }
    let client = self.scratch.client()
    for language in ["de", "sv", "de"] {
      let query = HTTPQuery(
        server.url, headers: ["Accept-Language": language], as: String.self)
      #expect(try await client.store(for: query.persisted()).fetch() == language)
    }
    #expect(server.requests.elements.map { $0.headers["if-none-match"] } == [nil, nil, "de"])
  }

  @Test func noValidatorCrossesAccounts() async throws {
    self.server["/notes"] = Resource("[1]", headers: ["ETag": "1"])
    let secret = HTTPCredential(for: [self.server.url("/")]) { ["Authorization": "hushhush"] }
    let credentials = HTTPCredentials(["a": secret, "b": secret])
    let client = self.scratch.client { $0.httpCredentials = credentials }
    for name in [nil, "a", "b", "a"] {
      let query = HTTPQuery(self.server.url("/notes"), credential: name, as: [Int].self)
      #expect(!"\(query.path)".contains("hushhush"))
      try await client.store(for: query.persisted()).fetch()
    }
    #expect(self.asked == [nil, nil, nil, "1"])
    let sent = self.server.requests.elements.map { $0.headers["authorization"] }
    #expect(sent == [nil, "hushhush", "hushhush", "hushhush"])
    try await self.scratch.storage.close()
    #expect(try self.scratch.folder.files(containing: "hushhush") == [])
    let other = QueryClient(storage: try self.scratch.folder.storage(partition: "other"))
    let query = HTTPQuery(self.server.url("/notes"), as: [Int].self)
    try await other.store(for: query.persisted()).fetch()
    #expect(self.asked.last == .some(nil))
  }

  @Test func aMissingCredentialIsAnErrorAndNothingIsSent() async throws {
    let query = HTTPQuery(self.server.url("/notes"), credential: "a", as: [Int].self)
    let store = self.scratch.client().store(for: query)
    await #expect(throws: HTTPCredentialError.unknown(name: "a")) { try await store.fetch() }
    #expect(self.server.requests.count == 0)
  }

  @Test func headersThatMayHoldSecretsAreNeitherSentNorKept() async throws {
    let query = HTTPQuery(
      self.server.url("/notes"), headers: ["Cookie": "hushhush"], as: [Int].self)
    #expect(!"\(query.path)".contains("hushhush"))
    let store = self.scratch.client().store(for: query.persisted())
    await #expect(throws: HTTPRequestError.headerNotAllowed("Cookie")) { try await store.fetch() }
    #expect(self.server.requests.count == 0)
  }

  @Test func aValidatorBelongsToTheURLThatAnswered() async throws {
    self.server["/notes"] = Resource("", headers: ["Location": "/first?sig=hushhush"], status: 302)
    self.server["/first?sig=hushhush"] = Resource("[1]", headers: ["ETag": "1"])
    self.server["/second"] = Resource("[2]", headers: ["ETag": "1"])
    let store = self.scratch.client().store(for: self.query().persisted())
    for _ in 0..<2 { #expect(try await store.fetch() == [1]) }
    #expect(self.asked == [nil, nil, nil, "1"])
    self.server["/notes"] = Resource("", headers: ["Location": "/second"], status: 302)
    #expect(try await store.fetch() == [2])
    #expect(self.asked.suffix(2) == [nil, nil])
    try await self.scratch.storage.close()
    #expect(try self.scratch.folder.files(containing: "hushhush") == [])
  }

  @Test func aRedirectToAnotherOriginGetsNoCredential() async throws {
    let other = try ValidatingServer(["/notes": Resource("[1]")])
    self.server["/notes"] = Resource(
      "", headers: ["Location": other.url("/notes").absoluteString], status: 307)
    let secret = HTTPCredential(for: [self.server.url("/")]) { ["Authorization": "hushhush"] }
    let client = self.scratch.client { $0.httpCredentials = HTTPCredentials(["a": secret]) }
    let query = HTTPQuery(self.server.url("/notes"), credential: "a", as: [Int].self)
    #expect(try await client.store(for: query).fetch() == [1])
    #expect(other.requests.elements.map { $0.headers["authorization"] } == [nil])
  }

  @Test func aNewerValueOfAnotherProcessComesWithItsValidator() async throws {
    self.server["/notes"] = Resource("[1]", headers: ["ETag": "1"])
    let query = self.query().persisted()
    let store = self.scratch.client().store(for: query)
    try await store.fetch()
    try await self.scratch.storage.flush()
    let other = try HTTPScratch(folder: self.scratch.folder)
    self.server["/notes"] = Resource("[2]", headers: ["ETag": "2"])
    try await other.client().store(for: query).fetch()
    try await other.storage.close()
    #expect(try await store.fetch() == [2])
    // Whichever value it asked by, it was that value's own validator.
    #expect(["1", "2"].contains(self.asked.last))
    try await self.scratch.relaunch()
    #expect(try await self.scratch.client().store(for: query).fetch() == [2])
    #expect(self.asked.last == "2")
  }

  @Test func aValidatorThatDoesNotFitIsLeftOut() async throws {
    let long = String(repeating: "x", count: 5_000)
    let date = "Sun, 06 Nov 1994 08:49:37 GMT"
    self.server["/notes"] = Resource("[1]", headers: ["ETag": long, "Last-Modified": date])
    let store = self.scratch.client().store(for: self.query().persisted())
    for _ in 0..<2 { try await store.fetch() }
    #expect(self.asked == [nil, nil])
    #expect(self.server.answers.elements == ["200 /notes", "304 /notes"])
    self.server["/notes"] = Resource("[2]", headers: ["ETag": long])
    for _ in 0..<2 { #expect(try await store.fetch() == [2]) }
  }

  @Test(arguments: ["", "\"a\u{1}b\"", "\"a\u{7f}\""])
  func aValidatorThatCannotBeSentBackIsLeftOut(_ tag: String) async throws {
    self.server["/notes"] = Resource("[1]", headers: ["ETag": tag])
    let store = self.scratch.client().store(for: self.query().persisted())
    for _ in 0..<2 { #expect(try await store.fetch() == [1]) }
    #expect(self.asked == [nil, nil])
  }

  @Test func packedAnswersAreUnpacked() async throws {
    // [1,2,3], packed by gzip.
    let packed: [UInt8] = [
      0x1f, 0x8b, 0x08, 0x00, 0x00, 0x00, 0x00, 0x00, 0x02, 0x03, 0x8b, 0x36,
      0xd4, 0x31, 0xd2, 0x31, 0x8e, 0x05, 0x00, 0xe9, 0xb3, 0x6d, 0xfd, 0x07,
      0x00, 0x00, 0x00,
    ]
    let server = try LoopbackServer { request, _ in
      request.headers["if-none-match"] == "\"1-gzip\""
        ? .status(304)
        : .bytes(200, headers: ["Content-Encoding": "gzip", "ETag": "\"1-gzip\""], packed)
    }
    let store = self.scratch.client().store(
      for: HTTPQuery(server.url, as: [Int].self).persisted())
    for _ in 0..<2 { #expect(try await store.fetch() == [1, 2, 3]) }
    let asked = server.requests.elements.map { $0.headers["if-none-match"] }
    #expect(asked == [nil, "\"1-gzip\""])
  }

  @Test func errorsSayNothingOfWhatWasSent() async throws {
    self.server["/notes?key=hushhush"] = Resource("{\"name\": \"hushhush\"}")
    let query = HTTPQuery(self.server.url("/notes?key=hushhush"), as: [Int].self)
    let store = self.scratch.client().store(for: query)
    let error = await #expect(throws: HTTPBodyError.self) { try await store.fetch() }
    let undecodable = "The answer is no Array<Int>. Compare the type with what the server sends."
    #expect(error.map { "\($0)" } == undecodable)
    self.server["/notes?key=hushhush"] = Resource("hushhush", status: 500)
    await #expect(throws: HTTPStatusError(statusCode: 500)) { try await store.fetch() }
    let limited = self.scratch.client { $0.httpAnswerLimit = 3 }
    self.server["/notes?key=hushhush"] = Resource("[1,2,3]")
    let long = await #expect(throws: HTTPBodyError.self) {
      try await limited.store(for: query).fetch()
    }
    let tooLong = "The answer is longer than 3 bytes. Ask for less, or raise httpAnswerLimit."
    #expect(long.map { "\($0)" } == tooLong)
  }

  @Test func aPortalsPageIsNotTheValue() async throws {
    self.server["/photo"] = Resource("<html>", headers: ["Content-Type": "text/html"])
    let query = HTTPQuery(
      self.server.url("/photo"), as: Data.self,
      expects: HTTPExpectation(contentTypes: ["image/"]))
    let store = self.scratch.client().store(for: query.persisted())
    await #expect(throws: HTTPForeignAnswerError.contentType("text/html")) {
      try await store.fetch()
    }
    self.server["/photo"] = Resource(
      "jpeg", headers: ["Content-Type": "image/jpeg", "ETag": "1"])
    for _ in 0..<2 { #expect(try await store.fetch() == Data("jpeg".utf8)) }
    #expect(self.server.answers.elements.last == "304 /photo")
  }
}
