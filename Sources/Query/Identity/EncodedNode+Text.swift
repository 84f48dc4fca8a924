extension EncodedNode {
  /// Puts this container's text, in order, in place of all that was written since `start`.
  func replaceText(from start: Int) {
    let writer = self.session.writer
    // One value alone is in its place already.
    if case .single(let range) = self.content, range == start..<writer.bytes.count { return }
    let written = Array(writer.bytes[start...])
    writer.bytes.removeSubrange(start...)
    self.append(to: writer, from: written[...], offset: start)
  }

  /// - Parameters:
  ///   - written: The text of the values, in the order in which they were encoded.
  ///   - offset: The offset of the text in the buffer when the ranges were noted.
  private func append(to writer: CanonicalWriter, from written: ArraySlice<UInt8>, offset: Int) {
    func append(_ range: Range<Int>) {
      writer.bytes += written[range.lowerBound - offset..<range.upperBound - offset]
    }
    func append(_ slot: Slot) {
      switch slot {
      case .text(let range): append(range)
      case .node(let node): node.append(to: writer, from: written, offset: offset)
      }
    }
    switch self.content {
    case .nothing:
      writer.append("{}")
    case .single(let range):
      append(range)
    case .list(let slots):
      writer.append(ascii: "[")
      for (index, slot) in slots.enumerated() {
        if index > 0 { writer.append(ascii: ",") }
        append(slot)
      }
      writer.append(ascii: "]")
    case .object(let entries):
      writer.append(ascii: "{")
      for (index, entry) in Self.ordered(entries).enumerated() {
        if index > 0 { writer.append(ascii: ",") }
        entry.key.withUnsafeBufferPointer { writer.writeQuoted($0) }
        writer.append(ascii: ":")
        append(entry.slot)
      }
      writer.append(ascii: "}")
    }
  }

  /// The entries in the order of their keys; of those with one key, the last.
  private static func ordered(_ entries: [Entry]) -> [Entry] {
    guard entries.count > 1 else { return entries }
    // The standard library's sort keeps the order of equal elements.
    let sorted = entries.sorted { $0.key.lexicographicallyPrecedes($1.key) }
    return sorted.indices
      .filter { $0 + 1 == sorted.count || sorted[$0 + 1].key != sorted[$0].key }
      .map { sorted[$0] }
  }
}
