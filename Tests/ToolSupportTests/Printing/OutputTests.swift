import Foundation
import Testing
import ToolSupport

struct OutputTests {
  @Test func whatIsPrintedArrivesInBlocks() throws {
    var descriptors = [Int32](repeating: -1, count: 2)
    #expect(pipe(&descriptors) == 0)
    let output = Output(descriptor: descriptors[1])
    try output.line("one")
    try output.write(bytes: [0x00, 0xff])
    try output.flush()
    close(descriptors[1])
    let data = try FileHandle(fileDescriptor: descriptors[0], closeOnDealloc: true).readToEnd()
    #expect(data == Data("one\n".utf8) + Data([0x00, 0xff]))
  }

  @Test func aReaderThatHasGoneIsAnErrorOfItsOwn() {
    signal(SIGPIPE, SIG_IGN)
    var descriptors = [Int32](repeating: -1, count: 2)
    #expect(pipe(&descriptors) == 0)
    close(descriptors[0])
    defer { close(descriptors[1]) }
    let output = Output(descriptor: descriptors[1])
    #expect(throws: Never.self) { try output.line("is kept") }
    #expect(throws: Output.ClosedPipe.self) { try output.flush() }
  }

  @Test func anyOtherFailureIsOneOfReadingAndWriting() throws {
    let descriptor = open("/dev/full", O_WRONLY | O_CLOEXEC)
    try #require(descriptor >= 0)
    defer { close(descriptor) }
    let output = Output(descriptor: descriptor)
    try output.line("text")
    #expect(
      throws: ToolError(.inputOutput, "cannot write the output: No space left on device")
    ) { try output.flush() }
  }
}
