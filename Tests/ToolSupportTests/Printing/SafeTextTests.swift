import TestSupport
import Testing
import ToolSupport

struct SafeTextTests {
  @Test(arguments: [
    ("plain text, Grüße, 漢字, 👩‍👩‍👧", "plain text, Grüße, 漢字, 👩‍👩‍👧"),
    ("\u{1b}[2J", "\\x1b[2J"), ("a\nb\tc\r\n", "a\\nb\\tc\\r\\n"), ("\u{7f}\u{0}", "\\x7f\\x00"),
    ("\u{85}\u{9b}31m", "\\u{85}\\u{9b}31m"), ("\u{202e}gpj.exe", "\\u{202e}gpj.exe"),
    ("\u{2066}\u{2069}\u{200f}\u{2028}", "\\u{2066}\\u{2069}\\u{200f}\\u{2028}"),
    ("\u{e0041}\u{feff}", "\\u{e0041}\\u{feff}"), ("", ""),
  ])
  func whatATerminalWouldObeyIsShown(_ text: String, _ escaped: String) {
    #expect(SafeText.escape(text) == escaped)
    #expect(SafeText.escape(bytes: text.utf8) == escaped)
  }

  @Test(
    arguments: [
      ([0x61, 0xff, 0x62], "a\\xffb"), ([0xc3], "\\xc3"), ([0xe2, 0x82], "\\xe2\\x82"),
      ([0xc3, 0x28], "\\xc3("), ([0xf0, 0x9f, 0x98, 0x80, 0x80], "😀\\x80"),
      ([0xed, 0xa0, 0x80], "\\xed\\xa0\\x80"), ([0xc0, 0x80], "\\xc0\\x80"),
      ([0xe2, 0x82, 0xac, 0xe2, 0x82, 0x1b], "€\\xe2\\x82\\x1b"),
    ] as [([UInt8], String)])
  func bytesThatAreNoTextAreShown(_ bytes: [UInt8], _ escaped: String) {
    #expect(SafeText.escape(bytes: bytes) == escaped)
  }

  @Test(arguments: SeededGenerator.seeds(4))
  func noBytesLeaveAnythingUnsafe(seed: UInt64) {
    var generator = SeededGenerator(seed: seed)
    for _ in 0..<2_000 {
      let bytes = (0..<Int.random(in: 0...12, using: &generator)).map { _ in
        UInt8.random(in: 0...255, using: &generator)
      }
      let text = SafeText.escape(bytes: bytes)
      #expect(text.unicodeScalars.allSatisfy { !SafeText.isUnsafe($0) })
    }
  }
}
