import Testing

@testable import QueryHTTP

@Suite struct StreamEventTests {
  private func events(_ text: String) throws -> [StreamEvent] {
    var parser = EventStreamParser()
    return try parser.read(text.utf8)
  }

  @Test func eventsAreReadAsTheyAreSent() throws {
    let text = """
      : a comment

      id: 1
      event: change
      data: one
      data:  two

      data:three
      unknown: x

      id
      data

      event: nothing

      """
    #expect(
      try self.events(text) == [
        StreamEvent(id: "1", name: "change", data: "one\n two"),
        StreamEvent(id: "1", data: "three"), StreamEvent(data: ""),
      ])
  }

  @Test(arguments: ["\n", "\r", "\r\n"])
  func itDoesNotMatterWhereBytesAreCut(_ end: String) throws {
    let text = ["\u{feff}id: ä", "data: 🙂 é", "", "data: 2", "", ""].joined(separator: end)
    let expected = [StreamEvent(id: "ä", data: "🙂 é"), StreamEvent(id: "ä", data: "2")]
    let bytes = Array(text.utf8)
    for cut in 0...bytes.count {
      var parser = EventStreamParser()
      let events = try parser.read(bytes[..<cut]) + parser.read(bytes[cut...])
      #expect(events == expected)
      #expect(parser.lastID == "ä")
    }
  }

  /// What combines with the colon or the space before it belongs to the value.
  @Test(arguments: ["\u{301}x", "\u{947}", "\u{200d}y", "\u{fe0f}"])
  func aValueMayBeginWithAnAccent(_ value: String) throws {
    for space in ["", " "] {
      let events = try self.events(
        "id:\(space)\(value)\nevent:\(space)\(value)\ndata:\(space)\(value)\ndata:  \(value)\n\n")
      let event = try #require(events.first)
      #expect(event.id.map { Array($0.utf8) } == Array(value.utf8))
      #expect(Array(event.name.utf8) == Array(value.utf8))
      #expect(Array(event.data.utf8) == Array("\(value)\n \(value)".utf8))
    }
  }

  @Test func garbageIsNoEvent() throws {
    let garbage: [UInt8] = [0xff, 0xfe, 0x00, 0x0a, 0xc3, 0x0a, 0x0a]
    var parser = EventStreamParser()
    #expect(try parser.read(garbage) == [])
    #expect(try parser.read("id: a\u{0}b\nid: c\u{7f}\ndata: x\n\n".utf8).map(\.id) == [nil])
  }

  @Test func anEndlessLineOrEventIsRefused() throws {
    var parser = EventStreamParser()
    let limit = 1 << 20
    let line = [UInt8](repeating: 0x61, count: limit)
    #expect(try parser.read(line) == [])
    #expect(throws: EventStreamError.tooLong) { try parser.read([0x61]) }
    var other = EventStreamParser()
    let part = "data: " + String(repeating: "a", count: limit / 2) + "\n"
    #expect(try other.read(part.utf8) == [])
    #expect(throws: EventStreamError.tooLong) { try other.read((part + part).utf8) }
  }

  @Test func serverSaysHowLongToWait() throws {
    var parser = EventStreamParser()
    for (text, wait) in [("10", 10), ("x", 10), ("999999999", 300_000)] {
      _ = try parser.read("retry: \(text)\n".utf8)
      #expect(parser.retry == .milliseconds(wait))
    }
  }
}
