import Foundation
import Query
import TestSupport
import Testing

@Suite struct IdentifiedTests {
  private struct City: Hashable, Codable {
    let name: String
    var population = 0
  }

  private typealias Cities = IdentifiedArrayOf<Identified<String, City>>

  private let cities: Cities = IdentifiedArray(
    uniqueElements: [City(name: "Paris"), City(name: "Rome")], id: \.name)

  @Test func aPropertyIdentifiesValues() {
    var cities = self.cities
    #expect(cities.ids == ["Paris", "Rome"])
    #expect(cities[id: "Rome"]?.value == City(name: "Rome"))
    cities[id: "Rome"]?.population += 1
    #expect(cities[id: "Rome"]?.value == City(name: "Rome", population: 1))
    #expect(cities[1].name == "Rome")
    cities.updateOrAppend(Identified(City(name: "Oslo"), id: "Oslo"))
    #expect(cities.map(\.value.name) == ["Paris", "Rome", "Oslo"])
  }

  @Test func theIDIsTakenOnce() {
    var city = Identified(City(name: "Rome"), id: "Rome")
    city.value = City(name: "Roma")
    #expect(city.id == "Rome")
    #expect(city.name == "Roma")
  }

  @Test func equalAndCodedByItsParts() throws {
    #expect(Identified(1, id: "a") == Identified(1, id: "a"))
    #expect(Identified(1, id: "a") != Identified(1, id: "b"))
    #expect(Identified(1, id: "a") != Identified(2, id: "a"))
    #expect(Set([Identified(1, id: "a"), Identified(1, id: "a")]).count == 1)
    let data = try JSONEncoder().encode(self.cities)
    #expect(try JSONDecoder().decode(Cities.self, from: data) == self.cities)
  }

  @Test func twoValuesWithOneIDStopTheProgram() async throws {
    let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      _ = IdentifiedArray(uniqueElements: [1, 2, 1], id: \.self)
    }
    try expectSentence("Two elements of an IdentifiedArray have the id 1. Give each", in: result)
  }
}
