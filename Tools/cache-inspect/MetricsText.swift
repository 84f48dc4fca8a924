import ToolSupport

/// Gauges in the text format of Prometheus.
struct MetricsText {
  /// The labels that each sample has.
  let labels: [String: String]
  /// The text so far: whole lines.
  private(set) var text = ""

  /// - Parameter labels: The labels that each sample has.
  init(labels: [String: String]) { self.labels = labels }

  /// Adds a gauge with one sample.
  mutating func add(_ name: String, _ help: String, _ number: Int) {
    self.add(name, help, [([:], number)])
  }

  /// Adds a gauge with a sample for each of some labels. One without samples is left out.
  mutating func add(_ name: String, _ help: String, _ samples: [([String: String], Int)]) {
    guard !samples.isEmpty else { return }
    let name = "offline_query_\(name)"
    self.text += "# HELP \(name) \(help)\n# TYPE \(name) gauge\n"
    for (labels, number) in samples {
      let all = self.labels.merging(labels) { $1 }.sorted { $0.key < $1.key }
      let pairs = all.map { "\($0.key)=\"\(Self.escape($0.value))\"" }
      let braces = pairs.isEmpty ? "" : "{\(pairs.joined(separator: ","))}"
      self.text += "\(name)\(braces) \(number)\n"
    }
  }

  /// A label's value as it stands between quotes. What a terminal would obey is shown as what it is.
  private static func escape(_ text: String) -> String {
    var escaped = ""
    for scalar in SafeText.escape(text).unicodeScalars {
      if scalar == "\\" || scalar == "\"" { escaped += "\\" }
      escaped.unicodeScalars.append(scalar)
    }
    return escaped
  }
}
