import Foundation
import Query
import QueryReplay
import Testing

@testable import Query
@testable import QueryHTTP

/// Each error that the library throws says what happened, to which query, mutation or file as far as it can
/// know that, and what to do about it.
@Suite struct PublicErrorsTests {
  @Test(arguments: Told.all) func saysWhatHappenedToWhatAndWhatToDo(_ told: Told) {
    let text = "\(told.error)"
    #expect(text.contains(told.what))
    #expect(text.contains(told.remedy))
    // A developer's `print` shows what is kept and shown, too.
    #expect(RestoredError(told.error).text == text)
  }

  /// One that is added has to be told of above.
  @Test func eachPublicErrorIsHere() throws {
    var declared = Set<String>()
    for module in Self.modules {
      let files = FileManager.default.enumerator(
        at: Self.sources.appending(path: module), includingPropertiesForKeys: nil)
      for case let file as URL in try #require(files) where file.pathExtension == "swift" {
        let text = try String(contentsOf: file, encoding: .utf8)
        for match in text.matches(of: /\npublic (?:struct|enum) (\w+): Error\b/) {
          declared.insert(String(match.1))
        }
      }
    }
    #expect(declared.count > 20)
    #expect(declared == Set(Told.all.map { "\(type(of: $0.error))" }))
  }

  /// Those that a program imports. The tools' errors are texts of theirs.
  private static let modules = [
    "Query", "QueryHTTP", "QueryReplay", "QuerySQLite", "SystemJournal", "SystemMainLoop",
    "SystemNetwork",
  ]

  private static var sources: URL {
    var root = URL(filePath: #filePath)
    for _ in 0..<3 { root.deleteLastPathComponent() }
    return root.appending(path: "Sources")
  }
}

/// An error, and two parts of its text.
struct Told: Sendable, CustomTestStringConvertible {
  let error: any Error
  /// What it happened to; of an error that cannot know that, what happened.
  let what: String
  /// What to do about it.
  let remedy: String

  init(_ error: any Error, _ what: String, _ remedy: String) {
    (self.error, self.what, self.remedy) = (error, what, remedy)
  }

  var testDescription: String { "\(type(of: self.error)), \(self.what)" }

  static let all =
    Self.ofQueries + Self.ofMutations + Self.ofPacks + Self.ofStorage + Self.ofOrigins + Self.ofHTTP
}

// MARK: - The errors

extension Told {
  private static let id = UUID()
  private static let origin = URL(string: "https://example.org").flatMap { HTTPOrigin($0) }

  private static let ofQueries = [
    Told(QueryTimeoutError(duration: .seconds(2), query: "Notes"), "Notes", "allow it more time"),
    Told(QueryTimeoutError(duration: .seconds(2)), "An attempt", "allow it more time"),
    Told(QueryCircularFetchError(paths: [["notes"], ["notes"]]), "notes", "return without it"),
    Told(QueryUnchangedError.noValue, "there is none", "Ask the server for all of it"),
    Told(
      QueryIdentityError.notRepresentable(element: .init(1), type: "App.Note"), "App.Note",
      "PersistenceOptions(identity:)"),
    Told(
      RestoredError(HTTPStatusError(statusCode: 503)), "status 503", "Try again later."),
  ]

  private static let ofMutations = [
    Told(
      MissingMutationArgumentsError(mutation: "Rename"), "Rename", "Call `mutate(with:)` first."),
    Told(
      MutationQueuedError(id: Self.id, idempotencyKey: "k", waitReason: .offline), "\(Self.id)",
      "will be sent"),
    Told(
      MutationDeadError(id: Self.id, reason: .rejected), "\(Self.id)",
      "until it is retried or discarded"),
    Told(MutationEndedError(id: Self.id, reason: .cancelled), "\(Self.id)", "Enqueue another one."),
    Told(MutationEndedError(id: Self.id, reason: .discarded), "\(Self.id)", "Enqueue another one."),
    Told(MutationEndedError(id: Self.id, reason: .superseded), "\(Self.id)", "took its place"),
    Told(
      MutationEndedError(id: Self.id, reason: .succeeded), "\(Self.id)", "Fetch what it changed."),
    Told(MutationEndedError(id: Self.id, reason: .unknown), "\(Self.id)", "Fetch what it would"),
    Told(MutationWaitError(), "durable mutation", "enqueue that with dependsOn:"),
    Told(MutationAliasError(alias: "draft-1"), "draft-1", "Let the mutation throw this error"),
    Told(
      MutationAppliedError(underlying: HTTPBodyError.tooLong(limit: 1)), "carried the mutation out",
      "raise httpAnswerLimit"),
    Told(
      MutationUnreachedError(underlying: HTTPStatusError(statusCode: 511)), "not reached",
      "Sign in to the network"),
    Told(OutboxError.unknown(Self.id), "\(Self.id)", "is another account's"),
    Told(OutboxError.running(Self.id), "\(Self.id)", "Wait until its attempt has ended."),
    Told(OutboxError.ended(Self.id), "\(Self.id)", "Enqueue another one."),
    Told(OutboxError.notDead(Self.id), "\(Self.id)", "cancel it"),
    Told(OutboxError.unknownDependencies([Self.id]), "\(Self.id)", "Enqueue them first"),
    Told(OutboxError.aliasTaken("draft-1"), "draft-1", "never used again"),
    Told(OutboxError.otherCoder(Self.id, name: "xml"), "\(Self.id)", "enqueue another"),
    Told(MutationBodyError.notAFile(path: "/tmp"), "/tmp", "Give one that can be read."),
    Told(MutationBodyError.damaged(name: "ab"), "bodies/ab", "enqueue it with the file again"),
    Told(MutationBodyError.noFile, "no files", "Enqueue it with one."),
    Told(MutationDeclarationError.notPersisted(mutation: "Rename"), "Rename", "persisted(as:)"),
    Told(MutationDeclarationError.invalidName("http/"), "\"http/\"", "1 to 200 bytes"),
    Told(MutationDeclarationError.coalescesWithoutScope(name: "Rename"), "Rename", "Give it one."),
    Told(MutationDeclarationError.batchedWithoutScope(name: "Rename"), "Rename", "Give it one."),
    Told(MutationDeclarationError.invalidLimit(name: "Rename"), "Rename", "Give it limits"),
    Told(
      MutationDeclarationError.otherDeclaration(path: "notes", declared: "a", redeclared: "b"),
      "notes", "a path of its own"),
    Told(
      MutationDeclarationError.otherStorage(name: "Rename"), "Rename", "Make both of one client."),
    Told(ReplayError.notPersisted(typeName: "Rename"), "Rename", "persisted(as:)"),
    Told(
      ReplayError.nameTaken(name: "rename", typeName: "Rename"), "\"rename\"",
      "Give one of the two another."),
  ]

  private static let ofPacks = [
    Told(PackError.noStorage, "A pack", "QueryClient(storage:)"),
    Told(PackError.noRoom(pack: "tour", neededBytes: 2, limit: 1), "tour", "Raise maximumBytes"),
    Told(
      PackError.tooManyMembers(pack: "tour", members: 2, limit: 1), "tour", "Raise maximumEntries"),
    Told(PackError.membersFailed(pack: "tour", members: 2, first: "x"), "tour", "packs.resume"),
    Told(PackError.notRegistered(pack: "tour", members: 2), "tour", "packs.register"),
    Told(PackError.networkCostUnknown(pack: "tour"), "tour", "SystemNetworkObserver"),
    Told(PackError.gone(pack: "tour"), "tour", "Keep it again"),
    Told(PackError.clientGone(pack: "tour"), "tour", "Keep the client"),
  ]

  private static let ofStorage = [
    Self.storage(.full, "free some space on it"),
    Self.storage(.busy, "try again when the other one is done"),
    Self.storage(.locked, "try again when the other one is done"),
    Self.storage(.permission, "look who may write"),
    Self.storage(.readOnly, "look who may write"),
    Self.storage(.cannotOpen, "look who may write"),
    Self.storage(.inputOutput, "look at the disk"),
    Self.storage(.corrupt, "open the storage again"),
    Self.storage(.noMemory, "with more memory"),
    Told(
      StorageError(operation: "read", code: .misuse, message: "the storage is closed"), "read",
      "open another one"),
  ]

  private static func storage(_ code: StorageError.Code, _ remedy: String) -> Told {
    Told(
      StorageError(operation: "write", code: code, message: "no", fileName: "cache.sqlite"),
      "write cache.sqlite", remedy)
  }

  private static let ofOrigins =
    Self.origin.map {
      [
        Told(
          HTTPCredentialError.notFor(name: "api", origin: $0), "example.org",
          "Create it with that origin")
      ]
    } ?? []

  private static let ofHTTP = [
    Told(HTTPStatusError(statusCode: 400), "status 400", "change the request"),
    Told(HTTPStatusError(statusCode: 401), "status 401", "Sign in again."),
    Told(HTTPStatusError(statusCode: 403), "status 403", "somebody who may"),
    Told(HTTPStatusError(statusCode: 409), "status 409", "Fetch again what the request changes"),
    Told(HTTPStatusError(statusCode: 503), "status 503", "Try again later."),
    Told(
      HTTPStatusError(statusCode: 429, retryAfter: .seconds(9)), "status 429", "to wait 9.0 seconds"
    ),
    Told(HTTPRequestError.badMethod("P T"), "P T", "such as POST"),
    Told(HTTPRequestError.badURL("ftp:"), "ftp:", "Give a whole one."),
    Told(HTTPRequestError.secretInURL, "name or password", "HTTPCredentials"),
    Told(HTTPRequestError.headerNotAllowed("Cookie"), "Cookie", "HTTPCredentials"),
    Told(HTTPRequestError.badHeaderValue("Accept"), "Accept", "Give it without."),
    Told(HTTPCredentialError.unknown(name: "api"), "api", "Give one to HTTPCredentials."),
    Told(
      HTTPCredentialError.badHeader(name: "api", header: "Cookie"), "Cookie", "Give it without."),
    Told(
      HTTPBodyError.undecodable(type: "Note", underlying: CancellationError()), "Note",
      "Compare the type"),
    Told(HTTPBodyError.tooLong(limit: 9), "9 bytes", "raise httpAnswerLimit"),
    Told(DeltaGapError(), "missing", "Fetch all of the value."),
    Told(HTTPForeignAnswerError.notHTTP, "not one of HTTP", "portal or a proxy"),
    Told(HTTPForeignAnswerError.contentType("text/html"), "text/html", "portal or a proxy"),
    Told(HTTPForeignAnswerError.missingHeader("ETag"), "ETag", "portal or a proxy"),
    Told(HTTPForeignAnswerError.missingKey, "Idempotency-Key", "portal or a proxy"),
    Told(
      HTTPForeignAnswerError.otherOrigin("http://example.org"), "example.org", "portal or a proxy"),
    Told(EventStreamError.contentType("text/html"), "text/html", "Ask at the URL of one."),
    Told(EventStreamError.tooLong, "mebibyte", "Let the server send less"),
    Told(EventStreamError.tooFast, "faster", "Follow the stream again"),
  ]
}
