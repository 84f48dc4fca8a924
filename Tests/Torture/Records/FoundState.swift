/// What was found in the files after all workers had ended.
struct FoundState: Sendable {
  /// A mutation that is live or dead.
  struct Row: Hashable, Sendable {
    var mutation: SentMutation
    var key: String
    /// `pending`, `leased`, or why it is dead.
    var standing: String
    /// Whether it is dead.
    var isDead: Bool
  }

  /// Live and dead mutations.
  var rows = [Row]()
  /// The version of each value.
  var values = [String: Int]()
  /// What is wrong with the files themselves.
  var damage = [String]()
  /// Whether the look at the files was finished.
  var isWhole = false

  /// Reads what an audit has written.
  ///
  /// - Parameter path: The file.
  static func read(_ path: String) -> FoundState {
    var state = FoundState()
    for words in LineLog.lines(of: path) {
      switch words.first {
      case "row":
        guard words.count == 7, let mutation = SentMutation(words: words[4...]) else { continue }
        state.rows.append(
          Row(mutation: mutation, key: words[1], standing: words[3], isDead: words[2] == "dead"))
      case "value":
        guard words.count == 3, let version = Int(words[2]) else { continue }
        state.values[words[1]] = version
      case "damage": state.damage.append(words.dropFirst().joined(separator: " "))
      case "done": state.isWhole = true
      default: continue
      }
    }
    return state
  }
}
