import Foundation
import ToolSupport

/// What a command line says about the server.
struct CheckTarget: Sendable {
  var url: URL
  var method: String
  var headers: [CheckHeader]
  /// The headers of another account; nil if it is not known.
  var otherHeaders: [CheckHeader]?
  var count: (url: URL, pointer: JSONPointer)?
  /// With `{id}` for the identifier.
  var readURL: String?
  var kill: String?
  var start: String?
  private var template: Data

  private static let placeholder = Data("%n".utf8)
  private static let example = Data(
    #"{"folder": "Checks", "title": "check-server", "text": "write %n"}"#.utf8)

  /// - Throws: `UsageError`; `ToolError` if the file of the body cannot be read.
  init(_ command: ParsedCommand) throws {
    self.url = try Self.url(command.arguments.first ?? "", "URL", command)
    self.method = command.text(CheckServerOption.method) ?? "POST"
    self.headers = try Self.headers(CheckServerOption.header, command)
    let others = try Self.headers(CheckServerOption.otherHeader, command)
    let names = Set(others.map { $0.name.lowercased() })
    if !others.isEmpty {
      self.otherHeaders =
        self.headers.filter { !names.contains($0.name.lowercased()) } + others
    }
    self.template = try Self.template(command, self.method)
    self.count = try Self.count(command)
    self.readURL = command.text(CheckServerOption.readURL)
    if let readURL {
      let filled = readURL.replacingOccurrences(of: "{id}", with: "0")
      _ = try Self.url(filled, CheckServerOption.readURL.dashed, command)
    }
    self.kill = command.text(CheckServerOption.kill)
    self.start = command.text(CheckServerOption.start)
    if (self.kill == nil) != (self.start == nil) {
      throw command.usageError("--kill-command and --start-command go together")
    }
    let isTyped = self.headers.contains { $0.name.lowercased() == "content-type" }
    if !isTyped, !self.template.isEmpty {
      let isJSON = CheckAnswer(status: 0, headers: [:], body: self.template).json != nil
      let type = CheckHeader("Content-Type", isJSON ? "application/json" : "text/plain")
      self.headers.append(type)
      self.otherHeaders?.append(type)
    }
  }

  /// The body of the write of a number.
  func body(_ number: Int) -> Data { self.filled(self.template, number) }

  /// Another body than that: the next number's, or, if it has no number, one that says something else.
  func otherBody(_ number: Int) -> Data {
    if self.template.range(of: Self.placeholder) != nil { return self.body(number + 1_000) }
    guard let json = CheckAnswer(status: 0, headers: [:], body: self.template).json else {
      return self.template + Data("2".utf8)
    }
    // A server that reads no JSON of it would refuse it without looking at the key.
    let other = Self.other(than: json) ?? [json, 2]
    let data = try? JSONSerialization.data(
      withJSONObject: other, options: [.fragmentsAllowed, .sortedKeys])
    return data ?? self.template
  }

  /// JSON that differs in a text, else in a number, wherever that is; nil if it has neither.
  private static func other(than json: Any) -> Any? {
    switch json {
    case let text as String: return "\(text) 2"
    case let object as [String: Any]:
      let names = object.keys.sorted()
      let order = names.filter { object[$0] is String } + names.filter { !(object[$0] is String) }
      for name in order {
        guard let other = object[name].flatMap(Self.other) else { continue }
        return object.merging([name: other]) { $1 }
      }
      return nil
    case var list as [Any]:
      for (index, element) in list.enumerated() {
        guard let other = Self.other(than: element) else { continue }
        list[index] = other
        return list
      }
      return nil
    case let number as NSNumber:
      // A truth value is a number, too, and only its text tells.
      let text = try? JSONSerialization.data(withJSONObject: number, options: .fragmentsAllowed)
      let isTruth = text == Data("true".utf8) || text == Data("false".utf8)
      return isTruth ? nil : number.doubleValue + 2
    default: return nil
    }
  }

  private func filled(_ template: Data, _ number: Int) -> Data {
    var data = template
    while let range = data.range(of: Self.placeholder) {
      data.replaceSubrange(range, with: Data("\(number)".utf8))
    }
    return data
  }

  /// Whether it is on this machine.
  var isLoopback: Bool {
    let host = (self.url.host(percentEncoded: false) ?? "").lowercased()
    if ["localhost", "::1", "[::1]"].contains(host) { return true }
    var address = in_addr()
    return inet_pton(AF_INET, host, &address) == 1 && UInt32(bigEndian: address.s_addr) >> 24 == 127
  }
}

// MARK: - Reading the command line

extension CheckTarget {
  private static func url(
    _ text: String, _ name: String, _ command: ParsedCommand
  ) throws(UsageError) -> URL {
    guard let url = URL(string: text), let scheme = url.scheme?.lowercased(),
      ["http", "https"].contains(scheme), url.host() != nil, url.user() == nil
    else { throw command.usageError("\(name) is a URL such as http://127.0.0.1:8080/notes") }
    return url
  }

  private static func headers(
    _ option: ToolOption, _ command: ParsedCommand
  ) throws(UsageError) -> [CheckHeader] {
    let own = ["idempotency-key", "content-length", "host", "connection", "transfer-encoding"]
    return try command.texts(option).map { text throws(UsageError) in
      guard let header = CheckHeader(line: text) else {
        throw command.usageError("\(option.dashed) is a header such as “Name: value”")
      }
      if own.contains(header.name.lowercased()) {
        throw command.usageError("\(header.name) is set by check-server itself")
      }
      return header
    }
  }

  private static func template(_ command: ParsedCommand, _ method: String) throws -> Data {
    let path = command.text(CheckServerOption.body)
    switch (path, command.has(CheckServerOption.example)) {
    case (.some, true): throw command.usageError("give --body or --example, not both")
    case (nil, true): return Self.example
    case (nil, false):
      if method == "DELETE" { return Data() }
      throw command.usageError("say what to write: --body FILE, or --example")
    case (let path?, false):
      do { return try Data(contentsOf: URL(filePath: path)) } catch {
        throw ToolError(.inputOutput, "cannot read \(path); check --body")
      }
    }
  }

  private static func count(_ command: ParsedCommand) throws -> (URL, JSONPointer)? {
    let option = CheckServerOption.countURL
    guard let text = command.text(option) else {
      if command.has(CheckServerOption.countPath) {
        throw command.usageError("--count-path is a place in what --count-url answers")
      }
      return nil
    }
    guard let pointer = JSONPointer(command.text(CheckServerOption.countPath) ?? "") else {
      throw command.usageError("--count-path begins with /, as /notes or /0/count")
    }
    return (try self.url(text, option.dashed, command), pointer)
  }
}
