public import FoundationEssentials

extension QueryContinuation {
  /// Says that the store's value is right as it is, as a server does with status 304.
  ///
  /// ```swift
  /// return try continuation.unchanged()
  /// ```
  /// The value stays, and so do its bytes on disk: it is not coded, compared or written. It counts as an
  /// update: its date is the present, its error and its invalidation are gone, and
  /// `valueUpdateCount` is raised by one. What a modifier makes of the returned value on its way is
  /// not looked at, since the store's value has been through that already.
  ///
  /// Of several calls of this and ``returning(_:metadata:freshFor:isStored:)`` in one fetch the last one counts,
  /// and none if the fetch fails.
  ///
  /// - Parameters:
  ///   - freshFor: How old the value may become before it is stale, instead of what
  ///     ``QueryRequest/stale(after:)-(Duration)`` says; nil: the modifier says it.
  ///   - metadata: Replaces the metadata, at most 4 KiB; nil: it stays.
  /// - Returns: The value, to be returned.
  /// - Throws: ``QueryUnchangedError/noValue`` if there is none to keep.
  public func unchanged(freshFor: Duration? = nil, metadata: Data?? = nil) throws -> Value {
    let note = ValueNote(isKept: true, metadata: metadata, freshFor: freshFor)
    guard let value = self.foundRecorder?.note(note) as? Value else {
      throw QueryUnchangedError.noValue
    }
    return value
  }

  /// Says what belongs to the value that is about to be returned.
  ///
  /// ```swift
  /// return continuation.returning(notes, metadata: Data(etag.utf8))
  /// ```
  /// The metadata is stored with the value, in one commit, and is gone with it: the next fetch finds
  /// it in ``QueryContext/storedValue``, in the next launch as well.
  ///
  /// - Parameters:
  ///   - value: The value.
  ///   - metadata: What the request wants to find again with it, at most 4 KiB: longer metadata is
  ///     dropped with a warning.
  ///   - freshFor: How old the value may become before it is stale, instead of what
  ///     ``QueryRequest/stale(after:)-(Duration)`` says, across restarts; nil: the modifier says it.
  ///   - isStored: Whether the value of a persisted query may be written. If not, it is shown, and what
  ///     is stored of the query is removed; of an infinite query one such page is enough for that.
  /// - Returns: The value.
  public func returning(
    _ value: Value, metadata: Data?, freshFor: Duration? = nil, isStored: Bool = true
  ) -> Value {
    let note = ValueNote(
      isKept: false, metadata: .some(metadata), freshFor: freshFor, isStored: isStored)
    _ = self.foundRecorder?.note(note)
    return value
  }

  /// Says that there is no such value any more, with the error that the fetch is about to throw.
  ///
  /// ```swift
  /// if status == 410 { throw continuation.removing(HTTPStatusError(statusCode: status)) }
  /// ```
  /// The store is reset when the fetch fails: its value is gone, in the storage as well, and the error
  /// is shown. It does not count if the fetch is tried again and succeeds.
  ///
  /// - Parameter error: The error.
  /// - Returns: The error, to be thrown.
  public func removing<Failure: Error>(_ error: Failure) -> Failure {
    _ = self.foundRecorder?.note(.removal)
    return error
  }

  private var foundRecorder: ValueRecorder? {
    self.recorder
      ?? FetchGraph.enclosing.get().map {
        ValueRecorder(
          work: $0, context: nil, page: $0.page, isOpen: FetchAttempt.isOpen(of: $0))
      }
  }
}
