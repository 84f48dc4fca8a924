package import Foundation

/// A server's answer, as much of it as was read.
package struct HTTPAnswer: Sendable {
  package var status: Int
  /// The names are in lower case; what came more than once is joined by commas.
  package var headers: [String: String]
  package var body = Data()
  package var wasTruncated = false
}

/// Makes the head of an answer from its lines, as they come.
struct AnswerHeadParser {
  /// How many bytes the lines of an answer may have.
  static let limit = 256 << 10

  private var status: Int?
  private var headers = [String: String]()
  /// The header that the last line belongs to.
  private var lastName: String?
  private var size = 0

  /// Reads a line.
  ///
  /// - Parameter line: The line, with or without its end.
  /// - Returns: The head, without a body, if this line ends it; nil if more of it is to come, as after an
  ///   interim answer (1xx).
  /// - Throws: ``Problem``.
  mutating func read(_ line: some Collection<UInt8>) throws(Problem) -> HTTPAnswer? {
    try self.skip(line)
    let text = String(decoding: line, as: UTF8.self)
      .trimmingCharacters(in: CharacterSet(charactersIn: "\r\n"))
    if text.isEmpty {
      defer { (self.status, self.headers, self.lastName) = (nil, [:], nil) }
      guard let status = self.status else { throw .noStatus }
      if (100..<200).contains(status) { return nil }
      guard self.hasGoodLength else { throw .badLength }
      return HTTPAnswer(status: status, headers: self.headers)
    }
    if text.hasPrefix("HTTP/") {
      guard let status = text.split(separator: " ").dropFirst().first.flatMap({ Int($0) }) else {
        throw .noStatus
      }
      (self.status, self.headers, self.lastName) = (status, [:], nil)
      return nil
    }
    self.readHeader(text)
    return nil
  }

  /// Counts a line that is not read.
  ///
  /// - Throws: ``Problem/tooLong``.
  mutating func skip(_ line: some Collection<UInt8>) throws(Problem) {
    self.size += line.count
    guard self.size <= Self.limit else { throw .tooLong }
  }

  /// Whether the length of the body is none or one: an answer with two, or with one that is no number, cannot
  /// be told from one that breaks off (RFC 9112, 6.3).
  private var hasGoodLength: Bool {
    guard let length = self.headers["content-length"] else { return true }
    let lengths = Set(
      length.split(separator: ",", omittingEmptySubsequences: false).map {
        $0.trimmingCharacters(in: .whitespaces)
      })
    guard lengths.count == 1, let only = lengths.first else { return false }
    return only.utf8.allSatisfy { (0x30...0x39).contains($0) } && Int64(only) != nil
  }

  private mutating func readHeader(_ text: String) {
    let value: String
    // By scalars: with an accent behind it, a space or a colon is another character.
    let first = text.unicodeScalars.first
    if first == " " || first == "\t" {
      // Goes on with the one before: RFC 9112, 5.2.
      guard let name = self.lastName else { return }
      let rest = text.trimmingCharacters(in: .whitespaces)
      self.headers[name] = self.headers[name].map { "\($0) \(rest)" }
      return
    }
    let scalars = text.unicodeScalars
    guard let colon = scalars.firstIndex(of: ":") else { return }
    let name = text[..<colon].lowercased()
    value = text[scalars.index(after: colon)...].trimmingCharacters(in: .whitespaces)
    self.headers[name] = self.headers[name].map { "\($0), \(value)" } ?? value
    self.lastName = name
  }

  /// Why it is no head.
  enum Problem: Error {
    case tooLong
    case noStatus
    case badLength
  }
}
