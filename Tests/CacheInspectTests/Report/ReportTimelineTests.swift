import Testing

@testable import cache_inspect

/// The timeline shows what became of the mutations, however the clocks ran.
@Suite struct ReportTimelineTests {
  @Test func everyMutationThatEndedIsInOneColumn() {
    let data = ReportSample.full
    let timeline = ReportTimeline(data)
    let succeeded = data.history.count { $0.outcome == "succeeded" }
    #expect(timeline.ended.reduce(0) { $0 + $1.succeeded } == succeeded)
    #expect(timeline.ended.reduce(0) { $0 + $1.other } == data.history.count - succeeded)
    #expect(!timeline.isCut)
    #expect(timeline.html.contains("240 mutations ended"))
  }

  @Test func itGoesFromTheFirstMutationToTheLastAttempt() {
    var data = ReportSample.full
    data.history = []
    let span = ReportTimeline(data).span
    #expect(span.lowerBound == data.madeAt.seconds - 18 * 1_900)
    #expect(span.upperBound == data.madeAt.seconds + 17 * 97)
  }

  @Test func aClockThatWasWrongOnceDoesNotSqueezeTheRest() {
    var data = ReportSample.full
    data.outbox[2].createdAt = ReportSample.date(-1.7e9)
    data.outbox[3].nextAttemptAt = ReportSample.date(4e9)
    data.outbox[4].createdAt = ReportSample.date(3e9)
    let timeline = ReportTimeline(data)
    #expect(timeline.span.lowerBound == data.madeAt.seconds - ReportTimeline.maximumSpan)
    #expect(timeline.span.upperBound == data.madeAt.seconds + ReportTimeline.maximumSpan)
    #expect(timeline.isCut)
    #expect(timeline.html.contains("What lies outside is drawn at the edge."))
  }

  @Test func itSaysHowManyRowsItDoesNotDraw() {
    var data = ReportSample.full
    data.outbox += data.outbox + data.outbox
    data.moreOutbox = 7
    #expect(ReportTimeline(data).html.contains("21 rows more, not drawn."))
  }

  @Test func withoutMutationsItIsASentence() {
    let html = ReportTimeline(ReportSample.empty).html
    #expect(html.contains("No mutation waits, and none has ended."))
    #expect(!html.contains("<svg"))
  }
}
