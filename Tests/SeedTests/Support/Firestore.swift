import Foundation
import Query

/// A document database in memory, with the calls of Firestore that the documents use.
final class Firestore: Sendable {
  /// Guarded by the mutex.
  private struct State {
    var documents = [String: Data]()
    var lastListener = 0
    var listeners = [Int: (path: String, onSnapshot: @Sendable (DocumentSnapshot) -> Void)]()
  }

  private static let shared = Firestore()
  private let state = Locked(State())

  /// The database of the process.
  static func firestore() -> Firestore { self.shared }

  func collection(_ name: String) -> CollectionReference {
    CollectionReference(firestore: self, path: name)
  }

  /// How many publishers are listened to.
  var listenerCount: Int { self.state.withLock { $0.listeners.count } }

  fileprivate func snapshot(of path: String) -> DocumentSnapshot {
    DocumentSnapshot(path: path, json: self.state.withLock { $0.documents[path] })
  }

  fileprivate func write(_ json: Data, to path: String) {
    let listeners = self.state.withLock { state in
      state.documents[path] = json
      return state.listeners.values.filter { $0.path == path }
    }
    let snapshot = DocumentSnapshot(path: path, json: json)
    for listener in listeners { listener.onSnapshot(snapshot) }
  }

  fileprivate func listen(
    to path: String,
    _ onSnapshot: @escaping @Sendable (DocumentSnapshot) -> Void
  ) -> QuerySubscription {
    let listener = self.state.withLock { state in
      state.lastListener += 1
      state.listeners[state.lastListener] = (path, onSnapshot)
      return state.lastListener
    }
    onSnapshot(self.snapshot(of: path))
    return QuerySubscription {
      _ = self.state.withLock { $0.listeners.removeValue(forKey: listener) }
    }
  }
}

struct CollectionReference: Sendable {
  fileprivate let firestore: Firestore
  fileprivate let path: String

  func document(_ id: String) -> DocumentReference {
    DocumentReference(firestore: self.firestore, path: "\(self.path)/\(id)")
  }
}

struct DocumentReference: Sendable {
  fileprivate let firestore: Firestore
  fileprivate let path: String

  func getDocument<T: Decodable>(as type: T.Type) async throws -> T {
    try self.firestore.snapshot(of: self.path).data(as: type)
  }

  func setData(_ json: String) { self.firestore.write(Data(json.utf8), to: self.path) }

  func snapshotPublisher() -> SnapshotPublisher { SnapshotPublisher(document: self) }

  /// Publishes the document as it is, and after each change.
  struct SnapshotPublisher: Sendable {
    fileprivate let document: DocumentReference
    fileprivate var droppedCount = 0

    func dropFirst(_ count: Int = 1) -> Self {
      var copy = self
      copy.droppedCount += count
      return copy
    }

    func sink(_ receive: @escaping @Sendable (DocumentSnapshot) -> Void) -> QuerySubscription {
      let received = Locked(0)
      let droppedCount = self.droppedCount
      return self.document.firestore.listen(to: self.document.path) { snapshot in
        let number = received.withLock { received in
          received += 1
          return received
        }
        if number > droppedCount { receive(snapshot) }
      }
    }
  }
}

struct DocumentSnapshot: Sendable {
  /// The document is not there.
  struct NotFound: Error {}

  fileprivate let path: String
  fileprivate let json: Data?

  func data<T: Decodable>(as type: T.Type) throws -> T {
    guard let json = self.json else { throw NotFound() }
    let decoder = JSONDecoder()
    decoder.userInfo[.documentId] = self.path.split(separator: "/").last.map(String.init)
    return try decoder.decode(type, from: json)
  }
}

/// A property that holds the identifier of the document that it was decoded from.
@propertyWrapper
struct DocumentID<Value: Sendable>: Sendable {
  private var id: Value?

  var wrappedValue: Value? {
    get { self.id }
    set { self.id = newValue }
  }

  init(wrappedValue: Value?) { self.id = wrappedValue }
}

extension DocumentID: Equatable where Value: Equatable {}

extension DocumentID: Codable {
  init(from decoder: any Decoder) throws {
    self.init(wrappedValue: decoder.userInfo[.documentId] as? Value)
  }

  func encode(to encoder: any Encoder) throws {}
}

extension KeyedDecodingContainer {
  /// The identifier is no field of the document.
  func decode<Value>(
    _ type: DocumentID<Value>.Type,
    forKey key: Key
  ) throws -> DocumentID<Value> {
    try DocumentID(from: self.superDecoder())
  }
}

extension CodingUserInfoKey {
  fileprivate static let documentId = CodingUserInfoKey(rawValue: "documentId")!
}
