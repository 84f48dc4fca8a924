public import Testing

/// Checks that a program that was stopped wrote a sentence to the standard error. Only a build that is
/// not optimised writes what a precondition says, so that others are only checked to have run.
///
/// - Parameters:
///   - sentence: What it wrote, or a part of that.
///   - result: Of an exit test that observes `\.standardErrorContent`.
///   - sourceLocation: The location to record the issue at.
/// - Throws: If there is no result.
public func expectSentence(
  _ sentence: String,
  in result: ExitTest.Result?,
  sourceLocation: SourceLocation = #_sourceLocation
) throws {
  let result = try #require(result, sourceLocation: sourceLocation)
  #if DEBUG
    let output = String(decoding: result.standardErrorContent, as: UTF8.self)
    #expect(output.contains(sentence), sourceLocation: sourceLocation)
  #endif
}
