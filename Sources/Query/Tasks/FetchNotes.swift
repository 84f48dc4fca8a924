import FoundationEssentials

/// What a request has noted of the value that it is about to return.
// @unchecked: guarded by the store's lock.
@usableFromInline
final class FetchNotes: @unchecked Sendable {
  /// The value that the request has read.
  var captured: CapturedValue?
  /// What it has said of the whole value; nil: nothing, so what it returns is a value without metadata.
  var outcome: Outcome?
  /// What it has said of pages.
  var pages = [_PageKey: PageNote]()

  enum Outcome {
    /// The returned value is a new one, with this beside it.
    case returned(ValueRecord?)
    /// This one stays, whatever a modifier has made of it on its way.
    case kept(CapturedValue, ValueRecord?)
    /// The value is gone, and the fetch fails.
    case removed
  }
}

/// A value as a request has read it.
struct CapturedValue: Sendable {
  /// The number of its ``ValueTag``.
  var number: Int
  /// The state's value, and what a fetch would have returned for it.
  var stateValue: any Sendable
  var fetchedValue: any Sendable
  var record: ValueRecord?
}

/// What a request has said of a page.
struct PageNote: Sendable {
  /// The page as it was read; nil: it was not, or was not there.
  var captured: (number: Int, value: any Sendable, metadata: Data?)?
  /// Whether it stays as it was read.
  var isKept = false
  var metadata: Data?
  var freshFor: Duration?
  /// Whether the page may be written to a storage.
  var isStored = true
}

/// Where a continuation notes what it is told of a value: with the fetch that does the work, wherever the
/// call comes from. It passes through all layers of a request beside the value, which they may change.
@usableFromInline
struct ValueRecorder: Sendable {
  @usableFromInline let work: FetchWork
  @usableFromInline let context: QueryContext?
  @usableFromInline let page: _PageKey?
  /// Whether the attempt still counts; nil: it does until the fetch ends.
  @usableFromInline let isOpen: (@Sendable () -> Bool)?

  @inlinable
  init(
    work: FetchWork, context: QueryContext?, page: _PageKey? = nil,
    isOpen: (@Sendable () -> Bool)? = nil
  ) {
    self.work = work
    self.context = context
    self.page = page
    self.isOpen = isOpen
  }

  /// The same, of an attempt that may end before the fetch.
  func whileOpen(_ isOpen: @escaping @Sendable () -> Bool) -> ValueRecorder {
    let outer = self.isOpen
    return ValueRecorder(work: self.work, context: self.context, page: self.page) {
      isOpen() && outer?() ?? true
    }
  }

  func note(_ note: ValueNote) -> (any Sendable)? {
    if let isOpen, !isOpen() { return nil }
    return self.work.take(note, of: self.page, in: self.context)
  }
}

/// What a request says of a value.
@usableFromInline
struct ValueNote: Sendable {
  /// Whether the value at hand stays.
  var isKept: Bool
  /// nil: that of the value at hand stays.
  var metadata: Data??
  var freshFor: Duration?
  /// Whether a new value may be written to a storage.
  var isStored: Bool
  /// Whether the value is gone.
  var isRemoval = false

  /// Says that the value is gone.
  static var removal: ValueNote {
    var note = ValueNote(isKept: false, metadata: nil, freshFor: nil)
    note.isRemoval = true
    return note
  }

  init(isKept: Bool, metadata: Data??, freshFor: Duration?, isStored: Bool = true) {
    self.isKept = isKept
    self.isStored = isStored
    self.metadata = metadata
    if case .some(.some(let data)) = metadata, data.count > ValueRecord.maximumMetadataBytes {
      QueryWarning.metadataTooLong(bytes: data.count).report()
      self.metadata = .some(nil)
    }
    self.freshFor = freshFor.map { min(max($0, .zero), .longest) }
  }
}
