import Testing
import ToolSupport

struct DisplayWidthTests {
  @Test(arguments: [
    ("", 0), ("abc", 3), ("Grüße", 5), ("e\u{301}", 1), ("漢字", 4), ("한글", 4), ("ｶﾅ", 2),
    ("😀", 2), ("👩‍👩‍👧", 2), ("…", 1), ("─", 1), ("\u{200b}", 0),
  ])
  func aTextTakesAsManyColumns(_ text: String, _ width: Int) {
    #expect(DisplayWidth.of(text) == width)
  }

  @Test(arguments: [
    ("abcdef", 6, "abcdef"), ("abcdef", 5, "abcd…"), ("漢字漢字", 5, "漢字…"),
    ("漢字漢字", 4, "漢…"), ("abc", 1, "…"), ("", 1, ""), ("e\u{301}e\u{301}x", 2, "e\u{301}…"),
  ])
  func whatDoesNotFitIsCutOff(_ text: String, _ width: Int, _ result: String) {
    #expect(DisplayWidth.truncate(text, to: width) == result)
    #expect(DisplayWidth.of(result) <= width)
  }
}
