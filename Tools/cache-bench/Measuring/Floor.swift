/// The floor that the rows of fetches share.
enum Floor {
  static let taskTitle = "await Task { x }.value"

  /// Nanoseconds of one task that returns at once, among so many, one after another.
  @concurrent
  static func tasks(_ count: Int) async throws -> Double {
    var sum = 0
    let watch = Stopwatch()
    for number in 0..<count { sum &+= await Task { number }.value }
    let time = watch.nanoseconds(per: count)
    try expect(sum, count * (count - 1) / 2, "the sum of the tasks' values")
    return time
  }

  /// The median of ``tasks(_:)``.
  static func task(_ scale: Scale) async throws -> Double {
    var times = [Double]()
    for _ in 0..<(scale.warmUps + scale.rounds) {
      times.append(try await self.tasks(1000))
    }
    return times.dropFirst(scale.warmUps).sorted()[scale.rounds / 2]
  }
}
