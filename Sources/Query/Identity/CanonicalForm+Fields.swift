extension CanonicalForm {
  /// The form of a structure: `{"Module.Type":{"property":value}}`.
  static func ofStructure<Value>(_ type: Value.Type) -> CanonicalForm {
    guard let layout = FieldLayout(of: type) else { return .refused(type) }
    let header = CanonicalWriter.header(of: type)
    return CanonicalForm { address, writer in
      try writer.typed(Value.self, header: header) {
        try layout.write(address.assumingMemoryBound(to: Value.self), to: writer)
      }
    }
  }

  /// The form of a tuple: `[value,value]`. It has no name: a tuple is never an element itself, and
  /// the type that it is in says which tuple it is.
  static func ofTuple<Value>(_ type: Value.Type) -> CanonicalForm {
    guard let layout = FieldLayout(of: type) else { return .refused(type) }
    return CanonicalForm { address, writer in
      try writer.nested(Value.self) {
        try layout.write(address.assumingMemoryBound(to: Value.self), to: writer)
      }
    }
  }
}
