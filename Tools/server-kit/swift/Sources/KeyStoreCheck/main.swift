// Checks the key store over two connections to one database: key-store-check TABLE FILE|ADDRESS

import Glibc
import ServerKit

func check(_ isRight: Bool, _ what: String, line: Int = #line) {
  if isRight { return }
  print("line \(line): \(what)")
  exit(1)
}

/// What the store must answer, whichever database it is.
func check(_ first: any KeyDatabase, _ second: any KeyDatabase) throws {
  var time = 1_000_000_000
  let (one, other) = (KeyStore(first) { time }, KeyStore(second) { time })
  check(try one.begin("k", "ada", "digest") == .new, "a new key is new")
  check(try other.begin("k", "ada", "digest") == .running, "it runs until it is committed")
  if second.dialect == .postgresql {
    check(try other.begin("other", "ada", "digest") == .new, "another key does not wait for it")
    _ = try second.rows("ROLLBACK", [])
  }
  _ = try first.rows("ROLLBACK", [])
  check(try other.begin("k", "ada", "digest") == .new, "what was rolled back is new")
  try other.finish("k", "ada", "digest", status: 201, body: #"{"id":"é"}"#)
  _ = try second.rows("COMMIT", [])
  let cases: [(String, String, KeyStore.State)] = [
    ("ada", "digest", .done(status: 201, body: #"{"id":"é"}"#)), ("ada", "another", .mismatch),
    ("eve", "digest", .new),
  ]
  for (account, digest, state) in cases {
    check(try one.begin("k", account, digest) == state, "\(account) \(digest) is \(state)")
    _ = try first.rows("ROLLBACK", [])
  }
  check(try one.applied(to: "ada") == ["k"], "a receipt names it")
  check(try one.applied(to: "eve") == [], "and to nobody else")
  time += 3_600
  check(try one.applied(to: "ada") == [], "for an hour")
  time += 30 * 86_400
  try one.forget()
  check(try one.begin("k", "ada", "digest") == .new, "and it is kept for thirty days")
  _ = try first.rows("ROLLBACK", [])
}

func text(of path: String) -> String {
  guard let file = fopen(path, "r") else { return "" }
  defer { fclose(file) }
  var bytes = [UInt8](repeating: 0, count: 1 << 16)
  let count = fread(&bytes, 1, bytes.count, file)
  return String(decoding: bytes.prefix(count), as: UTF8.self)
}

guard CommandLine.arguments.count == 3 else {
  print("Usage: key-store-check TABLE FILE|ADDRESS")
  exit(64)
}
let (table, address) = (text(of: CommandLine.arguments[1]), CommandLine.arguments[2])
if !address.contains("=") {
  let connection = try SQLiteConnection(address)
  try connection.run(script: table)
  try check(connection, try SQLiteConnection(address))
  print("ok: SQLite")
} else {
  #if canImport(CPostgreSQL)
    let connection = try PostgreSQLConnection(address)
    try connection.run(script: table)
    try check(connection, try PostgreSQLConnection(address))
    print("ok: PostgreSQL")
  #else
    print("built without libpq")
    exit(69)
  #endif
}
