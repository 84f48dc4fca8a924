extension MutationOutbox {
  /// Records how an attempt ended, and repeats that until it succeeds: the mutation must not run again for
  /// a failed write, and this process keeps the lease, which the storage renews, for as long as it lives.
  ///
  /// - Parameters:
  ///   - lease: The lease of the attempt.
  ///   - outcome: How it ended.
  ///   - pause: Waits before the next try, by how often it has failed. A cancellation of the caller's task
  ///     does not end it, or the tries would follow one another at once.
  /// - Returns: Whether this process still held the lease; false if the storage is closed.
  @discardableResult
  package func settlePatiently(
    _ lease: MutationLease, _ outcome: AttemptOutcome,
    pause: @Sendable (_ failures: Int) async -> Void = { failures in
      let wait = min(Duration.milliseconds(50) * (1 << min(failures - 1, 7)), .seconds(5))
      await Task.detached { try? await Task.sleep(for: wait) }.value
    }
  ) async -> Bool {
    var failures = 0
    while lease.revocation != .lost {
      do {
        return try await self.settle(lease, outcome)
      } catch StorageError.Code.misuse {
        // The storage is closed; another process takes the row back once this one has exited.
        return false
      } catch {
        failures += 1
        await pause(failures)
      }
    }
    return false
  }
}
