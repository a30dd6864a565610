// SPDX-License-Identifier: Apache-2.0
#include "codec/filter_chain.h"

extern "C" {
#include <libavfilter/buffersink.h>
#include <libavfilter/buffersrc.h>
#include <libavutil/mem.h>
#include <libavutil/opt.h>
}

#include <fmt/format.h>

#include <cerrno>

#include "codec/av_filter_compat.h"
#include "media/av_error.h"

namespace gopmill {

Result<FilterChain> FilterChain::Begin(const Input& input) {
  av::FilterGraph graph(avfilter_graph_alloc());
  GOPMILL_CHECK(graph != nullptr);
  graph->nb_threads = 1;
  // Of the scalers that libavfilter adds where two filters have no format in common.
  graph->scale_sws_opts = av_strdup(fmt::format("flags={}", kExactScaling).c_str());
  GOPMILL_CHECK(graph->scale_sws_opts != nullptr);
  FilterChain chain(input, std::move(graph));
  GOPMILL_RETURN_IF_ERROR(chain.AppendSource());
  return chain;
}

Status FilterChain::AppendSource() {
  source_ = avfilter_graph_alloc_filter(graph_.get(), avfilter_get_by_name("buffer"), "source");
  AVBufferSrcParameters* parameters = av_buffersrc_parameters_alloc();
  GOPMILL_CHECK(source_ != nullptr && parameters != nullptr);
  parameters->format = input_.format;
  parameters->width = input_.width;
  parameters->height = input_.height;
  parameters->time_base = av::ToAv(input_.time_base);
  parameters->sample_aspect_ratio = av::ToAv(input_.sample_aspect);
  av::SetColor(*parameters, input_.color_space, input_.color_range);
  int ret = av_buffersrc_parameters_set(source_, parameters);
  av_free(parameters);
  if (ret >= 0) ret = avfilter_init_str(source_, nullptr);
  if (ret < 0) return av::AvError("This picture format cannot be filtered", ret);
  last_ = source_;
  return OkStatus();
}

Status FilterChain::Link(AVFilterContext* next, const char* filter) {
  const int ret = avfilter_link(last_, 0, next, 0);
  if (ret < 0) return av::AvError(fmt::format("The filter {} could not be linked", filter), ret);
  last_ = next;
  return OkStatus();
}

Status FilterChain::Append(const char* filter, const char* options) {
  AVFilterContext* next = nullptr;
  const int ret = avfilter_graph_create_filter(&next, avfilter_get_by_name(filter), filter, options,
                                               nullptr, graph_.get());
  if (ret < 0) return av::AvError(fmt::format("The filter {} could not be set up", filter), ret);
  return Link(next, filter);
}

Status FilterChain::AppendWith(const char* filter, std::span<const Option> options) {
  AVFilterContext* next =
      avfilter_graph_alloc_filter(graph_.get(), avfilter_get_by_name(filter), filter);
  int ret = next == nullptr ? AVERROR_FILTER_NOT_FOUND : 0;
  for (const auto& [name, value] : options) {
    if (ret >= 0) ret = av_opt_set(next, name, value.c_str(), AV_OPT_SEARCH_CHILDREN);
  }
  if (ret >= 0) ret = avfilter_init_str(next, nullptr);
  if (ret < 0) return av::AvError(fmt::format("The filter {} could not be set up", filter), ret);
  return Link(next, filter);
}

Status FilterChain::Finish() {
  GOPMILL_RETURN_IF_ERROR(Append("buffersink", nullptr));
  const int ret = avfilter_graph_config(graph_.get(), nullptr);
  return ret < 0 ? Status(av::AvError("This picture format cannot be converted", ret)) : OkStatus();
}

Status FilterChain::Feed(const AVFrame* in) {
  if (in == nullptr) {
    if (ended_) return OkStatus();
    ended_ = true;
    const int ret = av_buffersrc_add_frame_flags(source_, nullptr, 0);
    return ret < 0 ? Status(av::AvError("The filters could not be drained", ret)) : OkStatus();
  }
  if (in->width != input_.width || in->height != input_.height || in->format != input_.format) {
    return InternalError("A frame was given to a filter made for another size or format.");
  }
  // The graph is told the range when it is made; a frame that says nothing, or the same in other
  // words (yuvj), must not make the scaler think again.
  av::Frame copy = av::Ref(*in);
  copy->color_range = static_cast<AVColorRange>(input_.color_range);
  copy->sample_aspect_ratio = av::ToAv(input_.sample_aspect);
  const int ret = av_buffersrc_add_frame_flags(source_, copy.get(), AV_BUFFERSRC_FLAG_PUSH);
  return ret < 0 ? Status(av::AvError("A frame could not be filtered", ret)) : OkStatus();
}

Result<bool> FilterChain::Take(AVFrame& out) {
  const int ret = av_buffersink_get_frame(last_, &out);
  if (ret == AVERROR(EAGAIN) || ret == AVERROR_EOF) return false;
  if (ret < 0) return av::AvError("A frame could not be filtered", ret);
  if (out.pts != AV_NOPTS_VALUE) {
    out.pts = av_rescale_q(out.pts, av_buffersink_get_time_base(last_), av::ToAv(input_.time_base));
  }
  return true;
}

}  // namespace gopmill
