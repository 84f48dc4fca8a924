extension ReportData {
  /// The same with every text cut to what a page should carry, so that a store of a few huge texts
  /// does not make a page that no browser opens.
  func shortened() -> Self {
    var data = cut(self, [\.folder], [\.applicationID])
    data.partitions = self.partitions.map { cut($0, [\.name]) }
    data.files = self.files.map { cut($0, [\.name]) }
    data.limits = self.limits.map { cut($0, [\.name, \.value]) }
    data.kinds = self.kinds.map { cut($0, [\.name]) }
    data.biggest = self.biggest.map(Self.shortened)
    data.entries = self.entries.map(Self.shortened)
    data.outbox = self.outbox.map { row in
      cut(row, [\.id, \.name, \.partition, \.state], [\.lane, \.reason, \.lastError])
    }
    data.history = self.history.map { row in
      cut(row, [\.id, \.name, \.partition, \.outcome], [\.error])
    }
    return data
  }

  /// An entry with its texts cut.
  private static func shortened(_ entry: Entry) -> Entry {
    cut(entry, [\.identity, \.hash, \.partition, \.kind, \.freshness])
  }
}

/// A value with some of its texts cut.
private func cut<Value>(
  _ value: Value,
  _ texts: [WritableKeyPath<Value, String>],
  _ optionals: [WritableKeyPath<Value, String?>] = []
) -> Value {
  var value = value
  for path in texts { value[keyPath: path] = ReportText.shortened(value[keyPath: path]) }
  for path in optionals { value[keyPath: path] = value[keyPath: path].map(ReportText.shortened) }
  return value
}
