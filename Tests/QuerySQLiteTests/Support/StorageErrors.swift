// One is awaited and the other is not, so no call is ambiguous.
// swift-format-ignore-file: AmbiguousTrailingClosureOverload

import Query
import Testing

/// The storage error that a closure throws; another end is an issue.
func storageError(_ body: () throws -> Void) -> StorageError? {
  storageError(of: Result(catching: body))
}

/// The storage error that an asynchronous closure throws; another end is an issue.
func storageError(_ body: () async throws -> Void) async -> StorageError? {
  let result: Result<Void, any Error>
  do {
    result = .success(try await body())
  } catch {
    result = .failure(error)
  }
  return storageError(of: result)
}

private func storageError(of result: Result<Void, any Error>) -> StorageError? {
  switch result {
  case .success: Issue.record("nothing is thrown")
  case .failure(let error as StorageError): return error
  case .failure(let error): Issue.record(error)
  }
  return nil
}
