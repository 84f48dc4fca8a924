import CGIO
import Foundation
import Query
import TestSupport
import Testing

@testable import SystemNetwork

@Suite struct ReachabilityQuestionTests {
  @Test func whatGIOsErrorsSayOfAHost() {
    let io = g_io_error_quark()
    let resolver = g_resolver_error_quark()
    #expect(Self.answer(io, G_IO_ERROR_NETWORK_UNREACHABLE.rawValue) == .unreachable)
    #expect(Self.answer(io, G_IO_ERROR_HOST_UNREACHABLE.rawValue) == .unreachable)
    #expect(Self.answer(io, G_IO_ERROR_CANCELLED.rawValue) == .unknown)
    #expect(Self.answer(resolver, G_RESOLVER_ERROR_NOT_FOUND.rawValue) == .unreachable)
    #expect(Self.answer(resolver, G_RESOLVER_ERROR_TEMPORARY_FAILURE.rawValue) == .unreachable)
    #expect(Self.answer(resolver, G_RESOLVER_ERROR_INTERNAL.rawValue) == .unknown)
    #expect(NetworkReachability(nil) == .unknown)
  }

  @Test(arguments: ["file:///etc/hosts", "mailto:a@b.example", "nothing"])
  func aURLWithoutAHostHasNoAnswer(text: String) async throws {
    let url = try #require(URL(string: text))
    #expect(await SystemNetworkObserver().reachability(of: url) == .unknown)
  }

  @Test func aCancelledTaskIsNotKeptWaiting() async throws {
    let url = try #require(URL(string: "http://a-name-that-must-be-resolved.invalid/"))
    let task = Task {
      while !Task.isCancelled { await Task.yield() }
      return await SystemNetworkObserver().reachability(of: url)
    }
    task.cancel()
    #expect(await task.value == .unknown)
  }

  @Test func questionsFromManyTasksAllGetAnAnswer() async throws {
    let url = try #require(URL(string: "http://127.0.0.1:80/"))
    let answers = await withTaskGroup(of: NetworkReachability.self) { group in
      for number in 0..<50 {
        group.addTask { await SystemNetworkObserver().reachability(of: url) }
        if number % 10 == 0 { _ = await group.next() }
      }
      var answers = [NetworkReachability]()
      for await answer in group { answers.append(answer) }
      return answers
    }
    #expect(answers.count == 45)
    #expect(!answers.contains(.unknown))
  }

  @Test func aQuestionIsFreedWithItsAnswer() async {
    weak var released: ReachabilityQuestion?
    let context = MainContext()
    let answers = Recorder<NetworkReachability>()
    context.asThreadDefault {
      let monitor = NetworkMonitor()
      do {
        let question = ReachabilityQuestion(URL(filePath: "/"))
        question.expect { answers.append($0) }
        question.ask(monitor)
      }
      do {
        let question = ReachabilityQuestion(Self.address)
        released = question
        question.expect { answers.append($0) }
        question.ask(monitor)
        question.cancel()
      }
      while answers.count < 2 { context.iterate() }
    }
    #expect(answers.elements == [.unknown, .unknown])
    #expect(released == nil)
  }

  @Test func aQuestionThatWasGivenUpIsAnsweredAndNotAsked() {
    let answers = Recorder<NetworkReachability>()
    let question = ReachabilityQuestion(Self.address)
    question.giveUp()
    question.expect { answers.append($0) }
    question.giveUp()
    #expect(answers.elements == [.unknown])
  }

  private static let address = URL(string: "http://192.0.2.1/") ?? URL(filePath: "/")

  private static func answer(_ domain: GQuark, _ code: UInt32) -> NetworkReachability {
    var error = GError()
    error.domain = domain
    error.code = Int32(code)
    return NetworkReachability(error)
  }
}
