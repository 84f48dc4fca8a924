import Query
import TestSupport

/// What the store of an ``EchoMutation`` does, in the plainest words: a history, and a list of all
/// updates in their order.
struct MutationModel {
  /// What is compared.
  struct Snapshot: Equatable {
    var history = [String]()
    var value: String?
    var error: String?
    var valueCount = 0
    var errorCount = 0
    var isLoading = false
  }

  private struct Attempt {
    let id: QueryTaskIdentifier
    let arguments: String
    var result: Result<String, TestError>?
    var isCancelled = false
    var isLoading = true

    var value: String? { self.isLoading || self.isCancelled ? nil : try? self.result?.get() }

    var error: String? {
      if self.isLoading { return nil }
      if self.isCancelled { return "\(CancellationError())" }
      if case .failure(let error)? = self.result { return "\(error)" }
      return nil
    }

    var text: String {
      let outcome = self.isLoading ? "loading" : self.value ?? self.error ?? ""
      return "\(self.arguments): \(outcome)"
    }
  }

  /// An update: by hand, or of an attempt. The latter counts if the attempt was the latest one then, or
  /// has ended with it and is the latest one again.
  private enum Update {
    case manual(Result<String, TestError>)
    case attempt(QueryTaskIdentifier, isSuccess: Bool, counts: Bool)

    var counts: Bool {
      if case .attempt(_, _, let counts) = self { counts } else { true }
    }

    var isSuccess: Bool {
      switch self {
      case .manual(.success): true
      case .manual(.failure): false
      case .attempt(_, let isSuccess, _): isSuccess
      }
    }
  }

  private let length: Int
  private(set) var events: [ObservedEvent] = [.stateChanged]
  private var history = [Attempt]()
  private var allUpdates = [Update]()
  private var updates: [Update] { self.allUpdates.filter(\.counts) }
  /// The arguments of running attempts, even if the history forgot them.
  private var running = [QueryTaskIdentifier: String]()
  private var abandoned = Set<QueryTaskIdentifier>()

  init(length: Int) { self.length = length }

  var latestArguments: String? { self.history.last?.arguments }

  var snapshot: Snapshot {
    Snapshot(
      history: self.history.map(\.text),
      value: self.value,
      error: self.error,
      valueCount: self.updates.count { $0.isSuccess },
      errorCount: self.updates.count { !$0.isSuccess },
      isLoading: self.history.last?.isLoading ?? false
    )
  }

  private var value: String? {
    switch self.updates.last(where: \.isSuccess) {
    case .manual(let result)?: try? result.get()
    case .attempt?, nil: self.history.isEmpty ? "initial" : self.history.last?.value
    }
  }

  private var error: String? {
    switch self.updates.last {
    case .manual(.failure(let error))?: "\(error)"
    case .attempt(_, isSuccess: false, _)?: self.history.last?.error
    case .manual(.success)?, .attempt?, nil: nil
    }
  }
}

// MARK: - Attempts

extension MutationModel {
  mutating func schedule(_ arguments: String, as id: QueryTaskIdentifier) {
    self.history.append(Attempt(id: id, arguments: arguments))
    if self.history.count > self.length { self.history.removeFirst() }
    self.running[id] = arguments
    self.events.append(.stateChanged)
  }

  mutating func start(_ id: QueryTaskIdentifier) {
    guard let arguments = self.running[id] else { return }
    self.events.append(.mutatingStarted(arguments))
  }

  mutating func yield(_ result: Result<String, TestError>, to id: QueryTaskIdentifier) {
    guard let arguments = self.running[id], !self.abandoned.contains(id) else { return }
    self.record(result, of: id)
    self.events += [.mutationYielded(arguments, Self.text(of: result)), .stateChanged]
  }

  mutating func end(_ id: QueryTaskIdentifier, with result: Result<String, TestError>) {
    guard let arguments = self.running.removeValue(forKey: id) else { return }
    if self.abandoned.remove(id) == nil {
      self.record(result, of: id)
      self.modify(id) { $0.isLoading = false }
      self.events += [.mutationReturned(arguments, Self.text(of: result)), .stateChanged]
    }
    self.events.append(.mutatingEnded(arguments))
  }

  mutating func cancel(_ id: QueryTaskIdentifier) {
    self.running[id] = nil
    self.modify(id) { attempt in
      attempt.isCancelled = true
      attempt.isLoading = false
    }
    self.note(id, isSuccess: false)
    self.events.append(.stateChanged)
  }

  mutating func drop(_ id: QueryTaskIdentifier) {
    self.running[id] = nil
    self.history.removeAll { $0.id == id }
    self.events.append(.stateChanged)
    guard let latest = self.history.last, !latest.isLoading else { return }
    let end = self.allUpdates.lastIndex {
      if case .attempt(latest.id, _, _) = $0 { true } else { false }
    }
    guard let end else { return }
    self.allUpdates[end] = .attempt(
      latest.id, isSuccess: self.allUpdates[end].isSuccess, counts: true)
  }

  private mutating func note(_ id: QueryTaskIdentifier, isSuccess: Bool) {
    // An attempt that the history has forgotten changes nothing any more.
    guard self.history.contains(where: { $0.id == id }) else { return }
    let counts = self.history.last?.id == id
    self.allUpdates.append(.attempt(id, isSuccess: isSuccess, counts: counts))
  }

  private mutating func record(_ result: Result<String, TestError>, of id: QueryTaskIdentifier) {
    self.modify(id) { $0.result = result }
    if case .success = result {
      self.note(id, isSuccess: true)
    } else {
      self.note(id, isSuccess: false)
    }
  }

  private mutating func modify(_ id: QueryTaskIdentifier, _ change: (inout Attempt) -> Void) {
    if let index = self.history.firstIndex(where: { $0.id == id }) { change(&self.history[index]) }
  }

  private static func text(of result: Result<String, TestError>) -> String {
    switch result {
    case .success(let value): value
    case .failure(let error): "\(error)"
    }
  }
}

// MARK: - By hand

extension MutationModel {
  mutating func set(_ result: Result<String, TestError>) {
    self.allUpdates.append(.manual(result))
    self.events.append(.stateChanged)
  }

  mutating func reset() {
    // What the history knows is cancelled: un-run attempts never run.
    self.abandoned.formUnion(self.running.keys)
    self.history = []
    self.allUpdates = []
    self.events.append(.stateChanged)
  }
}

extension MutationModel.Snapshot {
  init(_ state: EchoState) {
    self.history = spelled(state.history)
    self.value = state.currentValue
    self.error = state.error.map { "\($0)" }
    self.valueCount = state.valueUpdateCount
    self.errorCount = state.errorUpdateCount
    self.isLoading = state.isLoading
  }
}
