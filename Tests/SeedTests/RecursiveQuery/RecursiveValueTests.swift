import Testing

@Suite("Document 004: block 12, any node of a tree")
struct RecursiveValueTests {
  private var tree = Comment(
    nodeId: 0,
    children: [
      Comment(nodeId: 10, children: [Comment(nodeId: 11), Comment(nodeId: 12)]),
      Comment(nodeId: 20),
    ]
  )

  @Test("A node is found at any depth")
  func get() {
    #expect(self.tree[id: 0] == self.tree)
    #expect(self.tree[id: 10]?.children.map(\.nodeId) == [11, 12])
    #expect(self.tree[id: 12] == Comment(nodeId: 12))
    #expect(self.tree[id: 99] == nil)
  }

  @Test("A node is replaced at any depth")
  mutating func set() {
    self.tree[id: 12] = Comment(nodeId: 12, children: [Comment(nodeId: 13)])
    #expect(self.tree[id: 13] == Comment(nodeId: 13))
    #expect(self.tree[id: 10]?.children.map(\.nodeId) == [11, 12])
    self.tree[id: 0] = Comment(nodeId: 0)
    #expect(self.tree == Comment(nodeId: 0))
  }

  @Test("A node that is not there changes nothing; nil removes one, but for the root")
  mutating func edges() {
    let before = self.tree
    self.tree[id: 99] = Comment(nodeId: 99)
    self.tree[id: 0] = nil
    self.tree[id: 98] = nil
    #expect(self.tree == before)
    self.tree[id: 11] = nil
    #expect(self.tree[id: 10]?.children.map(\.nodeId) == [12])
    self.tree[id: 10] = nil
    #expect(self.tree == Comment(nodeId: 0, children: [Comment(nodeId: 20)]))
  }
}
