import Foundation
import ToolSupport

/// The server's process, by the commands that kill it and start it.
struct ServerProcess: Sendable {
  let kill: String
  let start: String
  let url: URL

  /// A kill that is ready: its shell runs already, so that it takes no time to start.
  struct Armed: Sendable {
    fileprivate let pid: pid_t
    fileprivate let trigger: Int32
  }

  /// Makes a kill ready.
  ///
  /// - Throws: `ToolError` if there is no shell.
  func arm() throws -> Armed {
    var ends: [Int32] = [-1, -1]
    guard Foundation.pipe(&ends) == 0 else { throw Self.failure("pipe", errno) }
    for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
    defer { close(ends[0]) }
    do {
      let pid = try Self.spawn("read -r go; \(self.kill)", input: ends[0])
      return Armed(pid: pid, trigger: ends[1])
    } catch {
      close(ends[1])
      throw error
    }
  }

  /// Kills, and waits until nobody listens.
  ///
  /// - Throws: `ToolError` if the command fails.
  func fire(_ armed: Armed) async throws {
    let status = await onThread {
      _ = write(armed.trigger, "\n", 1)
      close(armed.trigger)
      return Self.wait(for: armed.pid)
    }
    if status != 0 {
      throw ToolError(.usage, "--kill-command ended with \(status >> 8 & 0xff): \(self.kill)")
    }
    // A process that was killed listens for a moment more. A supervisor may have started another one.
    for _ in 0..<200 {
      guard await self.isListening else { return }
      try await Task.sleep(for: .milliseconds(10))
    }
  }

  /// Starts the server, which goes on without this process, and waits until it listens.
  ///
  /// - Throws: `ToolError` if it does not.
  func launch() async throws {
    let pid = try Self.spawn(self.start, input: nil)
    Thread.detachNewThread { _ = Self.wait(for: pid) }
    for _ in 0..<3_000 {
      if await self.isListening { return }
      try await Task.sleep(for: .milliseconds(10))
    }
    throw ToolError(.workRemains, "nobody listens at \(self.url) after --start-command")
  }

  private var isListening: Bool {
    get async {
      let url = self.url
      return await onThread { (try? CheckSocket(to: url)) != nil }
    }
  }

  private static func spawn(_ command: String, input: Int32?) throws -> pid_t {
    var actions = posix_spawn_file_actions_t()
    posix_spawn_file_actions_init(&actions)
    defer { posix_spawn_file_actions_destroy(&actions) }
    if let input {
      posix_spawn_file_actions_adddup2(&actions, input, STDIN_FILENO)
    } else {
      posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0)
      // A shell that waits for the server says of each kill that it was killed.
      posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0)
    }
    posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0)
    var attributes = posix_spawnattr_t()
    posix_spawnattr_init(&attributes)
    defer { posix_spawnattr_destroy(&attributes) }
    // A session of its own, so that Ctrl-C here does not end the server; and no signal is ignored.
    var signals = sigset_t()
    sigemptyset(&signals)
    sigaddset(&signals, SIGPIPE)
    posix_spawnattr_setsigdefault(&attributes, &signals)
    posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGDEF | 0x80))
    var arguments: [UnsafeMutablePointer<CChar>?] = [String]([
      "sh", "-c", command,
    ]).map { strdup($0) }
    arguments.append(nil)
    defer { for argument in arguments { free(argument) } }
    var variables: [UnsafeMutablePointer<CChar>?] = ProcessInfo.processInfo.environment.map {
      strdup("\($0.key)=\($0.value)")
    }
    variables.append(nil)
    defer { for variable in variables { free(variable) } }
    var pid: pid_t = 0
    let code = posix_spawn(&pid, "/bin/sh", &actions, &attributes, &arguments, &variables)
    guard code == 0 else { throw Self.failure("/bin/sh", code) }
    return pid
  }

  private static func wait(for pid: pid_t) -> Int32 {
    var status: Int32 = 0
    while waitpid(pid, &status, 0) < 0 && errno == EINTR {}
    return status
  }

  private static func failure(_ what: String, _ number: Int32) -> ToolError {
    ToolError(.inputOutput, "\(what): \(String(cString: strerror(number)))")
  }
}
