// For `_forEachField`, which tells the names, offsets and types of stored properties without a value
// and without a `Mirror`.
@_spi(Reflection) import Swift

/// The kind of a type, as reflection reports it.
enum TypeKind {
  case structure
  case tuple
  /// An enumeration, and so an optional.
  case enumeration
  /// `any P`.
  case existential
  case reference
  /// A closure, a metatype, a type of the compiler's own.
  case other

  init<Value>(of type: Value.Type) {
    // The runtime tells the kind of a field, but not that of a type alone.
    var kind = TypeKind.other
    _forEachField(of: Field<Value>.self) { _, _, _, fieldKind in
      kind = TypeKind(fieldKind)
      return true
    }
    self = kind
  }

  init(_ kind: _MetadataKind) {
    switch kind {
    case .struct: self = .structure
    case .tuple: self = .tuple
    case .enum, .optional: self = .enumeration
    case .existential: self = .existential
    case .class, .foreignClass, .objcClassWrapper: self = .reference
    default: self = .other
    }
  }
}

private struct Field<Value> {
  let value: Value
}
