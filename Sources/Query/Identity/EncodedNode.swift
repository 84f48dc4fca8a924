/// A container of an `encode(to:)`, with the places of its values in the writer's buffer.
final class EncodedNode {
  enum Slot {
    case text(Range<Int>)
    case node(EncodedNode)
  }

  struct Entry {
    let key: [UInt8]
    let slot: Slot
  }

  enum Content {
    case nothing
    case single(Range<Int>)
    case list([Slot])
    case object([Entry])
  }

  let session: EncodingSession
  let depth: Int
  /// The keys to this container. Not a reference to the container around it, which holds this one.
  let codingPath: [any CodingKey]
  private(set) var content = Content.nothing

  init(session: EncodingSession, depth: Int) {
    self.session = session
    self.depth = depth
    self.codingPath = []
  }

  private init(parent: EncodedNode, key: any CodingKey) {
    self.session = parent.session
    self.depth = parent.depth + 1
    self.codingPath = parent.codingPath + [key]
    if self.depth > CanonicalWriter.maximumDepth { self.session.fail() }
  }
}

// MARK: - Filling

extension EncodedNode {
  /// A type may ask for the same kind of container again, to go on with it.
  func becomeObject() {
    switch self.content {
    case .nothing: self.content = .object([])
    case .object: break
    case .single, .list: self.session.fail()
    }
  }

  func becomeList() {
    switch self.content {
    case .nothing: self.content = .list([])
    case .list: break
    case .single, .object: self.session.fail()
    }
  }

  var count: Int {
    if case .list(let slots) = self.content { slots.count } else { 0 }
  }

  func setSingle(_ write: (CanonicalWriter) throws -> Void) throws {
    guard case .nothing = self.content else { return self.session.fail() }
    self.content = .single(try self.session.write(depth: self.depth, write))
  }

  func append(_ write: (CanonicalWriter) throws -> Void) throws {
    self.append(.text(try self.session.write(depth: self.depth, write)))
  }

  func set(_ key: any CodingKey, _ write: (CanonicalWriter) throws -> Void) throws {
    self.set(key, .text(try self.session.write(depth: self.depth, write)))
  }

  func appendNode() -> EncodedNode {
    let node = EncodedNode(parent: self, key: IndexKey(intValue: self.count))
    self.append(.node(node))
    return node
  }

  /// The container at a key; a new one if there is none.
  func node(at key: any CodingKey) -> EncodedNode {
    let name = CanonicalWriter.normalized(key.stringValue)
    if case .object(let entries) = self.content,
      case .node(let node) = entries.last(where: { $0.key == name })?.slot
    {
      return node
    }
    let node = EncodedNode(parent: self, key: key)
    self.set(key, .node(node))
    return node
  }

  private func append(_ slot: Slot) {
    guard case .list(var slots) = self.content else { return self.session.fail() }
    self.content = .nothing
    slots.append(slot)
    self.content = .list(slots)
  }

  private func set(_ key: any CodingKey, _ slot: Slot) {
    guard case .object(var entries) = self.content else { return self.session.fail() }
    self.content = .nothing
    entries.append(Entry(key: CanonicalWriter.normalized(key.stringValue), slot: slot))
    self.content = .object(entries)
  }
}

/// The position of a value in a list, in a coding path.
struct IndexKey: CodingKey {
  let intValue: Int?
  let stringValue: String

  init(intValue: Int) {
    self.intValue = intValue
    self.stringValue = "Index \(intValue)"
  }

  init?(stringValue: String) { nil }
}
