extension MutationOutbox {
  /// Records how an attempt ended, and repeats that until it succeeds: the mutation must not run again for
  /// a failed write, and this process keeps the lease, which the storage renews, for as long as it lives.
  ///
  /// - Returns: Whether this process still held the lease; false if the storage is closed.
  func settlePatiently(_ lease: MutationLease, _ outcome: AttemptOutcome) async -> Bool {
    var wait = Duration.milliseconds(50)
    while lease.revocation != .lost {
      do {
        return try await self.settle(lease, outcome)
      } catch StorageError.Code.misuse {
        // The storage is closed; another process takes the row back once this one has exited.
        return false
      } catch {
        // In a task of its own: a cancellation must not make this loop spin.
        let delay = wait
        await Task.detached { try? await Task.sleep(for: delay) }.value
        wait = min(wait * 2, .seconds(5))
      }
    }
    return false
  }
}
