/// What a value on a command line is: how it is checked, and how a shell completes it.
package enum ValueKind: Hashable, Sendable {
  /// There is no value.
  case flag
  /// Any text.
  case text
  /// The path of a file.
  case file
  /// The path of a folder.
  case directory
  /// One of these words.
  case words([String])
  /// A whole number in this range.
  case integer(ClosedRange<Int>)
  /// A length of time with its unit, as `30s`, `5min`, `1h30min`.
  case duration
}
