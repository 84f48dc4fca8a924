import Query

extension Row {
  /// A row about a store whose contents grow with every operation: operations around a length.
  ///
  /// - Parameters:
  ///   - name: The name, without the length.
  ///   - title: The title, without the length.
  ///   - length: How many operations were done before, less half a batch.
  ///   - limit: How many times the time of the floor one operation may take.
  ///   - batch: Does operations on a new store of a client, as many of them unmeasured first as the
  ///     range begins with, and returns what one of those in the range took.
  static func growing(
    name: String,
    title: String,
    length: Int,
    limit: Double,
    batch: @escaping @Sendable (Range<Int>, QueryClient) async throws -> Double
  ) -> Row {
    Row(
      name: "\(name)-\(length)",
      title: "\(title), around the \(length)th",
      goal: .timesFloor(limit),
      floor: Floor.taskTitle,
      unit: .nanoseconds
    ) {
      let client = QueryClient.withoutObservers()
      let batches = max(2, 100 / length)
      return Trial(
        figure: {
          var sum = 0.0
          for _ in 0..<batches {
            client.clearStores()
            sum += try await batch(length - 5..<length + 5, client)
          }
          return sum / Double(batches)
        },
        floor: { try await Floor.tasks(1000) }
      )
    }
  }
}
