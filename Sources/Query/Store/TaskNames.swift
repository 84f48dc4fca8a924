/// The names of the tasks of the stores of one state type, made once.
@usableFromInline
final class TaskNames: Sendable {
  @usableFromInline
  enum Kind {
    case fetch
    case allPages
    case nextPage
    case previousPage
    case mutate
    case retryLatest
  }

  private let fetch: String
  private let allPages: String
  private let nextPage: String
  private let previousPage: String
  private let mutate: String
  private let retryLatest: String

  private init(storeName: String) {
    self.fetch = "\(storeName) Task"
    self.allPages = "\(storeName) Fetch All Pages Task"
    self.nextPage = "\(storeName) Fetch Next Page Task"
    self.previousPage = "\(storeName) Fetch Previous Page Task"
    self.mutate = "\(storeName) Mutate Task"
    self.retryLatest = "\(storeName) Retry Latest Task"
  }

  @usableFromInline
  subscript(kind: Kind) -> String {
    switch kind {
    case .fetch: self.fetch
    case .allPages: self.allPages
    case .nextPage: self.nextPage
    case .previousPage: self.previousPage
    case .mutate: self.mutate
    case .retryLatest: self.retryLatest
    }
  }

  // One entry for each state type of the program.
  private static let names = Locked([ObjectIdentifier: TaskNames]())

  static func of<State: QueryStateProtocol>(_ type: QueryStore<State>.Type) -> TaskNames {
    Self.names.withLock { names in
      if let known = names[ObjectIdentifier(type)] { return known }
      let new = TaskNames(storeName: TypeName.of(type, generics: .kept))
      names[ObjectIdentifier(type)] = new
      return new
    }
  }
}
