public import FoundationEssentials

/// The stored form of one query: the coded value, and what the state knows beside it.
public struct StoredEntry: Hashable, Sendable {
  /// What kind of state it is of, as ``PersistableQueryState/persistedKind``.
  public var kind: String

  /// The name of the coder that coded the value.
  public var coder: String

  /// The version of the value, as ``PersistenceOptions/version``.
  public var version: Int

  /// The coded value.
  public var content: Content

  /// Counts, dates and the last error.
  public var history: UpdateHistory

  /// Whether it stays when others are evicted.
  public var isPinned: Bool

  /// When the value is too old to be shown, if the query has a `maxAge`.
  public var expiresAt: Date?

  /// How much of the outbox's history the value has: the newest end of a mutation that was known when
  /// its fetch began, as ``MutationOutbox/endedSequence``; nil: that is not known.
  public var outboxSequence: Int64?

  /// The keys of mutations that the value includes, as its server said: see ``FetchReceipt``. Nil: it has
  /// said nothing, which a storage keeps apart from none.
  public var includedKeys: Set<String>?

  /// What the request wants to find again with the value, at most 4 KiB; nil: nothing. A storage
  /// writes it in one commit with the value, and removes it with it.
  public var metadata: Data?

  /// How old the value may be before it is stale; nil: the request's modifiers say it.
  public var freshFor: Duration?

  /// By what the storage that has read this knows the content again; nil: it does not. Not compared.
  public var contentMark: StoredContentMark? {
    get { self.ownMark.value }
    set { self.ownMark.value = newValue }
  }
  private var ownMark = NotCompared<StoredContentMark?>(value: nil)

  /// Up to when the state knows of the invalidations of all processes: as a rule the beginning of the fetch
  /// that brought the value; nil: of all. One that another process has made later stays when this is
  /// written, since the value may be older. Not compared.
  public var invalidationsKnownUntil: ContinuousClock.Instant? {
    get { self.knowledge.value }
    set { self.knowledge.value = newValue }
  }
  private var knowledge = NotCompared<ContinuousClock.Instant?>(value: nil)

  /// Whether a fetch has brought the value, which is as old as ``invalidationsKnownUntil`` says: then it does
  /// not take the place of a stored one that was asked for after an invalidation that this one does not know.
  /// What was set by hand does. Not compared.
  public var isFetched: Bool {
    get { self.origin.value }
    set { self.origin.value = newValue }
  }
  private var origin = NotCompared(value: false)

  /// The number of this write of the query, assigned by the storage; 0 before it is written.
  public var revision: Int64 = 0

  /// Creates an entry.
  ///
  /// - Parameters:
  ///   - kind: What kind of state it is of.
  ///   - coder: The name of the coder.
  ///   - version: The version of the value.
  ///   - content: The coded value.
  ///   - history: Counts, dates and the last error.
  ///   - isPinned: Whether it stays when others are evicted.
  ///   - expiresAt: When the value is too old to be shown.
  public init(
    kind: String,
    coder: String,
    version: Int,
    content: Content,
    history: UpdateHistory,
    isPinned: Bool = false,
    expiresAt: Date? = nil
  ) {
    self.kind = kind
    self.coder = coder
    self.version = version
    self.content = content
    self.history = history
    self.isPinned = isPinned
    self.expiresAt = expiresAt
  }

  /// A coded value.
  public enum Content: Hashable, Sendable {
    /// There is no value.
    case none
    /// The whole value in one piece.
    case value(Data)
    /// The pages of an infinite query, in their order, and the coded ids of the pages after the last
    /// and before the first one. A storage keeps each page apart.
    case pages([Page], next: Data?, previous: Data?)
  }

  /// A page of an infinite query, coded.
  public struct Page: Hashable, Sendable {
    /// The page's id, coded. No two pages of an entry have the same.
    public var id: Data

    /// The page's value, coded.
    public var value: Data

    /// What the request wants to find again with the page, at most 4 KiB; nil: nothing.
    public var metadata: Data?

    /// Creates a page.
    ///
    /// - Parameters:
    ///   - id: The page's id, coded.
    ///   - value: The page's value, coded.
    ///   - metadata: What the request wants to find again with the page.
    public init(id: Data, value: Data, metadata: Data? = nil) {
      self.id = id
      self.value = value
      self.metadata = metadata
    }
  }

  /// How many bytes the value has, coded, with its pages' ids and metadata.
  public var contentSize: Int {
    switch self.content {
    case .none: 0
    case .value(let data): data.count
    case .pages(let pages, let next, let previous):
      pages.reduce((next?.count ?? 0) + (previous?.count ?? 0)) {
        $0 + $1.id.count + $1.value.count + ($1.metadata?.count ?? 0)
      }
    }
  }
}
