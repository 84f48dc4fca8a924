public import SwiftSyntaxMacros

/// The macros of the product `QueryMacros`, by the names under which its declarations ask for them.
public enum MacroTable {
  /// Every macro.
  public static var macros: [String: any Macro.Type] {
    [
      "QueryRequestMacro": QueryRequestMacro.self,
      "MutationRequestMacro": MutationRequestMacro.self,
      "ContextEntryMacro": ContextEntryMacro.self,
    ]
  }
}
