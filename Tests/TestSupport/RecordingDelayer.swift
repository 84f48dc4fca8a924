public import Foundation
public import Query

/// A delayer that does not wait, and records the requested delays.
public final class RecordingDelayer: QueryDelayer {
  private let recorder = Recorder<TimeInterval>()
  private let gate: Gate?

  /// Creates a delayer.
  ///
  /// - Parameter gate: What each delay waits at; nil: nothing.
  public init(gate: Gate? = nil) { self.gate = gate }

  /// The delays so far, in seconds.
  public var delays: [TimeInterval] { self.recorder.elements }

  public func delay(for seconds: TimeInterval) async throws {
    self.recorder.append(seconds)
    try Task.checkCancellation()
    try await self.gate?.pass()
  }
}
