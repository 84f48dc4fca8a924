import Dispatch
import FoundationEssentials
import Glibc

/// Waits for Ctrl-C and SIGTERM, which no longer end the process from then on.
///
/// ```swift
/// let signals = EndSignals()
/// for await _ in signals.stream { break }
/// ```
package final class EndSignals: Sendable {
  /// The numbers of the signals that came: of each, at least one since it was looked at last.
  package let stream: AsyncStream<Int32>
  // Sources are objects of libdispatch, which may be used by any thread; their protocol does not
  // say so.
  private nonisolated(unsafe) let sources: [any DispatchSourceSignal]

  /// Begins to wait. When it returns, no such signal is missed.
  package init() {
    let (stream, continuation) = AsyncStream.makeStream(
      of: Int32.self, bufferingPolicy: .bufferingOldest(2))
    self.stream = stream
    let queue = DispatchQueue(label: "end-signals")
    // Sources are installed on a thread of libdispatch; until then a signal would end the process.
    let installing = DispatchGroup()
    self.sources = [SIGINT, SIGTERM].map { number in
      let source = DispatchSource.makeSignalSource(signal: number, queue: queue)
      source.setEventHandler { continuation.yield(number) }
      installing.enter()
      source.setRegistrationHandler { installing.leave() }
      source.resume()
      return source
    }
    installing.wait()
  }

  deinit { for source in self.sources { source.cancel() } }
}
