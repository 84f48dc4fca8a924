/// One code block of the documents, and its place in these tests.
struct SeedBlock: Hashable, Sendable {
  /// The documents, in their order.
  enum Document: String, CaseIterable, Sendable {
    /// "Utilizing the QueryContext".
    case queryContext = "000"
    /// "Utilizing the OperationContext".
    case operationContext = "001"
    /// "Utilizing QueryControllers".
    case queryControllers = "002"
    /// "Customizing Queries with Modifiers".
    case modifiers = "003"
    /// "Queries, Infinite Queries, and Mutations".
    case paradigms = "004"

    /// How many code blocks the document has, those that are differences or quoted included.
    var blockCount: Int {
      switch self {
      case .queryContext: 13
      case .operationContext: 7
      case .queryControllers: 9
      case .modifiers: 5
      case .paradigms: 32
      }
    }
  }

  /// The document that the block is in.
  let document: Document

  /// The number of the block in its document, from 1.
  let number: Int

  /// What the block shows.
  let summary: String

  /// The file that the block stands in, by its path in this target.
  let file: String

  /// A test of what the text says of the block: the file without `.swift` and the function. It is
  /// `nil` for the one block that must not compile.
  let test: String?

  init(
    _ document: Document,
    _ number: Int,
    _ summary: String,
    in file: String,
    test: String?
  ) {
    self.document = document
    self.number = number
    self.summary = summary
    self.file = file
    self.test = test
  }
}
