/// Writes values as canonical text, into one buffer of UTF-8.
///
/// Canonical means: no spaces, keys and sets in the order of their bytes, strings in NFC, and one
/// spelling of all that `AnyHashable` treats as equal. ``CanonicalForm`` knows how a type is
/// written.
///
/// Parts that need ordering are written in place, and then replaced by their ordered copy, so
/// nothing is ever written into a string of its own.
final class CanonicalWriter {
  enum TypeNames {
    case kept
    case leftOut
  }

  /// How many values may stand inside one another: arrays, sets, dictionaries, values of types that
  /// are written with their name, and containers of an `encode(to:)`.
  static let maximumDepth = 128

  // Unchecked: each change of it is one call of the array's.
  @exclusivity(unchecked) var bytes = [UInt8]()
  let typeNames: TypeNames

  /// How many values are open.
  var depth = 0

  /// The innermost value that is encoding itself.
  var session: EncodingSession?

  init(typeNames: TypeNames) {
    self.typeNames = typeNames
    self.bytes.reserveCapacity(128)
  }

  static func text(of path: QueryPath, typeNames: TypeNames) throws -> String {
    let writer = CanonicalWriter(typeNames: typeNames)
    writer.append(ascii: "[")
    for (index, element) in path.elements.enumerated() {
      if index > 0 { writer.append(ascii: ",") }
      do {
        try writer.write(element)
      } catch let error as NotRepresentable {
        throw QueryIdentityError.notRepresentable(
          element: element,
          type: QualifiedTypeName.of(error.type)
        )
      }
    }
    writer.append(ascii: "]")
    return String(decoding: writer.bytes, as: UTF8.self)
  }
}

/// The type of a value that has no canonical text.
struct NotRepresentable: Error {
  let type: Any.Type
}

// MARK: - Values

extension CanonicalWriter {
  func write<Value>(_ value: Value) throws {
    if Value.self == String.self {
      self.writeString(unsafeBitCast(value, to: String.self))
    } else if Value.self == Int.self {
      self.writeInteger(unsafeBitCast(value, to: Int.self))
    } else {
      let form = CanonicalForm.of(Value.self)
      try withUnsafePointer(to: value) { try form.write(UnsafeRawPointer($0), self) }
    }
  }

  func write(_ element: QueryPath.Element) throws {
    switch element.storage {
    case .text(let text): self.writeString(text)
    case .integer(let number): self.writeInteger(number)
    case .other(let box): try self.writeDynamically(box.base)
    }
  }

  /// Writes a value whose type is known only at run time, as that type.
  func writeDynamically(_ value: Any) throws {
    func open<Value>(_ value: Value) throws { try self.write(value) }
    try _openExistential(value, do: open)
  }

  /// Counts one more value inside the others while `body` runs.
  func nested(_ type: Any.Type, _ body: () throws -> Void) throws {
    guard self.depth < Self.maximumDepth else { throw NotRepresentable(type: type) }
    self.depth += 1
    defer { self.depth -= 1 }
    try body()
  }

  /// Writes the content of a value with the name of its type around it.
  func typed(_ type: Any.Type, header: [UInt8], _ content: () throws -> Void) throws {
    try self.nested(type) {
      if self.typeNames == .leftOut { return try content() }
      self.bytes += header
      try content()
      self.append(ascii: "}")
    }
  }

  /// What stands before the content of a value of a type: `{"Module.Type":`.
  static func header(of type: Any.Type) -> [UInt8] {
    let writer = CanonicalWriter(typeNames: .kept)
    writer.append(ascii: "{")
    writer.writeString(QualifiedTypeName.of(type))
    writer.append(ascii: ":")
    return writer.bytes
  }
}

// MARK: - Lists

extension CanonicalWriter {
  func writeList<Values: Sequence>(_ values: Values) throws {
    self.append(ascii: "[")
    var isFirst = true
    for value in values {
      if !isFirst { self.append(ascii: ",") }
      isFirst = false
      try self.write(value)
    }
    self.append(ascii: "]")
  }

  /// Writes a list in the order of the bytes of its items, not in that of `values`.
  func writeOrderedList<Values: Collection>(
    _ values: Values,
    _ write: (Values.Element) throws -> Void
  ) throws {
    self.append(ascii: "[")
    var items = [Range<Int>]()
    items.reserveCapacity(values.count)
    let start = self.bytes.count
    for value in values {
      let itemStart = self.bytes.count
      try write(value)
      items.append(itemStart..<self.bytes.count)
    }
    let ordered = self.bytes.withUnsafeBufferPointer { bytes in
      items.sort { bytes[$0].lexicographicallyPrecedes(bytes[$1]) }
      return [UInt8](items.map { bytes[$0] }.joined(separator: CollectionOfOne(UInt8(ascii: ","))))
    }
    self.bytes.replaceSubrange(start..., with: ordered)
    self.append(ascii: "]")
  }
}

// MARK: - Punctuation

extension CanonicalWriter {
  func append(ascii character: Unicode.Scalar) {
    self.bytes.append(UInt8(ascii: character))
  }

  func append(_ text: StaticString) {
    self.bytes += UnsafeBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount)
  }
}
