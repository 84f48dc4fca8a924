/// What the queries of the documents fetch.
struct Player: Hashable, Sendable, Codable {
  var id = 0
  var name = ""
  var number = 0
}
