// The function that the standard library itself prints enumerations with. It reads the case's name
// from the metadata that the compiler wrote. A description may be anything, and so may a raw value; a
// `Mirror` has the name of a case with a payload alone, and costs forty times as much.
@_silgen_name("swift_EnumCaseName")
private func caseName<Value>(_ value: Value) -> UnsafePointer<CChar>?

extension CanonicalForm {
  /// The form of an enumeration: `{"Module.Type":"case"}`, with a payload
  /// `{"Module.Type":{"case":payload}}`, or `{"Module.Type":{"case(label:)":payload}}` if the payload
  /// has labels, which may be all that tells two cases apart.
  static func ofEnumeration<Value>(_ type: Value.Type) -> CanonicalForm {
    let header = CanonicalWriter.header(of: type)
    let cases = KnownCases()
    return CanonicalForm { address, writer in
      let value = address.assumingMemoryBound(to: Value.self).pointee
      // An enumeration of C, or of a module built without names, has no case names.
      guard let name = caseName(value) else { throw NotRepresentable(type: Value.self) }
      try writer.typed(Value.self, header: header) {
        if cases.isPlain(name, in: value) {
          writer.writeString(String(cString: name))
        } else {
          try writer.writePayload(of: value, caseName: String(cString: name))
        }
      }
    }
  }
}

/// Which cases of an enumeration have a payload, of those met so far. A case is known by the
/// address of its name, which is a constant in the program.
private final class KnownCases: Sendable {
  private let plainness = Locked([UInt: Bool]())

  func isPlain(_ name: UnsafePointer<CChar>, in value: some Any) -> Bool {
    let key = UInt(bitPattern: name)
    if let isPlain = self.plainness.withLock({ $0[key] }) { return isPlain }
    let isPlain = Mirror(reflecting: value).children.isEmpty
    self.plainness.withLock { $0[key] = isPlain }
    return isPlain
  }
}

extension CanonicalWriter {
  fileprivate func writePayload(of value: some Any, caseName: String) throws {
    // Several values come as one tuple, and so does one with a label. There is always a child: the
    // case has a payload.
    guard let payload = Mirror(reflecting: value).children.first?.value else { return }
    self.append(ascii: "{")
    self.writeString(caseName + Self.labels(ofPayload: payload))
    self.append(ascii: ":")
    try self.writeDynamically(payload)
    self.append(ascii: "}")
  }

  /// The labels of a payload as they stand in the full name of its case, `(from:_:)`; empty if it has
  /// none.
  private static func labels(ofPayload payload: Any) -> String {
    func kind<Value>(_ value: Value) -> TypeKind { TypeKind(of: Value.self) }
    guard _openExistential(payload, do: kind) == .tuple else { return "" }
    // A mirror numbers those without a label: ".0", ".1".
    let labels = Mirror(reflecting: payload).children
      .map { child in child.label.flatMap { $0.hasPrefix(".") ? nil : $0 } ?? "_" }
    if labels.allSatisfy({ $0 == "_" }) { return "" }
    return "(\(labels.map { $0 + ":" }.joined()))"
  }
}
