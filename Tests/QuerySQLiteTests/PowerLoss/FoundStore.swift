/// What launches after a power cut, or a kill, have found in a store, as a `power-worker` says it.
struct FoundStore {
  /// What an application sees of all accounts at one time.
  struct Look {
    let name: String
    var live = [(account: String, id: String, state: String, text: String)]()
    var ended = Set<String>()
    /// The version of each value, by account and name.
    var values = [String: String]()
    /// Whether the import was repeated before.
    var isAfterImport = false
  }

  private(set) var looks = [Look]()

  /// What went wrong, in words.
  private(set) var wrongs = [String]()

  /// Whether the worker has come to its end.
  private(set) var isWhole = false

  private var isAfterImport = false

  /// Takes the next line of the worker.
  mutating func add(_ line: String) {
    let fields = line.split(separator: " ").map(String.init)
    switch fields.first {
    case "look": self.looks.append(Look(name: fields[1], isAfterImport: self.isAfterImport))
    case "live":
      self.editLook {
        $0.live.append((fields[1], fields[2], fields[3], fields[4...].joined(separator: " ")))
      }
    case "ended": self.editLook { $0.ended.insert(fields[2]) }
    case "value":
      guard fields.count == 4 else { return self.wrongs.append("a broken value: \(line)") }
      self.editLook { $0.values["\(fields[1]) \(fields[2])"] = fields[3] }
    case "imported": self.isAfterImport = true
    case "done": self.isWhole = true
    default: self.wrongs.append(line)
    }
  }

  private mutating func editLook(_ body: (inout Look) -> Void) {
    if !self.looks.isEmpty { body(&self.looks[self.looks.count - 1]) }
  }
}
