#if canImport(CPostgreSQL)
  import CPostgreSQL
  import Glibc
  import ServerKit

  /// A connection to PostgreSQL.
  final class PostgreSQLConnection: KeyDatabase {
    let dialect = KeyStore.Dialect.postgresql
    private let handle: OpaquePointer?

    /// What PostgreSQL reports.
    struct Failure: Error {
      let message: String
    }

    /// - Parameter address: As `host=/run/postgresql dbname=notes`.
    init(_ address: String) throws {
      self.handle = PQconnectdb(address)
      if PQstatus(self.handle) != CONNECTION_OK { throw self.failure }
    }

    deinit { PQfinish(self.handle) }

    func rows(_ statement: String, _ values: [String]) throws -> [[String]] {
      // Its parameters are $1, $2, …
      let parts = statement.split(separator: "?", omittingEmptySubsequences: false)
      let text = parts.dropFirst().enumerated()
        .reduce(String(parts[0])) { "\($0)$\($1.offset + 1)\($1.element)" }
      let copies = values.map { strdup($0) }
      defer { for copy in copies { free(copy) } }
      let pointers = copies.map { UnsafePointer($0) }
      let result = PQexecParams(
        self.handle, text, Int32(values.count), nil, pointers, nil, nil, 0)
      defer { PQclear(result) }
      guard [PGRES_COMMAND_OK, PGRES_TUPLES_OK].contains(PQresultStatus(result)) else {
        throw self.failure
      }
      return (0..<PQntuples(result)).map { row in
        (0..<PQnfields(result)).map { String(cString: PQgetvalue(result, row, $0)) }
      }
    }

    func run(script: String) throws {
      let result = PQexec(self.handle, script)
      defer { PQclear(result) }
      if PQresultStatus(result) != PGRES_COMMAND_OK { throw self.failure }
    }

    private var failure: Failure { Failure(message: String(cString: PQerrorMessage(self.handle))) }
  }
#endif
