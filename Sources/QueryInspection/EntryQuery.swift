import FoundationEssentials
import Query

/// Which entries to list, and in which order.
package struct EntryQuery: Sendable {
  /// An order.
  package enum Sort: Int, Sendable, CaseIterable {
    /// The largest first.
    case size = 1
    /// The entries with the oldest value first.
    case age = 2
    /// The entries that are evicted first come first.
    case used = 3
    /// By the bytes of the identity.
    case identity = 4
  }

  /// The account; nil: all.
  package var partition: String?
  /// `query`, `infinite` or another kind; nil: all.
  package var kind: String?
  /// The prefix of the identities: of paths, if it is a JSON array, otherwise of the text; nil:
  /// all.
  package var matching: String?
  /// Only entries that are marked as stale.
  package var isInvalidated = false
  /// Only entries whose newest result is an error.
  package var isFailed = false
  /// The order.
  package var sort: Sort
  /// The maximum number of entries; nil: all.
  package var limit: Int?

  /// Makes a query. See the properties for the meaning of each argument.
  package init(
    partition: String? = nil, kind: String? = nil, matching: String? = nil,
    isInvalidated: Bool = false, isFailed: Bool = false, sort: Sort = .identity, limit: Int? = nil
  ) {
    self.partition = partition
    self.kind = kind
    self.matching = matching
    self.isInvalidated = isInvalidated
    self.isFailed = isFailed
    self.sort = sort
    self.limit = limit
  }

  /// The required prefix of an identity.
  enum Matcher {
    case all
    case path(IdentityPrefix)
    case text([UInt8])

    init(_ text: String?) {
      guard let text, !text.isEmpty else {
        self = .all
        return
      }
      let isPath = text.hasPrefix("[") && text.hasSuffix("]")
      self =
        isPath
        ? .path(IdentityPrefix(identity: QueryIdentity(canonicalText: text)))
        : .text(Array(text.utf8))
    }

    func matches(_ bytes: UnsafeRawBufferPointer) -> Bool {
      switch self {
      case .all: true
      case .path(let prefix): prefix.matches(bytes)
      case .text(let beginning): bytes.starts(with: beginning)
      }
    }
  }
}
