import CGTK

/// A list view whose rows stay as long as their identifiers do: a change inserts and removes what
/// differs, and rows in view are written anew, so that selection, focus and scroll position stay.
@MainActor
final class RowList {
  /// What a row shows.
  struct Row: Hashable, Sendable {
    let title: String
    var text = ""
    var mark = ""
    var isRefused = false
  }

  /// Called with the position of a row that comes into view.
  var onRowShown: ((Int) -> Void)?
  /// Called when another row is selected, or none; not for what ``show(_:_:)`` does to the selection.
  var onSelection: ((String?) -> Void)?

  private(set) var ids = [String]()
  private var row: (Int) -> Row = { _ in Row(title: "") }
  private let model: OpaquePointer = gtk_string_list_new(nil)
  private let selection: OpaquePointer
  private let view: OpaquePointer
  /// The labels of each list item that GTK keeps for rows in view.
  private var places = [UnsafeMutableRawPointer: Interface]()
  private var isChanging = false

  /// - Parameter needsSelection: Whether one row is always selected, if there is one.
  init(in view: OpaquePointer, needsSelection: Bool) {
    self.view = view
    self.selection = gtk_single_selection_new(self.model)
    gtk_single_selection_set_autoselect(self.selection, needsSelection ? 1 : 0)
    gtk_single_selection_set_can_unselect(self.selection, needsSelection ? 0 : 1)
    let factory = gtk_signal_list_item_factory_new()
    connect(UnsafeMutableRawPointer(factory), "setup") { [unowned self] in self.setUp($0) }
    connect(UnsafeMutableRawPointer(factory), "bind") { [unowned self] item in
      self.write(item)
      if let position = self.position(of: item) { self.onRowShown?(position) }
    }
    connect(UnsafeMutableRawPointer(factory), "teardown") { [unowned self] item in
      if let item { self.places.removeValue(forKey: item)?.release() }
    }
    gtk_list_view_set_factory(view, factory)
    gtk_list_view_set_model(view, self.selection)
    connect(UnsafeMutableRawPointer(self.selection), "notify::selected") { [unowned self] _ in
      if !self.isChanging { self.onSelection?(self.selected) }
    }
  }

  var selected: String? {
    let position = Int(gtk_single_selection_get_selected(self.selection))
    return self.ids.indices.contains(position) ? self.ids[position] : nil
  }

  /// Selects a row; nil: none.
  func select(_ id: String?) {
    guard id != self.selected else { return }
    let position = id.flatMap { self.ids.firstIndex(of: $0) }
    gtk_single_selection_set_selected(
      self.selection, position.map(guint.init) ?? GTK_INVALID_LIST_POSITION)
  }

  /// Scrolls to a row.
  func reveal(_ id: String) {
    guard let position = self.ids.firstIndex(of: id) else { return }
    let target = g_variant_new_uint32(guint32(position))
    gtk_widget_activate_action_variant(
      cgtk_widget(UnsafeMutableRawPointer(self.view)), "list.scroll-to-item", target)
  }

  /// Shows other rows.
  ///
  /// All between the first identifier that differs and the last one is replaced: with one change, that
  /// alone.
  ///
  /// - Parameter row: Makes the row of a position, for those in view.
  func show(_ ids: [String], _ row: @escaping (Int) -> Row) {
    let old = self.ids
    // First, since the list view asks for rows before the splice returns.
    (self.ids, self.row, self.isChanging) = (ids, row, true)
    let head = zip(old, ids).prefix { $0 == $1 }.count
    let rest = min(old.count, ids.count) - head
    let tail = zip(old.reversed(), ids.reversed()).prefix(rest).prefix { $0 == $1 }.count
    if head + tail < max(old.count, ids.count) {
      var added = ids[head..<(ids.count - tail)].map { UnsafePointer(strdup($0)) } + [nil]
      gtk_string_list_splice(self.model, guint(head), guint(old.count - head - tail), &added)
      for text in added { free(UnsafeMutableRawPointer(mutating: text)) }
    }
    self.isChanging = false
    for item in self.places.keys { self.write(item) }
  }
}

// MARK: - What the list view asks for

extension RowList {
  private func setUp(_ item: UnsafeMutableRawPointer?) {
    guard let item else { return }
    let interface = Interface(PackageResources.row_ui)
    self.places[item] = interface
    gtk_list_item_set_child(OpaquePointer(item), interface.widget("row"))
  }

  /// The position that an item shows; nil: none at the moment.
  private func position(of item: UnsafeMutableRawPointer?) -> Int? {
    let position = Int(gtk_list_item_get_position(OpaquePointer(item)))
    return self.ids.indices.contains(position) ? position : nil
  }

  private func write(_ item: UnsafeMutableRawPointer?) {
    guard let item, let place = self.places[item], let position = self.position(of: item) else {
      return
    }
    let row = self.row(position)
    // GTK does nothing if a label has its text already.
    place.setText(of: "title", to: row.title)
    place.setText(of: "text", to: row.text)
    place.setText(of: "mark", to: row.mark)
    place.setClass("refused", of: "mark", to: row.isRefused)
  }
}
