/// How the values of one type are written, worked out once for each type.
///
/// A conformance check costs 0.2 µs, printing a type's name tens of microseconds, and a `Mirror` 2
/// µs, so that is done once here and kept for the type, not for each value. Types are not unloaded,
/// and neither are forms.
struct CanonicalForm: Sendable {
  /// Writes the value at an address. The memory holds a value of the type, and is only read.
  let write: @Sendable (UnsafeRawPointer, CanonicalWriter) throws -> Void

  private static let forms = Locked([ObjectIdentifier: CanonicalForm]())

  /// The form of a type.
  static func of<Value>(_ type: Value.Type) -> CanonicalForm {
    if let form = Self.forms.withLock({ $0[ObjectIdentifier(type)] }) { return form }
    // Outside the lock, since a form may need those of other types. Two threads that make the same
    // one make it equal.
    let form = Self.make(for: type)
    Self.forms.withLock { $0[ObjectIdentifier(type)] = form }
    return form
  }

  /// The form of a type that is known only at run time.
  static func of(dynamically type: Any.Type) -> CanonicalForm {
    func open<Value>(_ type: Value.Type) -> CanonicalForm { Self.of(type) }
    return _openExistential(type, do: open)
  }

  static func refused(_ type: Any.Type) -> CanonicalForm {
    CanonicalForm { _, _ in throw NotRepresentable(type: type) }
  }

  private static func make<Value>(for type: Value.Type) -> CanonicalForm {
    if let type = type as? any CanonicalValue.Type { return type.canonicalForm }
    // A conformance isolated to an actor could be used only on that actor, so `SendableMetatype`
    // excludes it: the form must not depend on its first caller.
    if let type = type as? any (Encodable & SendableMetatype).Type { return type.encodedForm }
    // Its mirror shows what the type chooses to show, which need not be what it stores.
    if type is any CustomReflectable.Type { return Self.refused(type) }
    switch TypeKind(of: type) {
    case .structure: return Self.ofStructure(type)
    case .tuple: return Self.ofTuple(type)
    case .enumeration: return Self.ofEnumeration(type)
    case .existential: return Self.ofExistential(type)
    case .reference, .other: return Self.refused(type)
    }
  }

  /// The form of `any P`, whose values each bring their own type.
  private static func ofExistential<Value>(_ type: Value.Type) -> CanonicalForm {
    CanonicalForm { address, writer in
      let value = address.assumingMemoryBound(to: Value.self).pointee
      func open<Dynamic>(_ type: Dynamic.Type) throws {
        guard let value = value as? Dynamic else { throw NotRepresentable(type: type) }
        try writer.write(value)
      }
      try _openExistential(Swift.type(of: value as Any), do: open)
    }
  }
}

extension Encodable where Self: SendableMetatype {
  fileprivate static var encodedForm: CanonicalForm {
    let header = CanonicalWriter.header(of: Self.self)
    return CanonicalForm { address, writer in
      let value = address.assumingMemoryBound(to: Self.self).pointee
      let dynamicType: Any.Type = Swift.type(of: value)
      // Differs if an instance of a subclass is known by its superclass.
      let isExact = dynamicType == Self.self
      try writer.typed(
        dynamicType,
        header: isExact ? header : CanonicalWriter.header(of: dynamicType)
      ) {
        try writer.encode(value)
      }
    }
  }
}
