extension Array: CanonicalValue {
  func writeCanonically(to writer: CanonicalWriter) throws {
    try writer.nested(Self.self) { try writer.writeList(self) }
  }
}

extension Set: CanonicalValue {
  func writeCanonically(to writer: CanonicalWriter) throws {
    try writer.nested(Self.self) {
      writer.append(#"{"Set":"#)
      try writer.writeOrderedList(self) { try writer.write($0) }
      writer.append(ascii: "}")
    }
  }
}

extension Dictionary: CanonicalValue {
  func writeCanonically(to writer: CanonicalWriter) throws {
    try writer.nested(Self.self) {
      writer.append(#"{"Dictionary":"#)
      try writer.writeOrderedList(self) { key, value in
        writer.append(ascii: "[")
        try writer.write(key)
        writer.append(ascii: ",")
        try writer.write(value)
        writer.append(ascii: "]")
      }
      writer.append(ascii: "}")
    }
  }
}

// MARK: - Lists with a name

/// A list that `AnyHashable` holds equal to no array, and that so keeps its name.
protocol NamedList: CanonicalValue, Sequence {}

extension NamedList {
  static var canonicalForm: CanonicalForm {
    let header = CanonicalWriter.header(of: Self.self)
    return CanonicalForm { address, writer in
      try writer.typed(Self.self, header: header) {
        try address.assumingMemoryBound(to: Self.self).pointee.writeCanonically(to: writer)
      }
    }
  }

  /// Writes the values alone; the name is the form's.
  func writeCanonically(to writer: CanonicalWriter) throws { try writer.writeList(self) }
}

extension ArraySlice: NamedList {}
extension ContiguousArray: NamedList {}
