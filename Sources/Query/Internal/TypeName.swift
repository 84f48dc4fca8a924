/// A type's name as people write it: without modules, without the marks of private types, with
/// `T?`, `[T]` and `[K: V]`.
///
/// Printing a type costs tens of microseconds, so no fetch does it: a store prints its type once,
/// and the library keeps the result.
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
  /// Whether a question mark after the text would belong to its last part alone.
  var isComposite = false

  init(components: [Component]) { self.components = components }

  init(_ text: String, isComposite: Bool) {
    self.components = [Component(name: text)]
    self.isComposite = isComposite
  }

  func text(_ generics: TypeName.Generics) -> String {
    if self.components.count == 1, let component = self.components.first {
      let arguments = component.arguments
      switch (component.name, arguments.count) {
      case ("Optional", 1):
        let wrapped = arguments[0].text(generics)
        return arguments[0].isComposite ? "(\(wrapped))?" : "\(wrapped)?"
      case ("Array", 1): return "[\(arguments[0].text(generics))]"
      case ("Dictionary", 2):
        return "[\(arguments[0].text(generics)): \(arguments[1].text(generics))]"
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

  /// Reads up to the end of this argument: a nominal type, or several with what joins them, as in
  /// `A & B`, `@Sendable (id: A) async throws -> B`, `(A, B)` and `any P<P.T == A>`.
  mutating func parseType() -> Name {
    var names = [Name]()
    var text = ""
    while let character = self.current, !",>)}".contains(character) {
      if self.starts(with: "->") {
        text += "->"
        self.position += 2
      } else if character == "(" && !self.starts(with: "(extension in ") {
        text += self.parseList()
        names.append(Name("", isComposite: false))
      } else if " :&=@.".contains(character) {
        text.append(character)
        self.position += 1
      } else {
        let name = self.parseNominal()
        text += name.text(.kept)
        names.append(name)
      }
    }
    if names.count == 1, text == names[0].text(.kept) { return names[0] }
    return Name(text, isComposite: text.contains(" ") && !text.hasPrefix("(") || names.count > 1)
  }

  private mutating func parseNominal() -> Name {
    var components = [Name.Component]()
    if self.starts(with: "(extension in ") {
      self.skipParenthesised()
      if self.current == ":" { self.position += 1 }
    }
    var first = self.word()
    if first == "Self" && self.current == "." {
      // An associated type: `Self.Module.Protocol.Name`.
      self.position += 1
      first = self.word()
    }
    // The first word is the module if another word follows; builtin types have no module.
    if self.current != "." { components.append(Name.Component(name: first)) }
    while let character = self.current {
      if character == "<" {
        let arguments = self.parseArguments()
        if !components.isEmpty { components[components.count - 1].arguments = arguments }
      } else if self.starts(with: ".(") {
        self.position += 1
        if let name = self.privateName() { components.append(Name.Component(name: name)) }
      } else if character == "." {
        self.position += 1
        components.append(Name.Component(name: self.word()))
      } else {
        break
      }
    }
    return Name(components: components)
  }

  private mutating func parseArguments() -> [Name] {
    var arguments = [Name]()
    self.position += 1
    while let character = self.current, character != ">" {
      if self.starts(with: "Pack{") {
        self.position += 5
      } else if ", })".contains(character) {
        self.position += 1
      } else {
        arguments.append(self.parseType())
      }
    }
    self.position += 1
    return arguments
  }

  /// The elements of a tuple, the parameters of a function, or what an attribute is given.
  private mutating func parseList() -> String {
    var elements = [String]()
    self.position += 1
    while let character = self.current, character != ")" {
      if ", >}".contains(character) {
        self.position += 1
      } else {
        elements.append(self.parseType().text(.kept))
      }
    }
    self.position += 1
    return "(\(elements.joined(separator: ", ")))"
  }

  private mutating func word() -> String {
    let start = self.position
    while let character = self.current, !".<>, ():{}".contains(character) { self.position += 1 }
    // A spelling that is not known must not be an endless loop.
    if self.position == start && self.current != nil { self.position += 1 }
    return String(self.characters[start..<self.position])
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
