import FoundationEssentials
import Glibc

/// What an error of an attempt means if the mutation does not say so itself.
package struct FailureVerdict: Hashable, Sendable {
  /// What to do about it.
  var failure: MutationFailure

  /// Whether the server may have carried the mutation out.
  var maybeApplied: Bool

  /// How many attempts that fail like this are made before the mutation is dead; nil: as many as the
  /// mutation says.
  var limit: Int?

  /// Whether the library knows the error.
  var isKnown: Bool { self.limit == nil }
}

extension FailureVerdict {
  /// The library's verdict. It depends on types and codes, never on text.
  ///
  /// - Parameter error: What the attempt threw.
  init(of error: any Error) {
    // By domain and code: the type belongs to a module that a program without requests need not
    // load.
    if let code = Self.urlErrorCode(of: error) {
      self.init(ofURLError: code)
      return
    }
    if let code = Self.posixCode(of: error), let verdict = Self(ofPOSIXError: code) {
      self = verdict
      return
    }
    switch error {
    case is CancellationError: self.init(failure: .cancelled, maybeApplied: true)
    case is MutationUnreachedError: self.init(failure: .connectivity, maybeApplied: false)
    case is any UnansweredError: self.init(failure: .connectivity, maybeApplied: true)
    case let error as HTTPStatusError: self.init(of: error)
    case is any MissingCredentialError: self.init(failure: .authentication, maybeApplied: false)
    case is any UnsentError:
      self.init(failure: .permanent(reason: "\(error)"), maybeApplied: false)
    case is QueryTimeoutError: self.init(failure: .connectivity, maybeApplied: true)
    default:
      // It is unknown how far it came, and whether it ever will.
      self.init(failure: .transient(retryAfter: nil), maybeApplied: true, limit: 5)
    }
  }

  /// The code of an error: an HTTP status, that of a `URLError` or of the system, if it has one.
  static func code(of error: any Error) -> Int? {
    if let error = error as? MutationUnreachedError { return Self.code(of: error.underlying) }
    return (error as? HTTPStatusError)?.statusCode ?? Self.urlErrorCode(of: error)
      ?? Self.posixCode(of: error)
  }

  /// The code of an error of URL loading, as in `URLError.Code`; nil for any other.
  static func urlErrorCode(of error: any Error) -> Int? {
    error._domain == "NSURLErrorDomain" ? error._code : nil
  }

  /// The code of an error of the system, as `ECONNREFUSED`; nil for any other.
  private static func posixCode(of error: any Error) -> Int? {
    if let error = error as? POSIXError { return Int(error.code.rawValue) }
    return error._domain == "NSPOSIXErrorDomain" ? error._code : nil
  }

  // As in `URLError.Code`, which is Foundation's, and comes with ICU.
  private static let urlErrorCancelled = -999
  private static let urlErrorBadURL = -1_000

  /// - Parameter code: As in `URLError.Code`.
  private init(ofURLError code: Int) {
    switch code {
    case Self.urlErrorCancelled: self.init(failure: .cancelled, maybeApplied: true)
    case Self.urlErrorBadURL:
      self.init(failure: .permanent(reason: "the URL is not valid"), maybeApplied: false)
    default:
      self.init(failure: .connectivity, maybeApplied: !Self.isFromBeforeSending(code))
    }
  }

  /// Refused, host not found, DNS, not connected, and TLS, which a machine with a wrong clock
  /// rejects. Any other error may be that of a lost answer: on Linux that is −1011, −1 or even
  /// −1002 as often as −1005 or −1001.
  ///
  /// - Parameter code: As in `URLError.Code`.
  package static func isFromBeforeSending(_ code: Int) -> Bool {
    [-1_004, -1_003, -1_006, -1_009].contains(code) || (-1_206 ... -1_200).contains(code)
  }

  /// What an error of the connection says; nil for any other of the system's.
  ///
  /// - Parameter code: As `ECONNREFUSED`.
  private init?(ofPOSIXError code: Int) {
    switch Int32(truncatingIfNeeded: code) {
    case ECONNREFUSED, ENETUNREACH, EHOSTUNREACH, ENETDOWN, EHOSTDOWN, ENOTCONN:
      self.init(failure: .connectivity, maybeApplied: false)
    case ECONNRESET, EPIPE, ETIMEDOUT: self.init(failure: .connectivity, maybeApplied: true)
    default: return nil
    }
  }

  private init(of error: HTTPStatusError) {
    let failure: MutationFailure =
      switch error.statusCode {
      case 401: .authentication
      // What answers so is a proxy or a portal: the server was not reached.
      case 407, 511: .connectivity
      // A server that asks for a pause carries the mutation out at this moment, for an attempt whose
      // answer was lost: it is no conflict of contents.
      case 409 where error.retryAfter != nil: .transient(retryAfter: error.retryAfter)
      case 409, 412: .conflict
      case 501, 505: .permanent(reason: "status \(error.statusCode)")
      // 423, of WebDAV: somebody holds a lock now.
      case 408, 423, 425, 429, 500...599: .transient(retryAfter: error.retryAfter)
      default: .permanent(reason: "status \(error.statusCode)")
      }
    self.init(failure: failure, maybeApplied: error.statusCode >= 500 && error.statusCode != 511)
  }
}

/// An error thrown before anything was sent; retrying cannot help.
package protocol UnsentError: Error {}

/// An error thrown before anything was sent, since there is no credential for it.
package protocol MissingCredentialError: UnsentError {}

/// An error that says what became of a mutation: another attempt would save it once more.
package protocol FinalError: Error {}

/// An error of an answer that is the server's: the request has arrived.
package protocol AnsweredError: Error {}

/// An error of an answer that is not the server's: the mutation is sent again when the network is
/// back, and may have been carried out.
package protocol UnansweredError: Error {}
