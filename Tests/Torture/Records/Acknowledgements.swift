/// What the workers were told, and have written down after they were told it.
struct Acknowledgements: Sendable {
  /// Mutations that were enqueued, each with its key if the caller learns it.
  var mutations = [SentMutation: String?]()
  /// The highest version of each value that was flushed.
  var values = [String: Int]()
  /// What the storage has complained of.
  var complaints = [Complaint]()

  /// Something that a worker was told that is not well.
  struct Complaint: Hashable, Sendable {
    /// When.
    var moment: Moment
    /// SQLite's primary code; 0: it is no error of the storage.
    var code: Int
    /// Which process.
    var process: String
    /// What it was told.
    var text: String
  }

  /// Reads the log of a worker.
  ///
  /// - Parameter path: The file.
  mutating func read(_ path: String) {
    for words in LineLog.lines(of: path, maximumWords: 5) {
      switch words.first {
      case "mutation":
        guard let mutation = SentMutation(words: words[2...]) else { continue }
        self.mutations[mutation] = .some(words[1] == "-" ? nil : words[1])
      case "value":
        guard words.count == 3, let version = Int(words[2]) else { continue }
        self.values[words[1]] = max(self.values[words[1]] ?? 0, version)
      case "complaint":
        guard words.count == 5, let moment = Int(words[1]), let code = Int(words[2]) else {
          continue
        }
        self.complaints.append(
          Complaint(moment: moment, code: code, process: words[3], text: words[4]))
      default: continue
      }
    }
  }
}
