/// A type of the language or of Foundation that is written in a form of its own.
protocol CanonicalValue: SendableMetatype {
  static var canonicalForm: CanonicalForm { get }

  func writeCanonically(to writer: CanonicalWriter) throws
}

extension CanonicalValue {
  static var canonicalForm: CanonicalForm {
    CanonicalForm { address, writer in
      try address.assumingMemoryBound(to: Self.self).pointee.writeCanonically(to: writer)
    }
  }
}

// MARK: - Text and truth

extension String: CanonicalValue {
  func writeCanonically(to writer: CanonicalWriter) { writer.writeString(self) }
}

extension Bool: CanonicalValue {
  func writeCanonically(to writer: CanonicalWriter) { writer.append(self ? "true" : "false") }
}

// MARK: - Numbers

extension CanonicalValue where Self: FixedWidthInteger {
  func writeCanonically(to writer: CanonicalWriter) { writer.writeInteger(self) }
}

// Not the 128-bit integers, which `AnyHashable` holds equal to no other number.
extension Int: CanonicalValue {}
extension Int8: CanonicalValue {}
extension Int16: CanonicalValue {}
extension Int32: CanonicalValue {}
extension Int64: CanonicalValue {}
extension UInt: CanonicalValue {}
extension UInt8: CanonicalValue {}
extension UInt16: CanonicalValue {}
extension UInt32: CanonicalValue {}
extension UInt64: CanonicalValue {}

// Nor `Float16`, for the same reason.
extension Float: CanonicalValue {
  func writeCanonically(to writer: CanonicalWriter) { writer.writeDouble(Double(self)) }
}

extension Double: CanonicalValue {
  func writeCanonically(to writer: CanonicalWriter) { writer.writeDouble(self) }
}

#if arch(x86_64) || arch(i386)
  extension Float80: CanonicalValue {
    func writeCanonically(to writer: CanonicalWriter) { writer.writeFloat80(self) }
  }
#endif

// MARK: - Wrappers

/// An optional, whatever it wraps.
protocol OptionalType {
  static var wrappedType: Any.Type { get }
  /// Writes the absent value.
  static func writeNil(to writer: CanonicalWriter)
}

extension Optional: CanonicalValue, OptionalType {
  static var wrappedType: Any.Type { Wrapped.self }

  func writeCanonically(to writer: CanonicalWriter) throws {
    if let value = self {
      try writer.write(value)
    } else {
      Self.writeNil(to: writer)
    }
  }

  /// An absent value of an optional of optionals is not equal to one that is there and absent inside.
  static func writeNil(to writer: CanonicalWriter) {
    guard let wrapped = Wrapped.self as? any OptionalType.Type else {
      return writer.append("null")
    }
    writer.append(#"{"Optional":"#)
    wrapped.writeNil(to: writer)
    writer.append(ascii: "}")
  }
}

extension AnyHashable: CanonicalValue {
  func writeCanonically(to writer: CanonicalWriter) throws {
    try writer.writeDynamically(self.base)
  }
}
