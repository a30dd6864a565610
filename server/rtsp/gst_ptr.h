// SPDX-License-Identifier: Apache-2.0
//
// Owners of GLib and GStreamer objects. Adopt takes over a reference that one was given; a second
// owner is made by Share.
//
// Thread-safety: compatible; the references themselves are counted with atomics.
#pragma once

#include <glib-object.h>

#include <memory>

namespace gopmill::gst {

struct Unref {
  void operator()(void* object) const noexcept { g_object_unref(object); }
};
template <class T>
using Object = std::unique_ptr<T, Unref>;

template <class T>
Object<T> Adopt(T* object) {
  return Object<T>(object);
}
template <class T>
Object<T> Share(T* object) {
  return Object<T>(static_cast<T*>(g_object_ref(object)));
}

template <auto Free>
struct FreeBy {
  void operator()(auto* object) const noexcept { Free(object); }
};
// Registers a subclass that only replaces functions of its parent's class; `init` does that.
template <class Class, class Instance>
GType Subclass(GType parent, const char* name, GClassInitFunc init) {
  return g_type_register_static_simple(parent, name, sizeof(Class), init, sizeof(Instance), nullptr,
                                       static_cast<GTypeFlags>(0));
}

using Text = std::unique_ptr<char, FreeBy<g_free>>;
using Loop = std::unique_ptr<GMainContext, FreeBy<g_main_context_unref>>;

}  // namespace gopmill::gst
