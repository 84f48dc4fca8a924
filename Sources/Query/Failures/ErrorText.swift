import FoundationEssentials

/// What is kept and shown of an error: a sentence, with nothing that the error holds besides.
///
/// An error may hold a URL with a key in it, a header, or a server's answer. A text that its author
/// wrote is taken, without the secret parts of URLs; of any other error its name.
enum ErrorText {
  /// How many characters are kept.
  static let maximumLength = 500

  /// The sentence of an error.
  static func of(_ error: any Error) -> String {
    let text = Self.withoutSecrets(Self.sentence(of: error))
    return String(text.prefix(Self.maximumLength))
  }

  private static func sentence(of error: any Error) -> String {
    if let code = FailureVerdict.urlErrorCode(of: error) {
      return "\(Self.sentence(ofURLError: code)) (NSURLErrorDomain \(code))"
    }
    if let description = (error as? any LocalizedError)?.errorDescription { return description }
    if error is any CustomStringConvertible || error is any CustomDebugStringConvertible
      || error is DecodingError || error is EncodingError
    {
      return Self.withoutUserInfo(String(describing: error))
    }
    let mirror = Mirror(reflecting: error)
    guard mirror.displayStyle == .enum else {
      return TypeName.of(type(of: error), generics: .dropped)
    }
    // A case alone; what is with it may be anything.
    return mirror.children.first?.label ?? String(describing: error)
  }
}

// MARK: - Foundation's errors

extension ErrorText {
  private static let foundationPrefix = "Error Domain="

  /// The text of an error of Foundation without what it carries, as
  /// `Error Domain=X Code=3 "A sentence."`.
  private static func withoutUserInfo(_ text: String) -> String {
    guard text.hasPrefix(Self.foundationPrefix) else { return text }
    let info = text.firstRange(of: "UserInfo={") ?? text.endIndex..<text.endIndex
    let head = text[..<info.lowerBound].replacing(" \"(null)\"", with: "")
    // The sentence is among what it carries where the error was made without one of its domain's.
    guard head.utf8.last != UInt8(ascii: "\""),
      let key = text[info.upperBound...].firstRange(of: "NSLocalizedDescription=")
    else { return String(head) }
    let rest = text[key.upperBound...]
    let end = rest.firstRange(of: ", NS")?.lowerBound ?? rest.lastIndex(of: "}") ?? rest.endIndex
    return "\(head) \"\(rest[..<end])\""
  }

  /// What an error of URL loading says, which in Foundation's own words names the whole URL.
  private static func sentence(ofURLError code: Int) -> String {
    switch code {
    case -999: "The request was cancelled."
    case -1_000, -1_002: "The URL cannot be loaded."
    case -1_001: "The server did not answer in time."
    case -1_003, -1_006: "The host was not found."
    case -1_004: "The host could not be reached, or refused the connection."
    case -1_005: "The connection was lost."
    case -1_009: "There is no network."
    case -1_011: "The connection was closed without a valid answer."
    case -1_206 ... -1_200: "No secure connection could be made."
    default: "The URL could not be loaded."
    }
  }
}

// MARK: - URLs

extension ErrorText {
  /// A text in which each URL has neither its query and fragment nor a user and password.
  ///
  /// It goes by scalars: a combining mark behind a separator would make another character of it.
  static func withoutSecrets(_ text: String) -> String {
    var result = String.UnicodeScalarView()
    var rest = text.unicodeScalars[...]
    while let separator = rest.firstRange(of: "://".unicodeScalars) {
      let isQuoted = Self.endsWithQuote(rest[..<separator.lowerBound])
      result += rest[..<separator.upperBound]
      rest = rest[separator.upperBound...]
      // A password may have what ends a URL elsewhere.
      let authority = rest.prefix { !Self.endsAuthority($0) }
      if let at = authority.lastIndex(of: "@") { rest = rest[rest.index(after: at)...] }
      let url = rest[..<Self.end(of: rest, isQuoted: isQuoted)]
      let shown = url.prefix { $0 != "?" && $0 != "#" }
      result += shown
      if shown.endIndex < url.endIndex { result += "?…".unicodeScalars }
      rest = rest[url.endIndex...]
    }
    result += rest
    return String(result)
  }

  /// Whether a single quote stands before the scheme at the end of a text.
  private static func endsWithQuote(_ text: Substring.UnicodeScalarView) -> Bool {
    let last = text.last { scalar in
      !scalar.properties.isAlphabetic && scalar.properties.numericType == nil
        && !"+-.".unicodeScalars.contains(scalar)
    }
    return last == "'"
  }

  private static func endsAuthority(_ scalar: Unicode.Scalar) -> Bool {
    scalar.properties.isWhitespace || "/?#\"<>".unicodeScalars.contains(scalar)
  }

  /// Where the URL ends with which a text begins. Brackets and single quotes may be part of it.
  private static func end(
    of text: Substring.UnicodeScalarView, isQuoted: Bool
  ) -> Substring.UnicodeScalarView.Index {
    var open = [Unicode.Scalar]()
    for index in text.indices {
      let scalar = text[index]
      if scalar.properties.isWhitespace { return index }
      switch scalar {
      case "\"", "<", ">": return index
      case "(": open.append(")")
      case "[": open.append("]")
      case "{": open.append("}")
      case ")", "]", "}":
        guard let innermost = open.lastIndex(of: scalar) else { return index }
        open.removeSubrange(innermost...)
      case "'": if isQuoted && open.isEmpty { return index }
      default: break
      }
    }
    return text.endIndex
  }
}
