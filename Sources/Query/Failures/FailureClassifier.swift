import FoundationEssentials

/// What an error of an attempt means if the mutation does not say so itself.
struct FailureVerdict: Hashable, Sendable {
  /// What to do about it.
  var failure: MutationFailure

  /// Whether the server may have carried the mutation out.
  var maybeApplied: Bool

  /// How many attempts that fail like this are made before the mutation is dead; nil: as many as the
  /// mutation says.
  var limit: Int?
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
    switch error {
    case is CancellationError: self.init(failure: .cancelled, maybeApplied: true)
    case let error as HTTPStatusError: self.init(of: error)
    case is any UnsentError:
      self.init(failure: .permanent(reason: "\(error)"), maybeApplied: false)
    case is QueryTimeoutError: self.init(failure: .connectivity, maybeApplied: true)
    default:
      // It is unknown how far it came, and whether it ever will.
      self.init(failure: .transient(retryAfter: nil), maybeApplied: true, limit: 5)
    }
  }

  /// The code of an error: an HTTP status or that of a `URLError`, if it has one.
  static func code(of error: any Error) -> Int? {
    (error as? HTTPStatusError)?.statusCode ?? Self.urlErrorCode(of: error)
  }

  /// The code of an error of URL loading, as in `URLError.Code`; nil for any other.
  static func urlErrorCode(of error: any Error) -> Int? {
    error._domain == "NSURLErrorDomain" ? error._code : nil
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
  private static func isFromBeforeSending(_ code: Int) -> Bool {
    [-1_004, -1_003, -1_006, -1_009].contains(code) || (-1_206 ... -1_200).contains(code)
  }

  private init(of error: HTTPStatusError) {
    let isServers = error.statusCode >= 500
    let failure: MutationFailure =
      switch error.statusCode {
      case 401: .authentication
      case 409, 412: .conflict
      case 408, 425, 429, 500, 502, 503, 504, 507: .transient(retryAfter: error.retryAfter)
      default: .permanent(reason: "status \(error.statusCode)")
      }
    self.init(failure: failure, maybeApplied: isServers)
  }
}

/// An error thrown before anything was sent; retrying cannot help.
package protocol UnsentError: Error {}
