import Foundation
import Testing

@testable import Query

private struct FilePrivate {
  struct Inner<Value> {
    enum Deep {}
  }
}

private struct Generic<First, Second> {
  struct Inner {}
  struct InnerGeneric<Third> {}
}

private struct Pack<each Element> {}

private struct Outer {
  private struct Hidden {}
  static var hidden: Any.Type { Hidden.self }
  static var localInMethod: Any.Type {
    struct Local<Value> {}
    return Local<Hidden>.self
  }
}

private protocol First {}
private protocol Second {}
private protocol Primary<Value> { associatedtype Value }

extension QueryContext {
  private enum TestKey {}
  static var testKey: Any.Type { TestKey.self }
}

extension QueryState {
  private enum NestedInGeneric {}
  static var nested: Any.Type { NestedInGeneric.self }
}

extension Array where Element == Int {
  struct Constrained {}
}

@Suite struct TypeNameTests {
  private enum Private {}

  private static func kept(_ type: Any.Type) -> String { TypeName.of(type, generics: .kept) }
  private static func dropped(_ type: Any.Type) -> String { TypeName.of(type, generics: .dropped) }

  @Test func modulesAreLeftOut() {
    #expect(Self.kept(Int.self) == "Int")
    #expect(Self.kept(URL.self) == "URL")
    #expect(Self.kept(QueryContext.self) == "QueryContext")
    #expect(Self.kept(Outer.self) == "Outer")
  }

  @Test func privateTypesAreNamedWithoutTheirMarks() {
    #expect(Self.kept(Private.self) == "TypeNameTests.Private")
    #expect(Self.kept(FilePrivate.self) == "FilePrivate")
    #expect(Self.kept(Outer.hidden) == "Outer.Hidden")
    #expect(
      Self.kept(FilePrivate.Inner<Private>.Deep.self)
        == "FilePrivate.Inner<TypeNameTests.Private>.Deep")
  }

  @Test func extensionsAreNotMentioned() {
    #expect(Self.kept(QueryContext.testKey) == "QueryContext.TestKey")
    #expect(Self.dropped(QueryContext.testKey) == "QueryContext.TestKey")
    #expect(Self.dropped(QueryState<Int?, Int>.nested) == "QueryState.NestedInGeneric")
    #expect(Self.kept(QueryState<Int?, Int>.nested) == "QueryState<Int?, Int>.NestedInGeneric")
    #expect(Self.dropped([Int].Constrained.self) == "Array.Constrained")
  }

  @Test func genericArgumentsAreKeptOrDropped() {
    #expect(Self.kept(Generic<Int, String>.self) == "Generic<Int, String>")
    #expect(Self.dropped(Generic<Int, String>.self) == "Generic")
    #expect(
      Self.kept(Generic<Generic<Int, Private>, Set<Int>>.self)
        == "Generic<Generic<Int, TypeNameTests.Private>, Set<Int>>")
    #expect(Self.kept(Generic<Int, Int>.Inner.self) == "Generic<Int, Int>.Inner")
    #expect(
      Self.kept(Generic<Int, Int>.InnerGeneric<Bool>.self)
        == "Generic<Int, Int>.InnerGeneric<Bool>")
    #expect(Self.dropped(Generic<Int, Int>.InnerGeneric<Bool>.self) == "Generic.InnerGeneric")
    #expect(
      Self.kept(QueryStore<QueryState<Int?, Int>>.self)
        == "QueryStore<QueryState<Int?, Int>>")
  }

  @Test func optionalsArraysAndDictionariesHaveTheirSugar() {
    #expect(Self.kept(Int?.self) == "Int?")
    #expect(Self.kept(Int??.self) == "Int??")
    #expect(Self.kept([Int].self) == "[Int]")
    #expect(Self.kept([[Int?]]?.self) == "[[Int?]]?")
    #expect(Self.kept([String: [Private]].self) == "[String: [TypeNameTests.Private]]")
    #expect(Self.kept(Generic<Int?, [Int: Int]>.self) == "Generic<Int?, [Int: Int]>")
  }

  @Test func existentialsAreNamedWithoutModules() {
    #expect(Self.kept((any Error).self) == "Error")
    #expect(Self.kept(Any.self) == "Any")
    #expect(Self.kept(AnyObject.self) == "AnyObject")
    #expect(Self.kept((any First).self) == "First")
    #expect(Self.kept((any First & Second).self) == "First & Second")
    #expect(Self.kept([any First & Second].self) == "[First & Second]")
    #expect(Self.kept((any First & Second)?.self) == "(First & Second)?")
    #expect(Self.kept(Generic<any Error, Int>.self) == "Generic<Error, Int>")
    #expect(Self.kept((any Error)?.self) == "Error?")
    #expect(Self.kept((any Primary<Int>).self) == "any Primary<Primary.Value == Int>")
    #expect(
      Self.kept((any Primary<Private>)?.self)
        == "(any Primary<Primary.Value == TypeNameTests.Private>)?")
  }

  @Test func metatypesAreNamed() {
    #expect(Self.kept(Int.Type.self) == "Int.Type")
    #expect(Self.kept(Private.Type?.self) == "TypeNameTests.Private.Type?")
    #expect(Self.kept((any First).Type.self) == "First.Protocol")
  }

  @Test func tuplesAndFunctionsAreNamedWithoutModules() {
    #expect(Self.kept(Void.self) == "()")
    #expect(Self.kept((Int, String).self) == "(Int, String)")
    #expect(Self.kept((id: Int, FilePrivate).self) == "(id: Int, FilePrivate)")
    #expect(Self.kept((Int, Int)?.self) == "(Int, Int)?")
    #expect(Self.kept([(Int, Private)].self) == "[(Int, TypeNameTests.Private)]")
    #expect(Self.kept((() -> Void).self) == "() -> ()")
    #expect(Self.kept((() -> Void)?.self) == "(() -> ())?")
    #expect(Self.kept(((Int, FilePrivate) -> String?).self) == "(Int, FilePrivate) -> String?")
    #expect(
      Self.kept((@concurrent @Sendable (Int) async throws -> Outer).self)
        == "@Sendable (Int) async throws -> Outer")
    #expect(
      Self.kept(((@escaping () -> Int) throws(CancellationError) -> [Outer]).self)
        == "(() -> Int) throws(CancellationError) -> [Outer]")
    #expect(
      Self.kept((@MainActor (inout Int) -> Void).self) == "@MainActor @Sendable (inout Int) -> ()")
    #expect(Self.kept(Generic<() -> Int, Int>.self) == "Generic<() -> Int, Int>")
    #expect(
      Self.kept(Generic<(Int) -> Generic<Int, Int>, Int>.self)
        == "Generic<(Int) -> Generic<Int, Int>, Int>")
  }

  @Test func packsAndNumbersAreArguments() {
    #expect(Self.kept(Pack<Int, Private>.self) == "Pack<Int, TypeNameTests.Private>")
    #expect(Self.kept(InlineArray<3, Int>.self) == "InlineArray<3, Int>")
  }

  @Test func localTypesAreNamed() {
    struct Local {}
    struct LocalGeneric<Value> {}
    #expect(Self.dropped(Local.self).hasSuffix("Local"))
    #expect(!Self.kept(Local.self).contains("$"))
    #expect(!Self.kept(LocalGeneric<Private>.self).contains("$"))
    #expect(!Self.kept(Outer.localInMethod).contains("$"))
  }

  @Test func noNameHoldsAnAddress() {
    let types: [Any.Type] = [
      FilePrivate.self, [FilePrivate].self, (FilePrivate, FilePrivate).self,
      ((FilePrivate) -> FilePrivate).self, (any First).self, FilePrivate.Inner<FilePrivate?>.self,
      Generic<(FilePrivate) -> Void, (a: FilePrivate, b: Private)>.self, Outer.localInMethod,
    ]
    for type in types {
      #expect(!Self.kept(type).contains("$"), "\(Self.kept(type))")
      #expect(!Self.kept(type).contains("unknown context"), "\(Self.kept(type))")
    }
  }
}
