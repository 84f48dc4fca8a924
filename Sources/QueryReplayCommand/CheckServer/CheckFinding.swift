/// What a server is asked.
enum CheckRule: String, CaseIterable, Sendable {
  case repeats
  case once
  case lostAnswer = "lost-answer"
  case concurrent
  case fingerprint
  case scope
  case readsOwnWrites = "reads-own-writes"
  case validators
  case keeps
  case survives

  /// What it is needed for.
  var purpose: String {
    switch self {
    case .repeats: "the same write again is answered as before"
    case .once: "the same write again is carried out once"
    case .lostAnswer: "a write whose answer is lost is carried out once"
    case .concurrent: "a write that several processes send is carried out once"
    case .fingerprint: "a key that is used for two writes is noticed"
    case .scope: "an account's answers are its own"
    case .readsOwnWrites: "a list that is read after a write has it"
    case .validators: "what has not changed is not sent again"
    case .keeps: "a key is known after a long time"
    case .survives: "the server may be killed at any moment"
    }
  }
}

/// What was found of a rule.
struct CheckFinding: Hashable, Sendable {
  enum Verdict: String, Sendable {
    case holds
    /// It is needed, and does not hold.
    case fails
    /// It does not hold, and one can live with that, knowing it.
    case warns
    /// It would save something.
    case hint
    /// It was not asked, or what came says nothing.
    case unasked
  }

  var verdict: Verdict
  /// What a server's author needs to know, in a sentence or two; nil: nothing.
  var says: String?

  static let holds = Self(verdict: .holds)

  static func fails(_ says: String) -> Self { Self(verdict: .fails, says: says) }
  static func warns(_ says: String) -> Self { Self(verdict: .warns, says: says) }
  static func hint(_ says: String) -> Self { Self(verdict: .hint, says: says) }
  static func unasked(_ says: String) -> Self { Self(verdict: .unasked, says: says) }

  /// The other rules have used up the writes.
  static let noWriteLeft = Self.unasked(
    "No write is left of \(ServerCheck.maximumWrites): ask for it alone, by --only.")
}
