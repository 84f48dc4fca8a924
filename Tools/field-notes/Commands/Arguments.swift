import Foundation

/// What the user requested on the command line.
struct Arguments {
  /// The words that are no options: a command and what it needs.
  var words = [String]()
  var server = URL(string: "http://127.0.0.1:8080") ?? URL(filePath: "/")
  var store: URL?
  /// How many pages to show; nil: all.
  var pages: Int? = 1
  var asksForHelp = false

  static let help = """
    Usage: field-notes [--server URL] [--store DIR] COMMAND

      folders                       the folders
      list FOLDER [--pages N|all]   its notes, 50 to a page
      watch FOLDER [--pages N|all]  its notes, and what changes of them, until Ctrl-C
      keep FOLDER                   fetch all of it, for when there is no network, until it is let go
      let-go FOLDER                 do not keep it any longer
      show NOTE                     a note
      create FOLDER TITLE [TEXT]    make a note
      edit NOTE TEXT                give a note another text
      delete NOTE                   delete a note
      unsent                        what no server has acknowledged yet, and what it waits for
      sync                          send what waits, until all is sent or has to wait longer
      run                           send what waits, and fetch what is kept, whenever there is a network,
                                    until Ctrl-C

      --server URL   where the notes are (http://127.0.0.1:8080)
      --store DIR    where to keep them; without it, ~/.cache and ~/.local/share

    Every command works without a network: what was seen before is shown with its age, and what is
    entered is kept, and sent later.

    Example: field-notes list Countries
    Exit codes: 0, 64 usage, 69 nothing could be shown, 74 the disk, 75 something is not sent yet
    """

  /// - Throws: ``UsageError``.
  init(_ arguments: [String]) throws {
    var rest = arguments[...]
    while let word = rest.popFirst() {
      switch word {
      case "--help", "-h": self.asksForHelp = true
      case "--server": self.server = try Self.url(try Self.value(of: word, &rest))
      case "--store":
        self.store = URL(filePath: try Self.value(of: word, &rest), directoryHint: .isDirectory)
      case "--pages":
        let text = try Self.value(of: word, &rest)
        self.pages = text == "all" ? nil : try Self.count(text)
      case "--":
        self.words += rest.map { $0 }
        rest = []
      default:
        if word.hasPrefix("--") { throw UsageError("there is no option \(word)") }
        self.words.append(word)
      }
    }
  }

  private static func value(of option: String, _ rest: inout ArraySlice<String>) throws -> String {
    guard let value = rest.popFirst() else { throw UsageError("\(option) needs a value") }
    return value
  }

  private static func url(_ text: String) throws -> URL {
    guard let url = URL(string: text), ["http", "https"].contains(url.scheme ?? ""),
      url.host() != nil
    else { throw UsageError("\(text) is no address of a server, as http://127.0.0.1:8080 is") }
    return url
  }

  private static func count(_ text: String) throws -> Int {
    guard let count = Int(text), count > 0 else {
      throw UsageError("--pages needs a number from 1 on, or all, and not \(text)")
    }
    return count
  }
}

/// The command line cannot be understood.
struct UsageError: Error {
  let message: String

  init(_ message: String) { self.message = message }
}
