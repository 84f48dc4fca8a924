import FoundationEssentials
import QueryInspection
import ToolSupport

/// `pages`: the pages of an infinite query, and the value of one.
struct PagesCommand {
  private let invocation: Invocation

  init(_ invocation: Invocation) { self.invocation = invocation }

  func run() throws -> ExitCode {
    let store = try self.invocation.inspection()
    let value = try store.value(
      named: self.invocation.command.arguments[0], in: self.invocation.partition)
    if let wanted = self.invocation.command.text(Options.page) {
      let page = try self.page(wanted, of: value)
      try self.print(page, try store.value(of: page, in: value.entry), coder: value.entry.coder)
      return page.isSound ? .success : .badData
    }
    if self.invocation.command.has(Options.value) {
      throw self.invocation.command.usageError("--value needs --page ID")
    }
    if let json = self.invocation.json {
      for page in value.pages { try json.print(PageView(page), to: self.invocation.output) }
    } else {
      try self.print(value.pages)
    }
    return value.isSound ? .success : .badData
  }

  /// The page that a person names.
  private func page(_ name: String, of value: InspectedValue) throws -> InspectedPage {
    let found = value.pages.first { page in
      let text = ValuePrinter.text(of: page.pageID)
      return text == name || text == "\"\(name)\"" || "#\(page.index)" == name
    }
    if let found { return found }
    throw ToolError(
      .usage,
      "the entry \(value.entry.hash.short) has no page “\(name)”; it has \(value.pages.count) pages"
    )
  }

  private func print(_ page: InspectedPage, _ data: Data, coder: String) throws {
    if self.invocation.command.has(Options.value) {
      try self.invocation.output.write(bytes: data)
    } else if try !self.invocation.printed(PageValueView(page: PageView(page), value: data)) {
      try ValuePrinter(output: self.invocation.output).print(data, coder: coder)
    }
  }

  private func print(_ pages: [InspectedPage]) throws {
    var table = Table([
      Table.Column("PLACE", .right), Table.Column("SIZE", .right), Table.Column("AGE", .right),
      Table.Column("SOUND"), Table.Column("ID", isFlexible: true),
    ])
    for page in pages {
      table.add([
        .init("#\(page.index)"), .init(ByteCount.text(page.byteCount)),
        .init(Moments.age(page.updatedAt, self.invocation.now)),
        .init(page.isSound ? "yes" : "no", page.isSound ? .plain : .bad),
        .init(ValuePrinter.text(of: page.pageID)),
      ])
    }
    try table.print(to: self.invocation.output, self.invocation.terminal)
  }
}

/// A page with its value in JSON.
private struct PageValueView: Encodable {
  let page: PageView
  let value: Data
}
