import CGTK
import Query
import SystemMainLoop

/// The window: it shows what the models tell, and tells them what the user does.
@MainActor
final class NotesWindow {
  let ui = Interface(PackageResources.window_ui)
  private let notes: NotesModel
  private let folderList: RowList<Folder>
  private let noteList: RowList<Note>
  private var following = [Task<Void, Never>]()
  private var isNarrow = false
  private var hasDrawn = false
  /// The note in the editor, as it was put there.
  private var edited: Note?

  init(_ notes: NotesModel, in application: UnsafeMutablePointer<GtkApplication>?) {
    self.notes = notes
    self.folderList = RowList(in: self.ui.opaque("folders"), needsSelection: true)
    self.noteList = RowList(in: self.ui.opaque("notes"), needsSelection: false)
    self.handleInput()
    self.followModels()
    gtk_window_set_application(cgtk_window(self.ui["window"]), application)
    let (style, text) = (gtk_css_provider_new(), PackageResources.style_css)
    gtk_css_provider_load_from_data(style, String(decoding: text, as: UTF8.self), -1)
    gtk_style_context_add_provider_for_display(
      gdk_display_get_default(), OpaquePointer(style),
      guint(GTK_STYLE_PROVIDER_PRIORITY_APPLICATION))
  }

  func present() {
    gtk_window_present(cgtk_window(self.ui["window"]))
    let surface = gtk_native_get_surface(self.ui.opaque("window"))
    connect(UnsafeMutableRawPointer(surface), "layout") { [unowned self] _ in self.fitWidth() }
    let frames = gtk_widget_get_frame_clock(self.ui.widget("window"))
    connect(UnsafeMutableRawPointer(frames), "after-paint") { [unowned self] _ in
      if self.hasDrawn { return }
      self.hasDrawn = true
      self.noteList.show(self.notes.pages)
    }
    self.beginNote()
  }

  /// What follows a store keeps it, so a window that is closed follows nothing.
  private func close() {
    for task in self.following { task.cancel() }
    self.notes.close()
  }

  /// A narrow window has no room for the folders beside the notes: they come when they are asked for.
  private func fitWidth() {
    let isNarrow = gtk_widget_get_width(self.ui.widget("window")) < 600
    if isNarrow != self.isNarrow { self.showFolders(!isNarrow) }
    self.isNarrow = isNarrow
  }

  private func showFolders(_ isShown: Bool) {
    gtk_toggle_button_set_active(cgtk_toggle_button(self.ui["folders-toggle"]), isShown ? 1 : 0)
  }
}

// MARK: - From the models to the widgets

extension NotesWindow {
  private func followModels() {
    let (notes, ui) = (self.notes, self.ui)
    self.follow(notes.folders) { [unowned self] in self.show($0) }
    self.follow(notes.pages) { [unowned self] in self.show($0) }
    self.follow(notes.selected) { [unowned self] in self.edit($0) }
    self.follow(notes.folder ?? "Field notes") { ui.setText(of: "folder-title", to: $0) }
    self.follow(notes.placeholder) { ui.setText(of: "placeholder", to: $0) }
    self.follow(notes.status) { ui.setText(of: "status", to: $0) }
    self.follow(notes.isLoading) { gtk_spinner_set_spinning(ui.opaque("spinner"), $0 ? 1 : 0) }
    self.follow(notes.isConnected) { isConnected in
      ui.setText(of: "connection", to: isConnected ? "● Online" : "● Offline")
      ui.setClass("offline", of: "connection", to: !isConnected)
    }
    self.follow(notes.outgoing.refusal) { refusal in
      if let refusal { ui.setText(of: "refused-text", to: refusal) }
      gtk_revealer_set_reveal_child(ui.opaque("refused"), refusal == nil ? 0 : 1)
    }
  }

  /// Shows a property of a model, until the window is closed.
  private func follow<Value>(
    _ property: @autoclosure @escaping @MainActor () -> Value,
    show: @escaping @MainActor (Value) -> Void
  ) {
    self.following.append(MainLoop.follow(property, show: show))
  }

  private func show(_ folders: [Folder]) {
    self.folderList.show([folders])
    // The list selects the first one by itself.
    self.notes.open(self.folderList.selected)
  }

  private func show(_ pages: [[Note]]) {
    let shownCount = self.noteList.count
    // The first frame is to have the rows in view alone: for a long list GTK makes two hundred widgets.
    self.noteList.show(self.hasDrawn ? pages : pages.prefix(1).map { Array($0.prefix(20)) })
    self.noteList.select(self.notes.selectedId.map(self.notes.nameInList(of:)))
    self.notes.selectedId = self.noteList.selected
    // What was just entered comes into view.
    if self.noteList.count == shownCount + 1, let new = pages.last?.last, new.unsent != nil {
      self.noteList.reveal(new.id)
    }
  }

  /// Shows a note in the editor; nil: room for a new one. What the user types stays as long as the note
  /// does.
  private func edit(_ note: Note?) {
    let old = self.edited
    self.edited = note
    if note?.title == old?.title, note?.text == old?.text { return }
    gtk_editable_set_text(self.ui.opaque("title"), note?.title ?? "")
    gtk_editable_set_text(self.ui.opaque("text"), note?.text ?? "")
    // The server lets a note keep its title.
    gtk_widget_set_sensitive(self.ui.widget("title"), note == nil ? 1 : 0)
    gtk_widget_set_visible(self.ui.widget("delete"), note == nil ? 0 : 1)
    gtk_button_set_label(cgtk_button(self.ui["save"]), note == nil ? "Add" : "Save")
  }
}

// MARK: - From the widgets to the models

extension NotesWindow {
  private func handleInput() {
    let notes = self.notes
    self.folderList.onSelection = { [unowned self] folder in
      notes.open(folder)
      if self.isNarrow { self.showFolders(false) }
    }
    self.noteList.onSelection = { notes.selectedId = $0 }
    // Before the end is in view, so that the user need not wait for the next page.
    self.noteList.onRowShown = { position in
      if position + 20 > notes.count { notes.fetchNextPage() }
    }
    // What buttons and keys of the description call.
    self.addAction("new") { [unowned self] in self.beginNote() }
    self.addAction("save") { [unowned self] in self.save() }
    self.addAction("delete") { notes.selectedId.map(notes.delete) }
    self.addAction("refresh") { notes.refresh() }
    self.addAction("retry") { notes.outgoing.retry() }
    self.addAction("discard") { notes.outgoing.discard() }
    for entry in ["title", "text"] {
      connect(self.ui[entry], "activate") { [unowned self] _ in self.save() }
    }
    connect(self.ui["window"], "destroy") { [unowned self] _ in self.close() }
  }

  private func addAction(_ name: String, _ body: @escaping @MainActor () -> Void) {
    let action = g_simple_action_new(name, nil)
    connect(UnsafeMutableRawPointer(action), "activate") { _ in body() }
    g_action_map_add_action(self.ui.opaque("window"), action)
    g_object_unref(UnsafeMutableRawPointer(action))
  }

  /// Lets the user enter a new note.
  private func beginNote() {
    self.noteList.select(nil)
    gtk_widget_grab_focus(self.ui.widget("title"))
  }

  private func save() {
    let title = String(cString: gtk_editable_get_text(self.ui.opaque("title")))
    let text = String(cString: gtk_editable_get_text(self.ui.opaque("text")))
    if let edited { return self.notes.edit(edited.id, text: text) }
    if title.isEmpty { return }
    self.notes.add(title, text: text)
    for id in ["title", "text"] { gtk_editable_set_text(self.ui.opaque(id), "") }
    self.beginNote()
  }
}

// MARK: - Rows

extension Note: ListRow {
  var mark: String { self.unsent?.rawValue ?? "" }
  var isRefused: Bool { self.unsent == .refused }
}

extension Folder: ListRow {
  var id: String { self.name }
  var title: String { self.name }
  var text: String { "" }
  var mark: String { "\(self.count)" }
  var isRefused: Bool { false }
}
