import Foundation
import Query
import StorageTestSupport
import Testing

@testable import QuerySQLite

@Suite struct StorageLocationsTests {
  private func folders(
    _ environment: [String: String],
    id: String = "notes",
    passwd: String? = nil
  ) throws -> [String] {
    let locations = try StorageLocations(
      applicationID: id, environment: environment, passwdHome: { passwd })
    return DatabaseKind.allCases.map { locations.folder(of: $0) }
  }

  @Test func theVariablesOfXDGSayWhere() throws {
    let folders = try self.folders(["XDG_CACHE_HOME": "/c", "XDG_DATA_HOME": "/d/"])
    #expect(folders == ["/c/notes", "/d/notes"])
    let root = try self.folders(["XDG_CACHE_HOME": "/", "XDG_DATA_HOME": "/d//e"])
    #expect(root == ["/notes", "/d//e/notes"])
  }

  @Test(arguments: ["", "relative", "./relative", "~/cache"])
  func anEmptyOrRelativeOneCountsAsUnset(_ value: String) throws {
    let environment = ["XDG_CACHE_HOME": value, "XDG_DATA_HOME": value, "HOME": "/home/a"]
    let expected = ["/home/a/.cache/notes", "/home/a/.local/share/notes"]
    #expect(try self.folders(environment) == expected)
    #expect(try self.folders(["HOME": "/home/a/"]) == expected)
  }

  @Test(arguments: [[:], ["HOME": ""], ["HOME": "home/a"]])
  func withoutAHomeInTheEnvironmentItIsThatOfTheUser(_ environment: [String: String]) throws {
    let folders = try self.folders(environment, passwd: "/home/b")
    #expect(folders == ["/home/b/.cache/notes", "/home/b/.local/share/notes"])
  }

  @Test(arguments: [nil, "", "home"])
  func withoutAnyHomeItIsAnErrorThatSaysWhatToSet(_ passwd: String?) throws {
    let error = storageError { _ = try self.folders(["XDG_CACHE_HOME": "/c"], passwd: passwd) }
    #expect(error?.code == .cannotOpen)
    #expect(error?.message.contains("set HOME or XDG_DATA_HOME") == true)
    // If both are known, no home is needed.
    let both = ["XDG_CACHE_HOME": "/c", "XDG_DATA_HOME": "/d"]
    #expect(try self.folders(both, passwd: passwd) == ["/c/notes", "/d/notes"])
  }

  @Test func theUserDatabaseKnowsThisUser() {
    #expect(StorageLocations.passwdHome()?.hasPrefix("/") == true)
  }

  @Test(arguments: [
    ("", "is empty"), (".", "is \".\""), ("..", "is \"..\""), ("a/b", "slash"), ("/a", "slash"),
    ("a\0b", "NUL"), (String(repeating: "ä", count: 128), "256 bytes"),
  ])
  func whatIsNoFileNameIsRefused(_ id: String, _ reason: String) throws {
    let error = storageError { _ = try self.folders(["HOME": "/home/a"], id: id) }
    #expect(error?.code == .misuse)
    #expect(error?.message.contains(reason) == true)
    #expect(error?.message.contains("org.example.notes") == true)
  }

  @Test(arguments: [
    ".hidden", "...", "a b", "org.example.notes", "日記", "-", String(repeating: "a", count: 255),
  ])
  func whatIsAFileNameIsNot(_ id: String) throws {
    #expect(try self.folders(["HOME": "/h"], id: id).first == "/h/.cache/\(id)")
  }
}

// MARK: - By folder

extension StorageLocationsTests {
  private func folder(_ url: URL) throws -> String {
    let locations = try StorageLocations(directory: url)
    #expect(locations.folder(of: .cache) == locations.folder(of: .mutations))
    return locations.folder(of: .cache)
  }

  @Test func oneFolderServesBoth() throws {
    #expect(try self.folder(URL(filePath: "/a/b c/")) == "/a/b c")
    #expect(try self.folder(URL(filePath: "/a/50%25")) == "/a/50%25")
    #expect(try self.folder(URL(filePath: "/")) == "/")
    #expect(try self.folder(#require(URL(string: "file://localhost/a/b%20c"))) == "/a/b c")
  }

  @Test func aRelativeOneIsMadeAbsolute() throws {
    let current = FileManager.default.currentDirectoryPath
    #expect(try self.folder(URL(filePath: "data")) == "\(current)/data")
    #expect(try self.folder(#require(URL(string: "file:data"))) == "\(current)/data")
    let base = URL(filePath: "/base/", directoryHint: .isDirectory)
    #expect(try self.folder(URL(filePath: "data", relativeTo: base)) == "/base/data")
  }

  @Test(arguments: ["https://example.org/a", "file://server/share", "relative"])
  func whatIsNoLocalFileIsRefused(_ text: String) throws {
    let url = try #require(URL(string: text))
    let error = storageError { _ = try self.folder(url) }
    #expect(error?.code == .misuse)
    #expect(error?.message.contains(text) == true)
  }

  @Test func noFolderIsMade() throws {
    let folder = try TemporaryFolder()
    _ = try self.folder(URL(filePath: "\(folder.path)/new"))
    _ = try self.folders(["HOME": folder.path])
    #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path) == [])
  }
}
