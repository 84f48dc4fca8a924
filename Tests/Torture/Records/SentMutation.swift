/// What a mutation of the bench is: the arguments that are sent, without what makes them long.
struct SentMutation: Hashable, Sendable {
  /// The lane. Several writers may share one.
  var lane: String
  /// Which worker has enqueued it. A worker that takes the place of a killed one has its name.
  var writer: String
  /// Counted by the writer, also across processes.
  var number: Int

  /// Whether the server refuses it whenever it comes.
  var isRefused: Bool { self.number % 89 == 88 }

  /// What stands for it in a log: three words.
  var words: [String] { [self.lane, self.writer, "\(self.number)"] }

  init(lane: String, writer: String, number: Int) {
    (self.lane, self.writer, self.number) = (lane, writer, number)
  }

  /// - Parameter words: Three words of a log.
  init?(words: some Collection<String>) {
    let words = Array(words)
    guard words.count == 3, let number = Int(words[2]) else { return nil }
    self.init(lane: words[0], writer: words[1], number: number)
  }
}

extension SentMutation: CustomStringConvertible {
  var description: String { "\(self.lane) \(self.writer)/\(self.number)" }
}
