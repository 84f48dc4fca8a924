/// A sending of a mutation, as the server has noted it.
struct Attempt: Hashable, Sendable {
  /// The process that sent it, which no other one of the folder is called.
  var process: String
  /// What the server tells sendings by.
  var key: String
  /// What was sent.
  var mutation: SentMutation
  /// When it began.
  var began: Moment
  /// When it ended; nil: its process has not come so far.
  var ended: Moment?

  /// Reads the log of the server.
  ///
  /// - Parameter path: The file.
  /// - Returns: The attempts, in the order of beginning.
  static func read(_ path: String) -> [Attempt] {
    var attempts = [Attempt]()
    var open = [String: Int]()
    for words in LineLog.lines(of: path) {
      guard words.count >= 4, let moment = Int(words[1]) else { continue }
      let place = "\(words[2]) \(words[3])"
      if words[0] == "began", let mutation = SentMutation(words: words[4...]) {
        open[place] = attempts.count
        attempts.append(
          Attempt(process: words[2], key: words[3], mutation: mutation, began: moment))
      } else if words[0] == "ended", let index = open.removeValue(forKey: place) {
        attempts[index].ended = moment
      }
    }
    return attempts
  }
}
