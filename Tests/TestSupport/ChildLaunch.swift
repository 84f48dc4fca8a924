import Foundation

/// What `posix_spawn` is told.
struct ChildLaunch {
  /// The path.
  let executable: String
  /// What follows the name of the program.
  let arguments: [String]
  /// The whole environment.
  let environment: [String: String]
  /// The descriptors of this process that become the child's 0, 1 and 2.
  let streams: [Descriptor]

  /// Starts the program.
  ///
  /// - Returns: The number of the process, which the caller must reap.
  /// - Throws: `POSIXError`.
  func start() throws -> pid_t {
    var actions = posix_spawn_file_actions_t()
    try check(posix_spawn_file_actions_init(&actions))
    defer { posix_spawn_file_actions_destroy(&actions) }
    for (number, stream) in self.streams.enumerated() {
      try check(posix_spawn_file_actions_adddup2(&actions, stream.number, Int32(number)))
    }
    if let closeFrom { try check(closeFrom(&actions, 3)) }
    var attributes = posix_spawnattr_t()
    try check(posix_spawnattr_init(&attributes))
    defer { posix_spawnattr_destroy(&attributes) }
    try Self.resetSignals(&attributes)
    var pid: pid_t = 0
    let variables = self.environment.map { "\($0)=\($1)" }
    try withCStrings([self.executable] + self.arguments) { arguments in
      try withCStrings(variables) { variables in
        try check(
          posix_spawn(&pid, self.executable, &actions, &attributes, arguments, variables))
      }
    }
    // Open until the child has its own.
    withExtendedLifetime(self.streams) {}
    return pid
  }

  /// Dispatch's threads block nearly all signals, and the process that runs the tests may ignore
  /// some; a child would inherit both.
  private static func resetSignals(_ attributes: inout posix_spawnattr_t) throws {
    var signals = sigset_t()
    sigemptyset(&signals)
    try check(posix_spawnattr_setsigmask(&attributes, &signals))
    sigfillset(&signals)
    try check(posix_spawnattr_setsigdefault(&attributes, &signals))
    let flags = POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF
    try check(posix_spawnattr_setflags(&attributes, Int16(flags)))
  }
}

/// The parent's and the child's side of a standard stream.
struct ChildStream {
  /// What the child gets.
  let child: Descriptor
  /// The test's end of a pipe.
  let ours: Descriptor?

  /// - Parameters:
  ///   - stream: What it is.
  ///   - number: 0 for the input, 1 for the output, 2 for the errors.
  /// - Throws: `POSIXError` if no descriptor is left.
  init(_ stream: ChildProcess.Stream, as number: Int32) throws {
    switch stream {
    case .null: (self.child, self.ours) = (try Descriptor(opening: "/dev/null"), nil)
    case .inherited: (self.child, self.ours) = (try Descriptor(duplicating: number), nil)
    case .pipe:
      let (reading, writing) = try Descriptor.pipe()
      (self.child, self.ours) = number == 0 ? (reading, writing) : (writing, reading)
    }
  }
}

private typealias CloseFrom =
  @convention(c) (UnsafeMutablePointer<posix_spawn_file_actions_t>, Int32) -> Int32

/// Closes all other descriptors in the child, even those of C libraries that do not mark them. A
/// GNU extension that is not imported; nil before glibc 2.34, in which case only the marked ones
/// are closed.
private let closeFrom: CloseFrom? = dlsym(nil, "posix_spawn_file_actions_addclosefrom_np")
  .map { unsafeBitCast($0, to: CloseFrom.self) }

/// Throws what a function returned that does not use `errno`.
private func check(_ code: Int32) throws {
  if code != 0 { throw POSIXError(POSIXErrorCode(rawValue: code) ?? .EIO) }
}

/// Runs a closure with an array of C strings that ends with nil.
private func withCStrings<Result>(
  _ strings: [String],
  _ body: ([UnsafeMutablePointer<CChar>?]) throws -> Result
) rethrows -> Result {
  let pointers = strings.map { strdup($0) }
  defer { for pointer in pointers { free(pointer) } }
  return try body(pointers + [nil])
}
