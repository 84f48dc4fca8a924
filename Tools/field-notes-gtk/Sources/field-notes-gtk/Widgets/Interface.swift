import CGTK

/// The objects of a description of an interface, by their identifiers.
@MainActor
struct Interface {
  private let builder: OpaquePointer

  /// - Parameter description: The XML of a `.ui` file.
  init(_ description: [UInt8]) {
    self.builder = gtk_builder_new_from_string(String(decoding: description, as: UTF8.self), -1)
  }

  /// An object, to be cast by the shim, which checks its type.
  subscript(id: String) -> UnsafeMutableRawPointer {
    guard let object = gtk_builder_get_object(self.builder, id) else {
      preconditionFailure("the description of the interface has no object \(id)")
    }
    return UnsafeMutableRawPointer(object)
  }

  /// An object of a type whose fields GTK does not show, such as a label or a list.
  func opaque(_ id: String) -> OpaquePointer { OpaquePointer(self[id]) }

  func widget(_ id: String) -> UnsafeMutablePointer<GtkWidget> { cgtk_widget(self[id]) }

  /// Sets the text of a label; one without a text is not there.
  func setText(of id: String, to text: String) {
    gtk_label_set_text(self.opaque(id), text)
    gtk_widget_set_visible(self.widget(id), text.isEmpty ? 0 : 1)
  }

  /// Gives a widget a class of the style sheet, or takes it away.
  func setClass(_ name: String, of id: String, to isSet: Bool) {
    (isSet ? gtk_widget_add_css_class : gtk_widget_remove_css_class)(self.widget(id), name)
  }

  /// Lets go of the objects that no container holds.
  func release() { g_object_unref(UnsafeMutableRawPointer(self.builder)) }
}
