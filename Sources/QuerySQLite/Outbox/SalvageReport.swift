/// The result of a salvage.
struct SalvageReport {
  /// How many live and dead mutations were read.
  var rows = 0

  /// How many ended mutations were read.
  var ended = 0

  /// What existed and could not be read, each in a few words.
  var lost = [String]()

  /// The report as a message.
  var words: String {
    let kept = "\(self.rows) mutations and \(self.ended) ended ones were salvaged"
    if self.lost.isEmpty { return "\(kept), and nothing is known to be lost" }
    let named = self.lost.prefix(50).joined(separator: ", ")
    let rest = self.lost.count > 50 ? " and \(self.lost.count - 50) more" : ""
    return "\(kept); not readable: \(named)\(rest)"
  }
}
