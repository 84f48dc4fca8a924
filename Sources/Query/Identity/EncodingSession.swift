/// One run of an `encode(to:)`.
///
/// Its containers may be filled in any order, even after other containers were created, so each
/// value is written to the end of the writer's buffer, and a tree of ``EncodedNode`` holds its
/// range. When the method has returned, the tree is copied out in order, in place of what was
/// written.
final class EncodingSession {
  let writer: CanonicalWriter
  private let type: Any.Type

  /// Set by methods that cannot throw: a request for a second container of another kind, or for a
  /// container nested too deep.
  private(set) var hasFailed = false

  init(writer: CanonicalWriter, type: Any.Type) {
    self.writer = writer
    self.type = type
  }

  func fail() {
    self.hasFailed = true
  }

  /// Writes a value to the end of the buffer.
  ///
  /// - Throws: ``NotRepresentable`` if the method has already returned, or a value inside it is
  ///   encoding itself: that value's text is at the end of the buffer.
  func write(depth: Int, _ body: (CanonicalWriter) throws -> Void) throws -> Range<Int> {
    guard self.writer.session === self else {
      self.hasFailed = true
      throw NotRepresentable(type: self.type)
    }
    let start = self.writer.bytes.count
    let outerDepth = self.writer.depth
    self.writer.depth = depth
    defer { self.writer.depth = outerDepth }
    do {
      try body(self.writer)
    } catch {
      // A caller that catches this goes on without the value.
      self.writer.bytes.removeSubrange(start...)
      throw error
    }
    return start..<self.writer.bytes.count
  }
}

extension CanonicalWriter {
  /// Writes what a value encodes.
  func encode<Value: Encodable>(_ value: Value) throws {
    let session = EncodingSession(writer: self, type: Value.self)
    let root = EncodedNode(session: session, depth: self.depth)
    let start = self.bytes.count
    let outerSession = self.session
    self.session = session
    defer { self.session = outerSession }
    do {
      try value.encode(to: CanonicalEncoder(node: root))
    } catch let error as NotRepresentable {
      throw error
    } catch {
      throw NotRepresentable(type: Value.self)
    }
    if session.hasFailed { throw NotRepresentable(type: Value.self) }
    root.replaceText(from: start)
  }
}
