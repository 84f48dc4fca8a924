import Query

extension String {
  /// The name of an account as the files have it.
  package var asAccountName: String { self.canonicallyComposed }
}
