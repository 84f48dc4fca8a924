import FoundationEssentials

extension Date: CanonicalValue {
  /// The seconds since 1970, or, if these are rounded, those since 2001, which are exact.
  func writeCanonically(to writer: CanonicalWriter) {
    writer.append(#"{"Date":"#)
    let seconds = self.timeIntervalSince1970
    if Date(timeIntervalSince1970: seconds) == self || seconds.isNaN {
      writer.writeDouble(seconds)
    } else {
      writer.append(#"{"since2001":"#)
      writer.writeDouble(self.timeIntervalSinceReferenceDate)
      writer.append(ascii: "}")
    }
    writer.append(ascii: "}")
  }
}

extension Data: CanonicalValue {
  func writeCanonically(to writer: CanonicalWriter) {
    writer.append(#"{"Data":"#)
    writer.writeString(self.base64EncodedString())
    writer.append(ascii: "}")
  }
}

extension UUID: CanonicalValue {
  func writeCanonically(to writer: CanonicalWriter) {
    writer.append(#"{"UUID":"#)
    writer.writeString(self.uuidString)
    writer.append(ascii: "}")
  }
}

extension URL: CanonicalValue {
  /// A URL that is relative to another is not equal to the absolute one, and is written in two parts.
  func writeCanonically(to writer: CanonicalWriter) throws {
    writer.append(#"{"URL":"#)
    if let base = self.baseURL {
      try writer.writeList([self.relativeString, base.absoluteString])
    } else {
      writer.writeString(self.absoluteString)
    }
    writer.append(ascii: "}")
  }
}
