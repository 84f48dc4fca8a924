import Query
import TestSupport
import Testing

// Document 002, "Firestore Subscriptions": blocks 4 to 7, over a database in memory.

// MARK: - Block 4

extension QueryContext {
  fileprivate var firestore: Firestore {
    get { self[FirestoreKey.self] }
    set { self[FirestoreKey.self] = newValue }
  }

  private enum FirestoreKey: Key {
    static var defaultValue: Firestore {
      .firestore()
    }
  }
}

// MARK: - Block 5

private struct User: Codable, Equatable {
  @DocumentID var id: String?
  // Other fields...
  var name: String
}

private struct FirestoreUserQuery: QueryRequest, Hashable {
  let userId: String

  func fetch(
    in context: QueryContext,
    with continuation: QueryContinuation<User>
  ) async throws -> User {
    try await context.firestore.collection("users")
      .document(userId)
      .getDocument(as: User.self)
  }
}

// MARK: - Block 6

private final class FirestoreUserController<State: QueryStateProtocol>: QueryController
where State.StateValue == User? {
  let userId: String

  init(userId: String) {
    self.userId = userId
  }

  func control(with controls: QueryControls<State>) -> QuerySubscription {
    let docRef = controls.context.firestore
      .collection("users")
      .document(userId)
    let cancellable = docRef.snapshotPublisher()
      .dropFirst()
      .sink { snapshot in
        controls.yield(with: Result { try snapshot.data(as: User.self) })
      }
    return QuerySubscription { cancellable.cancel() }
  }
}

// MARK: - Block 7

private func userQuery(for id: String) -> some QueryRequest<User, QueryState<User?, User>> {
  FirestoreUserQuery(userId: id)
    .controlled(by: FirestoreUserController(userId: id))
}

// MARK: - Tests

@Suite("Document 002: a controller over Firestore", .warningsAreIssues)
struct FirestoreTests {
  private let firestore = Firestore()
  private var document: DocumentReference {
    self.firestore.collection("users").document("123")
  }

  @Test("The database is the shared one where none was injected")
  func injection() {
    var context = QueryContext()
    #expect(context.firestore === Firestore.firestore())
    context.firestore = self.firestore
    #expect(context.firestore === self.firestore)
  }

  @Test("The query fetches the document, and every later change of it is yielded")
  func fetchAndChanges() async throws {
    self.document.setData(#"{"name": "Blob"}"#)
    let store = self.makeStore()
    // The first snapshot was dropped.
    #expect(store.valueUpdateCount == 0)

    let user = try await store.fetch()
    #expect(user == User(id: "123", name: "Blob"))
    #expect(store.currentValue == user)

    self.document.setData(#"{"name": "Blob Jr."}"#)
    #expect(store.currentValue == User(id: "123", name: "Blob Jr."))
    #expect(store.valueUpdateCount == 2)
  }

  @Test("A change that is no user is yielded as an error, and the next one clears it")
  func failure() {
    let store = self.makeStore()
    self.document.setData("[]")
    #expect(store.error is DecodingError)
    #expect(store.errorUpdateCount == 1)

    self.document.setData(#"{"name": "Blob"}"#)
    #expect(store.error == nil)
    #expect(store.currentValue == User(id: "123", name: "Blob"))
  }

  @Test("A document that is not there is the error of the fetch")
  func notFound() async {
    let store = self.makeStore()
    await #expect(throws: DocumentSnapshot.NotFound.self) { try await store.fetch() }
    #expect(store.error is DocumentSnapshot.NotFound)
  }

  @Test("The snapshots are listened to as long as the store is there")
  func lifetime() {
    var store: QueryStore? = self.makeStore()
    #expect(self.firestore.listenerCount == 1)
    #expect(store?.isLoading == false)
    store = nil
    #expect(self.firestore.listenerCount == 0)
    self.document.setData(#"{"name": "Blob"}"#)
  }

  private func makeStore() -> QueryStore<QueryState<User?, User>> {
    var context = QueryContext()
    context.firestore = self.firestore

    let query = userQuery(for: "123")

    return QueryStore.detached(query: query, initialValue: nil, initialContext: context)
  }
}
