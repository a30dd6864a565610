// SPDX-License-Identifier: Apache-2.0
#include "server/rtsp/late_end.h"

#include <chrono>
#include <memory>

#include "base/thread_safety.h"
#include "server/rtsp/gst_ptr.h"

namespace gopmill {
namespace {

// Longer than a thread waits as a rule on a machine that has more to do than CPUs.
constexpr std::chrono::nanoseconds kDelay = std::chrono::milliseconds(500);
constexpr auto kHeld =
    static_cast<GstPadProbeType>(GST_PAD_PROBE_TYPE_BLOCK | GST_PAD_PROBE_TYPE_EVENT_DOWNSTREAM);

// Of a pad: its probe blocks at an end, which a stop of the pad undoes, until another probe comes
// in its place that lets this end go on. Ends have the number of the seek they follow.
class EndHold : public std::enable_shared_from_this<EndHold> {
 public:
  explicit EndHold(GstPad& pad) { g_weak_ref_init(&pad_, &pad); }
  ~EndHold() { g_weak_ref_clear(&pad_); }
  EndHold(const EndHold&) = delete;
  EndHold& operator=(const EndHold&) = delete;

  static EndHold* Of(GstPad& pad) {
    auto* hold = static_cast<Ptr*>(g_object_get_data(G_OBJECT(&pad), kKey));
    return hold == nullptr ? nullptr : hold->get();
  }

  void Begin(GstPad& pad) {
    const MutexLock lock(mutex_);
    g_object_set_data_full(G_OBJECT(&pad), kKey, new Ptr(shared_from_this()), &Free<Ptr>);
    Watch(pad);
  }
  // What is held goes on.
  void LetGo() {
    const MutexLock lock(mutex_);
    if (held_ != released_) Renew();
  }

 private:
  using Ptr = std::shared_ptr<EndHold>;
  static constexpr const char* kKey = "gopmill-end";
  struct Release {
    Ptr hold;
    guint32 end;
  };
  template <class T>
  static void Free(gpointer owned) noexcept {
    delete static_cast<T*>(owned);
  }

  void Watch(GstPad& pad) GOPMILL_REQUIRES(mutex_) {
    probe_ = gst_pad_add_probe(&pad, kHeld, &OnEvent, new Ptr(shared_from_this()), &Free<Ptr>);
  }

  static GstPadProbeReturn OnEvent(GstPad* /*pad*/, GstPadProbeInfo* info, gpointer data) noexcept {
    GstEvent* event = gst_pad_probe_info_get_event(info);
    if (GST_EVENT_TYPE(event) != GST_EVENT_EOS) return GST_PAD_PROBE_PASS;
    return (*static_cast<Ptr*>(data))->Block(gst_event_get_seqnum(event));
  }
  GstPadProbeReturn Block(guint32 end) {
    const MutexLock lock(mutex_);
    if (released_ == end) return GST_PAD_PROBE_PASS;
    held_ = end;
    const auto clock = gst::Adopt(gst_system_clock_obtain());
    const GstClockID due = gst_clock_new_single_shot_id(
        clock.get(), gst_clock_get_time(clock.get()) + static_cast<GstClockTime>(kDelay.count()));
    gst_clock_id_wait_async(due, &OnTime, new Release{shared_from_this(), end}, &Free<Release>);
    gst_clock_id_unref(due);
    return GST_PAD_PROBE_OK;
  }

  // On the thread of the system's clock.
  static gboolean OnTime(GstClock* /*clock*/, GstClockTime /*time*/, GstClockID /*due*/,
                         gpointer data) noexcept {
    const auto& [hold, end] = *static_cast<Release*>(data);
    const MutexLock lock(hold->mutex_);
    if (hold->held_ == end && hold->released_ != end) hold->Renew();
    return TRUE;
  }
  void Renew() GOPMILL_REQUIRES(mutex_) {
    const auto pad = gst::Adopt(static_cast<GstPad*>(g_weak_ref_get(&pad_)));
    if (pad == nullptr) return;
    released_ = held_;
    gst_pad_remove_probe(pad.get(), probe_);
    Watch(*pad);
  }

  GWeakRef pad_;
  Mutex mutex_;  // guards all below
  gulong probe_ GOPMILL_GUARDED_BY(mutex_) = 0;
  guint32 held_ GOPMILL_GUARDED_BY(mutex_) = GST_SEQNUM_INVALID;
  guint32 released_ GOPMILL_GUARDED_BY(mutex_) = GST_SEQNUM_INVALID;
};

}  // namespace

void DelayEnd(GstElement& payloader) {
  const auto pad = gst::Adopt(gst_element_get_static_pad(&payloader, "src"));
  std::make_shared<EndHold>(*pad)->Begin(*pad);
}

void TellEnd(GstElement& payloader) {
  const auto pad = gst::Adopt(gst_element_get_static_pad(&payloader, "src"));
  if (EndHold* hold = EndHold::Of(*pad)) hold->LetGo();
}

}  // namespace gopmill
