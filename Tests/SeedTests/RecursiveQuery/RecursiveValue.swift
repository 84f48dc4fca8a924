// Document 004, "Building Your Own Data Fetching Paradigm": block 12, and its part of block 31.

protocol RecursiveValue<NodeID>: Sendable {
  associatedtype NodeID: Sendable & Equatable

  var nodeId: NodeID { get }
  var children: [Self] { get set }
}

extension RecursiveValue {
  // Convenience subscript to get and set any node in the tree.
  subscript(id nodeId: NodeID) -> Self? {
    get {
      if self.nodeId == nodeId { return self }
      return self.children.lazy.compactMap { $0[id: nodeId] }.first
    }
    set {
      if self.nodeId == nodeId {
        // A tree has a root, so that one can be replaced and not removed.
        if let newValue { self = newValue }
      } else if let index = self.children.firstIndex(where: { $0[id: nodeId] != nil }) {
        if case nil = newValue, self.children[index].nodeId == nodeId {
          self.children.remove(at: index)
        } else {
          self.children[index][id: nodeId] = newValue
        }
      }
    }
  }
}
