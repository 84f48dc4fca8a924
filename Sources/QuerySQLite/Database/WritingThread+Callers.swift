import Query

extension WritingThread where Writer: ThreadedWriter, Job == Writer.Job {
  /// Has the thread do something, and waits for it.
  ///
  /// - Parameters:
  ///   - closed: What is thrown once the thread has stopped.
  ///   - body: What it does.
  /// - Returns: What the closure returns.
  /// - Throws: The closure's error; `closed`.
  func value<R: Sendable>(
    orThrow closed: StorageError, of body: @escaping @Sendable (Writer) throws -> R
  ) async throws -> R {
    let outcome = JobOutcome<R>()
    let isTaken = self.perform { writer in outcome.set(Result { try body(writer) }) }
    guard isTaken else {
      await ExitFlush.untilEnd()
      throw closed
    }
    return try await outcome.value()
  }
}

extension WritingThread where Writer: DatabaseWriter, Job == Writer.Job {
  /// Has the thread look at a file that a reader has found damaged or gone.
  ///
  /// - Parameters:
  ///   - file: The file that was read. It may have been replaced meanwhile.
  ///   - failure: The error of the read.
  func check(_ file: FileNumber?, after failure: StorageError) {
    if failure.isDamage {
      guard let file else { return }
      self.perform { $0.didFindDamage(failure, in: file) }
    } else if failure.extendedCode == .moved || failure.code == .cannotOpen {
      self.perform { $0.reopenWhereMoved() }
    }
  }
}

extension DatabaseWriter {
  /// Records that a reader has found a file damaged, and replaces it, unless that was done: the
  /// reports of several readers come one after the other.
  func didFindDamage(_ error: StorageError, in file: FileNumber) {
    if self.fileAtPath == file { self.didFindDamage(error) }
  }
}
