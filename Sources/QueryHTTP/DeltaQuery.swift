import Foundation
public import Query

/// A query that asks for what has changed since the last time, and merges it into the value.
///
/// ```swift
/// let notes = DeltaQuery(["notes"], from: [Int: Note]()) { (since: Int?, context) in
///   let changes = try await api.changes(since: since)
///   return (changes.notes, changes.cursor)
/// } merge: { notes, changes in
///   for note in changes { notes[note.id] = note.isDeleted ? nil : note }
/// }
/// ```
/// The cursor is kept with the value that it led to, in one commit: whatever ends the process, the next
/// launch has both of one fetch, and asks from there. A delta may come twice, so the merge must go by
/// ids, such as that of `notes` above. A value that was set by hand, or upgraded, has no cursor, and is
/// asked for from nothing.
///
/// A server that has forgotten the cursor answers with status 410 (`HTTPStatusError`): it is asked from
/// nothing, once, while the value stays in view. So it is if the merge throws ``DeltaGapError``, since
/// something between the value and the delta is missing.
public struct DeltaQuery<Base, Delta, Cursor>: QueryRequest
where Base: Codable & Sendable, Delta: Sendable, Cursor: Codable & Sendable {
  public typealias Value = Base

  public let path: QueryPath

  private let empty: Base
  private let ask: @Sendable (Cursor?, QueryContext) async throws -> (Delta, Cursor)
  private let merge: @Sendable (inout Base, Delta) throws -> Void

  /// Creates a query.
  ///
  /// - Parameters:
  ///   - path: The identity of the query.
  ///   - empty: What a delta from nothing is merged into.
  ///   - fetch: Fetches what has changed since a cursor, and the cursor after it, which takes at most
  ///     4 KiB as JSON. nil: from nothing.
  ///   - merge: Merges a delta into the value, by ids. It throws ``DeltaGapError`` if it cannot.
  public init(
    _ path: QueryPath,
    from empty: Base,
    fetch: @escaping @Sendable (_ since: Cursor?, QueryContext) async throws -> (Delta, Cursor),
    merge: @escaping @Sendable (inout Base, Delta) throws -> Void
  ) {
    self.path = path
    self.empty = empty
    self.ask = fetch
    self.merge = merge
  }

  /// Fetches what has changed.
  ///
  /// - Throws: What the fetch or the merge throws.
  public func fetch(
    in context: QueryContext, with continuation: QueryContinuation<Base>
  ) async throws -> Base {
    let stored = context.storedValue
    guard let cursor = stored?.metadata.flatMap(Self.cursor),
      let base = stored?.value(as: Base.self)
    else { return try await self.fetchFromNothing(in: context, with: continuation) }
    do {
      let (delta, next) = try await self.ask(cursor, context)
      return try self.merged(delta, into: base, next, with: continuation)
    } catch let error as HTTPStatusError where error.statusCode == 410 {
      return try await self.fetchFromNothing(in: context, with: continuation)
    } catch is DeltaGapError {
      return try await self.fetchFromNothing(in: context, with: continuation)
    }
  }

  private func fetchFromNothing(
    in context: QueryContext, with continuation: QueryContinuation<Base>
  ) async throws -> Base {
    let (delta, cursor) = try await self.ask(nil, context)
    return try self.merged(delta, into: self.empty, cursor, with: continuation)
  }

  private func merged(
    _ delta: Delta, into base: Base, _ cursor: Cursor, with continuation: QueryContinuation<Base>
  ) throws -> Base {
    var base = base
    try self.merge(&base, delta)
    // In an array: not every coder takes a number alone.
    return continuation.returning(base, metadata: try JSONQueryCoder.json.encode([cursor]))
  }

  private static func cursor(_ metadata: Data) -> Cursor? {
    try? JSONQueryCoder.json.decode([Cursor].self, from: metadata).first
  }
}

/// A delta does not follow the value at hand: something between them is missing.
public struct DeltaGapError: Error, Hashable, Sendable, CustomStringConvertible {
  /// Creates an error.
  public init() {}

  public var description: String {
    "Something between the value and what has changed is missing. Fetch all of the value."
  }
}
