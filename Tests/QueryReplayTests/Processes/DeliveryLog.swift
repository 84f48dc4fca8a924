import TestSupport
import Testing

/// What a server has received, held against what was promised.
struct DeliveryLog {
  let received: [ReceivedNote]

  init(_ server: LoopbackServer) {
    self.received = server.requests.elements.compactMap { ReceivedNote($0) }
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
}
