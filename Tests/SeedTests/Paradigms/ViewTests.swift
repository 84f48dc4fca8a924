import Observation
import Query
import TestSupport
import Testing

// Document 004, the SwiftUI views: blocks 4, 9 and 10. The little of SwiftUI that they use has
// stand-ins at the end; Observation is the real one.

// MARK: - Block 4

private struct PlayersView: View {
  @State.Query(PlayersQuery(listId: 20)) private var state

  var body: some View {
    // ...
    Text("\(state.currentValue.map(\.id))")
  }

  private func fetch() async throws {
    // Fetching all pages.
    try await $state.fetch()  // Fetches initial page if no pages have been fetched yet.
    try await $state.fetchAllPages()

    // Fetching next page.
    // Fetches initial page if no pages have been fetched yet.
    try await $state.fetchNextPage()

    // Fetching previous page.
    // Fetches initial page if no pages have been fetched yet.
    try await $state.fetchPreviousPage()
  }
}

extension PlayersView {
  /// What a gesture of the user would call.
  func fetchEverything() async throws { try await self.fetch() }
}

// MARK: - Block 9

private enum Block9 {
  struct CreatePlayerView: View {
    @State.Query(CreatePlayerMutation()) private var state
    var name = ""
    var number = 0

    var body: some View {
      // ...
      Text(state.currentValue?.name ?? "nobody")
    }

    private func createPlayer() async throws {
      try await $state.mutate(
        with: CreatePlayerMutation.Arguments(name: name, number: number)
      )
    }

    func submit() async throws { try await self.createPlayer() }
  }
}

// MARK: - Block 10

private struct CreatePlayerView: View {
  @State.Query(CreatePlayerMutation()) private var state
  var name = ""
  var number = 0

  // We know many previous attempts to create a player with this name failed,
  // so we can mark the name as problematic.

  private var isInvalidName: Bool {
    state.history.count { $0.arguments.name == name && $0.status.isFailure } >= 3
  }

  var body: some View {
    Form {
      // ...

      if isInvalidName {
        Text("\(name) is an invalid name.")
      }

      Button("Submit") {
        Task { try await createPlayer() }
      }
      .disabled(isInvalidName)
    }
  }

  // ...

  private func createPlayer() async throws {
    try await $state.mutate(
      with: CreatePlayerMutation.Arguments(name: name, number: number)
    )
  }
}

// MARK: - Tests

@Suite("Document 004: views", .warningsAreIssues)
struct ViewTests {
  private let api = PlayersAPI()
  private let client: QueryClient

  init() { self.client = QueryClient(defaultContext: .players(self.api)) }

  @Test("Block 4: a view shows the pages, and fetches them by its projected value")
  func playersView() async throws {
    let view = State.$client.withValue(self.client) { PlayersView() }
    let changes = Recorder<[String]>()
    let text = withObservationTracking {
      (view.body as? Text)?.text
    } onChange: {
      // The change is announced after it was made.
      changes.append([(view.body as? Text)?.text ?? ""])
    }
    #expect(text == "[]")

    try await view.fetchEverything()

    #expect(changes.elements == [["[]"]])
    #expect((view.body as? Text)?.text == #"["previous 1", "initial", "next 1"]"#)
    #expect(self.api.calls == ["initial", "initial", "next 1", "previous 1"])
  }

  @Test("Block 9: a view mutates with the arguments that it holds")
  func createPlayerView() async throws {
    var view = State.$client.withValue(self.client) { Block9.CreatePlayerView() }
    #expect((view.body as? Text)?.text == "nobody")

    view.name = "Blob"
    view.number = 42
    try await view.submit()

    #expect((view.body as? Text)?.text == "Blob")
    let store = self.client.store(for: CreatePlayerMutation())
    #expect(store.history.map(\.arguments.number) == [42])
  }

  @Test("Block 10: after three failures with a name, the name is invalid")
  func mutationHistory() async throws {
    let store = self.client.store(for: CreatePlayerMutation())
    let collector = EventCollector<MutationState<CreatePlayerMutation.Arguments, Player>>()
    let subscription = store.subscribe(with: collector.mutationHandler())
    var view = State.$client.withValue(self.client) { CreatePlayerView() }
    self.api.fail("create Blob", count: 3)
    let end = ObservedEvent.mutatingEnded(
      "\(CreatePlayerMutation.Arguments(name: "Blob", number: 0))"
    )

    view.name = "Blob"
    for attempt in 1...3 {
      let form = try #require(view.body as? Form)
      #expect(form.texts == [])
      let button = try #require(form.button)
      #expect(button.title == "Submit")
      #expect(!button.isDisabled)
      button.action()
      await collector.wait(for: end, count: attempt)
    }

    let invalid = try #require(view.body as? Form)
    #expect(invalid.texts == ["Blob is an invalid name."])
    #expect(invalid.button?.isDisabled == true)
    #expect(store.history.count == 3)
    #expect(store.errorUpdateCount == 3)

    view.name = "Blob Jr."
    let valid = try #require(view.body as? Form)
    #expect(valid.texts == [])
    #expect(valid.button?.isDisabled == false)
    subscription.cancel()
  }
}

// MARK: - SwiftUI

private enum State {
  /// The client that views get their stores from.
  @TaskLocal static var client = QueryClient()

  /// A store's state as a property, with the store as its projection.
  @propertyWrapper
  struct Query<Value: QueryStateProtocol> {
    let projectedValue: QueryStore<Value>

    var wrappedValue: Value { self.projectedValue.state }

    init<PageID, PageValue>(_ query: some InfiniteQueryRequest<PageID, PageValue>)
    where Value == InfiniteQueryState<PageID, PageValue> {
      self.projectedValue = State.client.store(for: query)
    }

    init<Arguments, ReturnValue>(_ mutation: some MutationRequest<Arguments, ReturnValue>)
    where Value == MutationState<Arguments, ReturnValue> {
      self.projectedValue = State.client.store(for: mutation)
    }
  }
}

private protocol View {}

private struct Text: View {
  let text: String

  init(_ text: String) { self.text = text }
}

private struct Button: View {
  let title: String
  let action: () -> Void
  var isDisabled = false

  init(_ title: String, action: @escaping () -> Void) {
    self.title = title
    self.action = action
  }

  func disabled(_ isDisabled: Bool) -> Button {
    var copy = self
    copy.isDisabled = isDisabled
    return copy
  }
}

private struct Form: View {
  private let content: [any View]

  init(@ViewBuilder _ content: () -> [any View]) { self.content = content() }

  var texts: [String] { self.content.compactMap { ($0 as? Text)?.text } }
  var button: Button? { self.content.lazy.compactMap { $0 as? Button }.first }
}

@resultBuilder
private enum ViewBuilder {
  static func buildExpression(_ view: any View) -> [any View] { [view] }
  static func buildOptional(_ content: [any View]?) -> [any View] { content ?? [] }
  static func buildBlock(_ content: [any View]...) -> [any View] { content.flatMap(\.self) }
}
