/// A type's name as people write it: without modules, without the marks of private types, with
/// `T?`, `[T]` and `[K: V]`.
///
/// Printing a type costs tens of microseconds, so nothing on the way of a fetch does it: a store
/// asks once, and the library keeps the answer.
enum TypeName {
  enum Generics {
    case kept
    case dropped
  }

  static func of(_ type: Any.Type, generics: Generics) -> String {
    var parser = Parser(String(reflecting: type))
    let name = parser.parseType()
    return name.text(generics)
  }
}

private struct Name {
  struct Component {
    var name: String
    var arguments = [Name]()

    func text(_ generics: TypeName.Generics) -> String {
      guard generics == .kept, !self.arguments.isEmpty else { return self.name }
      return "\(self.name)<\(self.arguments.map { $0.text(generics) }.joined(separator: ", "))>"
    }
  }

  var components: [Component]
  var suffix = ""

  init(components: [Component]) { self.components = components }
  init(_ text: String) { self.components = [Component(name: text)] }

  func text(_ generics: TypeName.Generics) -> String {
    self.sugared(generics) + self.suffix
  }

  private func sugared(_ generics: TypeName.Generics) -> String {
    if self.components.count == 1, let component = self.components.first {
      let arguments = component.arguments.map { $0.text(generics) }
      switch (component.name, arguments.count) {
      case ("Optional", 1): return "\(arguments[0])?"
      case ("Array", 1): return "[\(arguments[0])]"
      case ("Dictionary", 2): return "[\(arguments[0]): \(arguments[1])]"
      default: break
      }
    }
    return self.components.map { $0.text(generics) }.joined(separator: ".")
  }
}

/// Reads the runtime's spelling of a type, such as
/// `(extension in App):Query.QueryContext.(Key in $5f00)<Swift.Optional<Swift.Int>>`.
private struct Parser {
  private let characters: [Character]
  private var position = 0

  init(_ text: String) {
    self.characters = Array(text)
  }

  private var current: Character? {
    self.position < self.characters.count ? self.characters[self.position] : nil
  }

  private func starts(with text: String) -> Bool {
    self.characters[self.position...].starts(with: text)
  }

  mutating func parseType() -> Name {
    var components = [Name.Component]()
    var isModuleSeen = false
    while let character = self.current {
      switch character {
      case "(" where self.starts(with: "(extension in "):
        self.skipParenthesised()
        if self.current == ":" { self.position += 1 }
      case "(" where components.isEmpty && !isModuleSeen:
        return self.verbatim()
      case "(":
        if let name = self.privateName() { components.append(Name.Component(name: name)) }
      case ".":
        self.position += 1
      case "<":
        let arguments = self.parseArguments()
        if !components.isEmpty { components[components.count - 1].arguments = arguments }
      case ",", ">", " ":
        return self.finish(components)
      default:
        let word = self.word()
        // The first word is the module where another one follows; builtin types have none.
        if !isModuleSeen, components.isEmpty, self.current == "." {
          isModuleSeen = true
        } else {
          components.append(Name.Component(name: word))
        }
      }
    }
    return self.finish(components)
  }

  /// Existentials and function types read on after a blank: `any P & Q`, `Int -> ()`.
  private mutating func finish(_ components: [Name.Component]) -> Name {
    var name = Name(components: components)
    guard self.current == " " else { return name }
    if components.count == 1, ["any", "some"].contains(components[0].name) {
      self.position += 1
      return Name("\(components[0].name) \(self.parseType().text(.kept))")
    }
    name.suffix = self.verbatim().text(.kept)
    return name
  }

  private mutating func parseArguments() -> [Name] {
    var arguments = [Name]()
    self.position += 1
    while let character = self.current, character != ">" {
      if character == "," || character == " " {
        self.position += 1
      } else {
        let before = self.position
        arguments.append(self.parseType())
        // A spelling that is not known ends here rather than in an endless loop.
        if self.position == before { self.position = self.characters.count }
      }
    }
    self.position += 1
    return arguments
  }

  private mutating func word() -> String {
    let start = self.position
    while let character = self.current, !".<>, ():".contains(character) { self.position += 1 }
    if self.position == start { self.position += 1 }
    return String(self.characters[start..<self.position])
  }

  /// What stands up to the end of this argument, as it is.
  private mutating func verbatim() -> Name {
    let start = self.position
    var depth = 0
    scan: while let character = self.current {
      switch character {
      case "(", "<": depth += 1
      case ">" where self.position > start && self.characters[self.position - 1] == "-": break
      case ")": depth -= 1
      case ">":
        if depth == 0 { break scan }
        depth -= 1
      case "," where depth == 0: break scan
      default: break
      }
      self.position += 1
    }
    let text = String(self.characters[start..<self.position])
    return Name(text.replacing("Swift.", with: ""))
  }

  /// `(Name in $5f00)` is a private type, `(unknown context at $5f00)` the file that it is in.
  private mutating func privateName() -> String? {
    let start = self.position + 1
    self.skipParenthesised()
    let content = String(self.characters[start..<max(start, self.position - 1)])
    guard !content.hasPrefix("unknown context") else { return nil }
    return content.split(separator: " ").first.map(String.init)
  }

  private mutating func skipParenthesised() {
    var depth = 0
    while let character = self.current {
      self.position += 1
      if character == "(" { depth += 1 }
      if character == ")" {
        depth -= 1
        if depth == 0 { return }
      }
    }
  }
}
