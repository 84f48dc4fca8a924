/// Takes what a server says of the mutations that its answer includes, for edits that must not be made
/// twice, such as a count that grows.
///
/// ```swift
/// func fetch(in context: QueryContext, with continuation: …) async throws -> Counters {
///   let answer = try await load()
///   context.fetchReceipt?.includes(keys: answer.includedKeys)
///   return answer.counters
/// }
/// ```
/// The keys are stored with the value. A server names those of the last days, not all that it has ever
/// seen.
public final class FetchReceipt: Sendable {
  private struct Guarded {
    /// What was said of the whole answer; nil: nothing.
    var whole: Set<String>?
    /// What was said of each page; none of one that has said nothing, if another has.
    var pages = [_PageKey: Set<String>]()
    var hasPageKeys = false
    /// The page that is being fetched.
    var page: _PageKey?
  }

  private let guarded = Locked(Guarded())

  init() {}

  /// Records that the answer includes mutations: their edits are not laid over it, live or not.
  ///
  /// - Parameter keys: Their idempotency keys; none if it includes none. A server that names them says
  ///   so, too: without it, what is acknowledged becomes a part of the stored value.
  public func includes(keys: [String]) {
    self.guarded.withLock { receipt in
      guard let page = receipt.page else {
        receipt.whole = (receipt.whole ?? []).union(keys)
        return
      }
      receipt.hasPageKeys = true
      receipt.pages[page, default: []].formUnion(keys)
    }
  }

  /// Begins to fetch a page: what is said from now on is said of it.
  func begin(_ page: _PageKey) {
    self.guarded.withLock { receipt in
      receipt.page = page
      if receipt.pages[page] == nil { receipt.pages[page] = [] }
    }
  }

  /// The keys of what the whole value includes: what one page includes an earlier one may lack, which was
  /// read before. Nil: nothing was said.
  var keys: Set<String>? {
    self.guarded.withLock { receipt in
      guard receipt.hasPageKeys, var common = receipt.pages.values.first else {
        return receipt.whole
      }
      for keys in receipt.pages.values { common.formIntersection(keys) }
      return common.union(receipt.whole ?? [])
    }
  }
}

extension QueryContext {
  /// Takes the keys of the mutations that the answer of this fetch includes; nil outside the fetch of
  /// a store.
  public var fetchReceipt: FetchReceipt? {
    self.fetchWork?.ownReceipt()
  }
}
