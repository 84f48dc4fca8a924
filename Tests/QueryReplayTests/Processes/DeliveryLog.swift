import TestSupport
import Testing

/// What a server has received, held against what was promised.
struct DeliveryLog {
  let received: [ReceivedNote]

  init(_ server: LoopbackServer) {
    self.received = server.requests.elements.flatMap { ReceivedNote.all(in: $0) }
  }

  /// Every acknowledged mutation has arrived, under the key that was acknowledged.
  func expectAll(
    of acknowledged: [Acknowledgement],
    _ comment: Comment,
    sourceLocation: SourceLocation = #_sourceLocation
  ) {
    let keys = Set(self.received.map(\.key))
    let lost = acknowledged.filter { !keys.contains($0.key) }
    #expect(lost.isEmpty, comment, sourceLocation: sourceLocation)
  }

  /// Each lane came in order, and what came twice has one key, and says that it may have been applied.
  func expectOrder(_ comment: Comment, sourceLocation: SourceLocation = #_sourceLocation) {
    for (lane, notes) in Dictionary(grouping: self.received, by: \.lane) {
      let numbers = notes.map(\.number)
      #expect(numbers == numbers.sorted(), "\(lane), \(comment)", sourceLocation: sourceLocation)
      for (number, sendings) in Dictionary(grouping: notes, by: \.number) {
        let keys = Set(sendings.map(\.key))
        let isSaid = sendings.dropFirst().allSatisfy { $0.maybeApplied }
        #expect(keys.count == 1, "\(lane) \(number), \(comment)", sourceLocation: sourceLocation)
        #expect(isSaid, "\(lane) \(number), \(comment)", sourceLocation: sourceLocation)
      }
    }
  }

  /// The same where a batch that was cut short came again as a whole: the first arrivals of each lane
  /// came in order.
  func expectOrderOfFirstArrivals(
    _ comment: Comment, sourceLocation: SourceLocation = #_sourceLocation
  ) {
    var (seen, keys) = (Set<String>(), [String: [Int]]())
    for note in self.received {
      if seen.insert(note.key).inserted {
        keys[note.lane, default: []].append(note.number)
      } else {
        let isSaid = note.maybeApplied
        #expect(isSaid, "\(note), \(comment)", sourceLocation: sourceLocation)
      }
    }
    for (lane, numbers) in keys {
      // Each number has one key, or it would be there twice.
      let isRising = zip(numbers, numbers.dropFirst()).allSatisfy { $0 < $1 }
      #expect(isRising, "\(lane) \(numbers), \(comment)", sourceLocation: sourceLocation)
    }
  }
}
