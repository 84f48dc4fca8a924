@_spi(Reflection) import Swift

/// The stored properties of a structure or a tuple: their offsets, and in which order they are
/// written.
struct FieldLayout: Sendable {
  private struct Field: Sendable {
    /// Its place among the stored properties as they were declared.
    let position: Int
    let name: [UInt8]
    /// The name as it is written, `"name":`; empty in a tuple.
    let label: [UInt8]
    let offset: Int
    let form: CanonicalForm
  }

  private var fields = [Field]()
  private let isTuple: Bool
  private var isReadInPlace = true

  /// nil if the type stores something that reflection does not show.
  init?<Value>(of type: Value.Type) {
    self.isTuple = TypeKind(of: type) == .tuple
    var isVisible = true
    _forEachField(of: type) { name, offset, fieldType, kind in
      // A stored property of the compiler's own type is the address of something, or a number whose
      // meaning is not known; one without a name comes from a module that was built without names.
      isVisible = kind != .opaque && name.pointee != 0
      if isVisible { self.append(String(cString: name), fieldType, at: offset) }
      return isVisible
    }
    if !isVisible || self.fields.isEmpty && MemoryLayout<Value>.size > 0 { return nil }
    if !self.isTuple { self.fields.sort { $0.name.lexicographicallyPrecedes($1.name) } }
  }

  private mutating func append(_ name: String, _ type: Any.Type, at offset: Int) {
    let writer = CanonicalWriter(typeNames: .kept)
    if !self.isTuple {
      writer.writeString(name)
      writer.append(ascii: ":")
    }
    self.isReadInPlace = self.isReadInPlace && Self.isReadInPlace(type)
    self.fields.append(
      Field(
        position: self.fields.count,
        name: CanonicalWriter.normalized(name),
        label: writer.bytes,
        offset: offset,
        form: .of(dynamically: type)
      )
    )
  }

  /// Whether a property of this type lies in memory as any variable of the type does. A property
  /// that holds a reference need not: it may be weak or unowned, which only a mirror knows.
  private static func isReadInPlace(_ type: Any.Type) -> Bool {
    if let optional = type as? any OptionalType.Type {
      return Self.isReadInPlace(optional.wrappedType)
    }
    func open<Value>(_ type: Value.Type) -> Bool {
      switch TypeKind(of: type) {
      case .structure, .tuple, .enumeration, .other: true
      case .existential, .reference: false
      }
    }
    return _openExistential(type, do: open)
  }

  func write<Value>(_ address: UnsafePointer<Value>, to writer: CanonicalWriter) throws {
    writer.append(ascii: self.isTuple ? "[" : "{")
    let children = self.isReadInPlace ? [] : Array(Mirror(reflecting: address.pointee).children)
    for (index, field) in self.fields.enumerated() {
      if index > 0 { writer.append(ascii: ",") }
      writer.bytes += field.label
      if self.isReadInPlace {
        try field.form.write(UnsafeRawPointer(address) + field.offset, writer)
      } else {
        try writer.writeDynamically(children[field.position].value)
      }
    }
    writer.append(ascii: self.isTuple ? "]" : "}")
  }
}
