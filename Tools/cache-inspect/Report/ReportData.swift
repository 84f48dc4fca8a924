import FoundationEssentials

/// What the report shows of a store, with no part that depends on how the page looks.
///
/// The reader of the store fills it; ``ReportPage`` shows it, and puts it whole into the page as
/// JSON. Texts may hold anything: they are made harmless and visible when they are shown.
struct ReportData: Encodable, Sendable {
  /// How many rows of a table are worth having in one page; a store may hold many more.
  static let maximumRows = 5_000
  /// How many of the biggest entries are named.
  static let maximumBiggest = 50

  /// When the store was read.
  var madeAt: ReportDate
  /// The folder of the store.
  var folder: String
  /// The application that it belongs to, if the store was named by it.
  var applicationID: String?
  /// The partitions that the report is about, in the order to show.
  var partitions: [Partition] = []
  /// What all of it comes to.
  var totals = Totals()
  /// The database files that are there.
  var files: [File] = []
  /// The limits that hold for this store.
  var limits: [Limit] = []
  /// Entries by kind, the largest sum first.
  var kinds: [Kind] = []
  /// Entries by the age of their value.
  var ages: [ReportHistogram.Bucket] = []
  /// Entries by their size.
  var sizes: [ReportHistogram.Bucket] = []
  /// The biggest entries, the biggest first; at most ``maximumBiggest``.
  var biggest: [Entry] = []
  /// The entries; at most ``maximumRows``.
  var entries: [Entry] = []
  /// How many entries there are beyond those of ``entries``.
  var moreEntries = 0
  /// The live and dead rows of the outbox in the order of enqueueing; at most ``maximumRows``.
  var outbox: [OutboxRow] = []
  /// How many rows there are beyond those of ``outbox``.
  var moreOutbox = 0
  /// The mutations that ended, the newest first; at most ``maximumRows``.
  var history: [HistoryRow] = []
  /// How many there are beyond those of ``history``.
  var moreHistory = 0
}

// MARK: - The store

extension ReportData {
  /// An account of the application.
  struct Partition: Encodable, Sendable {
    /// Its name; the default one has an empty name.
    var name: String
    /// How many entries it has.
    var entries: Int
    /// What they take, in bytes.
    var bytes: Int
  }

  /// Sums over the partitions of the report.
  struct Totals: Encodable, Sendable {
    /// How many queries have an entry.
    var entries = 0
    /// How many pages of infinite queries there are.
    var pages = 0
    /// What the entries and pages take, in bytes.
    var bytes = 0
    /// How many values were set aside because they could not be read.
    var quarantined = 0
    /// How many ended mutations are remembered.
    var history = 0
    /// How many mutations wait.
    var pending = 0
    /// How many mutations are being sent.
    var leased = 0
    /// How many mutations are kept for a person.
    var dead = 0
  }

  /// A database file.
  struct File: Encodable, Sendable {
    /// Its name without a folder.
    var name: String
    /// Its length in bytes.
    var bytes: Int
    /// The length of its WAL in bytes; 0 if there is none.
    var walBytes: Int
    /// How many of its pages hold nothing.
    var freePages: Int
    /// The length of one of its pages in bytes.
    var pageSize: Int
    /// The level of its schema.
    var schemaLevel: Int
  }

  /// A bound that the store keeps.
  struct Limit: Encodable, Sendable {
    /// The name of the limit, for people: `bytes of the cache`.
    var name: String
    /// The bound for a person, with its unit: `256 MiB`.
    var value: String
  }
}
