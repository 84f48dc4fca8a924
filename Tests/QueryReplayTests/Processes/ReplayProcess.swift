import Foundation
import Glibc
import TestSupport

/// A `replay-worker` that a test has started. It is killed with the last reference to it.
final class ReplayProcess: Sendable {
  let child: ChildProcess

  /// - Parameters:
  ///   - arguments: As the worker's own comment says.
  ///   - leaseMilliseconds: The length of its leases; nil: that of the library.
  ///   - writeDelayMilliseconds: How long a changed value waits before it is written; nil: as long as the
  ///     library lets it.
  init(
    _ arguments: [String], leaseMilliseconds: Int? = nil, writeDelayMilliseconds: Int? = nil
  ) throws {
    var environment = [String: String]()
    if let leaseMilliseconds { environment["LEASE_MILLISECONDS"] = "\(leaseMilliseconds)" }
    if let writeDelayMilliseconds {
      environment["WRITE_DELAY_MILLISECONDS"] = "\(writeDelayMilliseconds)"
    }
    self.child = try ChildProcess(
      ChildProcess.product("replay-worker"), arguments, environment: environment)
  }

  /// Stops it by `SIGSTOP`, and never inside a commit, whose lock no other process could take then.
  ///
  /// - Parameter folder: The folder of its storage.
  func stop(outsideCommitsTo folder: URL) async throws {
    let file = open(folder.appending(path: "mutations.sqlite-shm").path, O_RDWR | O_CLOEXEC)
    if file < 0 { throw POSIXError(POSIXError.Code(rawValue: errno) ?? .EIO) }
    // A lock that this process asks about is not its own: no storage is open here.
    defer { close(file) }
    while true {
      await self.child.stop()
      // SQLite's locks of a write, a checkpoint and a recovery: the bytes 120 to 122 of this file.
      var lock = flock()
      lock.l_type = Int16(F_WRLCK)
      lock.l_whence = Int16(SEEK_SET)
      lock.l_start = 120
      lock.l_len = 3
      guard fcntl(file, F_GETLK, &lock) == 0, lock.l_type != Int16(F_UNLCK) else { return }
      self.child.send(SIGCONT)
      await Task.yield()
    }
  }

  /// Reads what it has written to the end, even if it is killed meanwhile.
  func rest() async -> [String] {
    var lines = [String]()
    for await line in self.child.lines { lines.append(line) }
    return lines
  }
}

/// An enqueueing that a worker has told of: from then on the mutation may not be lost.
struct Acknowledgement: Hashable, Sendable {
  let lane: String
  let number: Int
  let key: String

  /// - Parameter line: A worker's line; nil if it is about something else.
  init?(_ line: String) {
    let words = line.split(separator: " ")
    guard words.count == 4, words[0] == "acked", let number = Int(words[2]) else { return nil }
    self.lane = String(words[1])
    self.number = number
    self.key = String(words[3])
  }
}

/// A note as the server received it.
struct ReceivedNote: Hashable, Sendable {
  let lane: String
  let number: Int
  let key: String
  let maybeApplied: Bool

  init?(_ request: ReceivedRequest) {
    guard let lane = request.headers["x-lane"],
      let number = request.headers["x-number"].flatMap(Int.init),
      let key = request.headers["idempotency-key"]
    else { return nil }
    self.lane = lane
    self.number = number
    self.key = key
    self.maybeApplied = request.headers["x-maybe-applied"] == "true"
  }

  /// The notes of a request: one, or those of a batch.
  static func all(in request: ReceivedRequest) -> [ReceivedNote] {
    guard let batch = request.headers["x-batch"] else { return [Self(request)].compactMap(\.self) }
    return batch.split(separator: ";").compactMap { Self(inBatch: $0) }
  }

  private init?(inBatch text: Substring) {
    let words = text.split(separator: " ")
    guard words.count == 4, let number = Int(words[1]) else { return nil }
    self.lane = String(words[0])
    self.number = number
    self.key = String(words[2])
    self.maybeApplied = words[3] == "true"
  }
}
