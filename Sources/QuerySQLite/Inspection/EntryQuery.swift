import Foundation
import Query

/// Which entries are wanted, and in which order.
package struct EntryQuery: Sendable {
  /// An order.
  package enum Sort: Int, Sendable, CaseIterable {
    /// The largest first.
    case size = 1
    /// Those whose value was stored longest ago first.
    case age = 2
    /// Those that are evicted first come first.
    case used = 3
    /// By the bytes of the identity.
    case identity = 4
  }

  /// The account; nil: all.
  package var partition: String?
  /// `query`, `infinite` or another kind; nil: all.
  package var kind: String?
  /// The beginning of the identities: of paths, where it is a JSON array, else of the text; nil: all.
  package var matching: String?
  /// Only those that were marked as stale.
  package var isInvalidated = false
  /// Only those whose newest result is an error.
  package var isFailed = false
  /// The order.
  package var sort: Sort
  /// How many at most; nil: all.
  package var limit: Int?

  /// Asks for entries. See the properties for what each is.
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

  /// What an identity has to begin with.
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
