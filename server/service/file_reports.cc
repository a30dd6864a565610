// SPDX-License-Identifier: Apache-2.0
#include "server/service/file_reports.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/dump_json.h"
#include "base/file_name.h"
#include "codec/video_encoder.h"
#include "media/digest.h"
#include "media/muxer.h"
#include "media/resolve_target.h"
#include "media/sound_choice.h"
#include "media/subtitle_file.h"
#include "server/api/live_name.h"
#include "server/api/request_params.h"
#include "server/files/movie_texts.h"
#include "server/live/live_request.h"
#include "server/stream/build_identity.h"
#include "server/stream/explain.h"
#include "server/stream/plan_json.h"
#include "server/stream/stream_session.h"

namespace gopmill {
namespace {

// What their names say; their cues are read when somebody watches the movie.
void AddSubtitlesBeside(const Library::Entry& entry, nlohmann::ordered_json& json) {
  if (!json.contains("subtitles")) return;  // it cannot be used
  const std::string_view movie = std::string_view(entry.path).substr(NameStart(entry.path));
  for (const std::string& file : entry.subtitles) {
    const auto track = DescribeSubtitleFile(StemOf(movie), file);
    if (!track) continue;
    nlohmann::ordered_json item = SubtitlesJson(*track);
    item["file"] = file;
    json["subtitles"].push_back(std::move(item));
  }
}

// Whether it says something of the file, which holds as long as that stays the same: not of a disk
// that failed meanwhile, or of a server that ends.
bool HoldsForTheFile(const Result<std::unique_ptr<Source>>& source) {
  if (source.ok()) return !(*source)->read_failed();
  return source.error().code == Code::kUnsupported || source.error().code == Code::kCorrupt;
}

std::string KeyOf(const Library::Entry& entry) {
  return Sha256Hex(fmt::format("source|{}|{}:{}:{}:{}:{}|{}", BuildIdentity(), entry.device,
                               entry.inode, entry.size_bytes, entry.modified_ns, entry.changed_ns,
                               entry.path));
}

// Of a file that anybody may have put there.
bool Describes(const std::string& text, const Library::Entry& entry) {
  const auto json = nlohmann::ordered_json::parse(text, nullptr, false);
  if (!json.is_object() || !json.contains("path") || json["path"] != entry.path) return false;
  return !json.contains("subtitles") || json["subtitles"].is_array();
}

}  // namespace

// What is probed is kept, so that the next request goes on from there: it is not ended with who has
// left, only with the service.
void FileReports::Sources(std::stop_token left, const TextCallback& done) {
  requests_.AddListing([this] { return SourcesJson(); }, std::move(left), done);
}

Result<SharedText> FileReports::SourcesJson() {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  GOPMILL_ASSIGN_OR_RETURN(const auto entries, library_.List());
  ForgetProbesExcept(entries);
  for (const Library::Entry& entry : entries) {
    if (requests_.ending().stop_requested()) break;
    list.push_back(nlohmann::ordered_json::parse(EntryJson(entry)));
    AddSubtitlesBeside(entry, list.back());
  }
  return std::make_shared<const std::string>(
      DumpJson(nlohmann::ordered_json{{"sources", std::move(list)}}, 2));
}

void FileReports::ForgetProbesExcept(const std::vector<Library::Entry>& entries) {
  std::erase_if(probes_, [&](const auto& probe) {
    return !std::ranges::binary_search(entries, probe.first, {}, &Library::Entry::path);
  });
}

std::string FileReports::EntryJson(const Library::Entry& entry) {
  const auto found = probes_.find(entry.path);
  if (found != probes_.end() && found->second.of.IsAs(entry)) return found->second.json;
  if (entry.path.starts_with(kLivePrefix)) {  // requests for it are for a live source
    nlohmann::ordered_json json{{"path", entry.path}};
    json["error"] = ErrorJson({.code = Code::kUnsupported,
                               .message = "It cannot be asked for, as live/ is for live sources: "
                                          "its folder needs another name."});
    return DumpJson(json);
  }
  const auto kept = kept_.Get(KeyOf(entry));
  if (kept == nullptr) return Probe(entry);
  if (!Describes(*kept, entry)) {
    kept_.Drop(KeyOf(entry));
    return Probe(entry);
  }
  probes_[entry.path] = {.of = entry, .json = *kept};
  return *kept;
}

std::string FileReports::Probe(const Library::Entry& entry) {
  nlohmann::ordered_json json{{"path", entry.path}};
  auto fd = library_.OpenEntry(entry.path);
  if (!fd.ok()) {  // not kept: it may be otherwise the next time
    json["error"] = ErrorJson(fd.error());
    return DumpJson(json);
  }
  const auto opened = Library::Describe(entry.path, *fd);
  auto source = Source::Open(std::move(fd).value(), requests_.ending());
  if (source.ok()) {
    json.update(SourceJson(*source.value()->info()));
  } else {
    json["error"] = ErrorJson(source.error());
  }
  std::string text = DumpJson(json);
  // It was listed a while ago, in a large library, and may be another by now.
  if (!HoldsForTheFile(source) || !opened.ok() || !opened->IsAs(entry)) return text;
  kept_.Put(KeyOf(entry), std::make_shared<const std::string>(text));
  probes_[entry.path] = {.of = entry, .json = text};
  return text;
}

void FileReports::CheckStream(const std::string& path, const RequestParams& params,
                              std::stop_token left, const JsonCallback& done) {
  Result<TargetRequest> request = ParseParams(params);
  if (!request.ok()) return done(request.error());
  requests_.Add([this, path, request = *std::move(request),
                 done](const std::stop_token& stop) { done(Check(path, request, stop)); },
                std::move(left), done);
}

Result<std::string> FileReports::Check(const std::string& path, const TargetRequest& request,
                                       const std::stop_token& stop) {
  if (path.starts_with(kLivePrefix)) return CheckLive(path.substr(kLivePrefix.size()), request);
  GOPMILL_ASSIGN_OR_RETURN(UniqueFd fd, library_.OpenEntry(path));
  GOPMILL_ASSIGN_OR_RETURN(const auto source,
                           Source::Open(std::move(fd), stop, {.audio = request.audio}));
  GOPMILL_ASSIGN_OR_RETURN(const auto resolved, ResolveTarget(request, *source->info()));
  GOPMILL_RETURN_IF_ERROR(CheckCoding(source->info(), resolved.target));
  GOPMILL_RETURN_IF_ERROR(CheckBurn(path, request, source->info()->subtitles.size()));
  GOPMILL_RETURN_IF_ERROR(CheckStreamedText(request));
  return std::string(ContentType(resolved.target.container));
}

Status FileReports::CheckBurn(const std::string& path, const TargetRequest& request,
                              std::size_t own) const {
  const int number = request.burn.value_or(0);
  if (number == 0) return OkStatus();
  return CheckTextNumber(number, own, TextFilesOf(library_, path).size());
}

Result<std::string> FileReports::CheckLive(const std::string& name, const TargetRequest& request) {
  GOPMILL_RETURN_IF_ERROR(CheckLiveTarget(request));
  GOPMILL_ASSIGN_OR_RETURN(const auto live, live_.Find(name));
  const auto info = live->info();
  if (info == nullptr) {
    return Error{.code = Code::kUnavailable, .message = "Nobody publishes under this name now."};
  }
  GOPMILL_ASSIGN_OR_RETURN(const SoundChoice choice, ChooseSounds(info, request.audio));
  GOPMILL_ASSIGN_OR_RETURN(const auto resolved, ResolveTarget(request, *choice.info));
  GOPMILL_RETURN_IF_ERROR(CheckCoding(choice.info, resolved.target));
  return std::string(ContentType(resolved.target.container));
}

// What else a stream finds out when it begins.
Status FileReports::CheckCoding(const std::shared_ptr<const SourceInfo>& source,
                                const Target& target) const {
  StreamPlan plan;
  plan.source = source;
  plan.target = target;
  const auto encoder = MakeEncoderSpec(plan);
  if (!encoder.ok()) return encoder.error();
  const auto service_class = engine_.scheduler().ClassOf(target.service_class);
  return service_class.ok() ? OkStatus() : Status(service_class.error());
}

void FileReports::Explain(const std::string& path, const RequestParams& params,
                          std::stop_token left, const JsonCallback& done) {
  Result<TargetRequest> request = ParseParams(params);
  if (!request.ok()) return done(request.error());
  if (path.starts_with(kLivePrefix)) {
    return done(Error{.code = Code::kUnsupported,
                      .message = "A live source has no plan to show: its units are planned as they "
                                 "come. What it is stands in /v1/live."});
  }
  requests_.Add([this, path, request = *std::move(request),
                 done](const std::stop_token& stop) { done(ExplainEntry(path, request, stop)); },
                std::move(left), done);
}

Result<std::string> FileReports::ExplainEntry(const std::string& path, const TargetRequest& request,
                                              const std::stop_token& stop) {
  GOPMILL_RETURN_IF_ERROR(CheckStreamedText(request));
  GOPMILL_RETURN_IF_ERROR(engine_.scheduler().ClassOf(request.service_class.value_or("")));
  GOPMILL_ASSIGN_OR_RETURN(UniqueFd fd, library_.OpenEntry(path));
  ExplainContext context;
  if (request.burn.value_or(0) > 0) context.text_files = TextFilesOf(library_, path).size();
  context.workers = engine_.scheduler().worker_count();
  context.decode_ahead_bytes = static_cast<double>(SessionLimits{}.decode_ahead_bytes);
  const Next next = next_();
  context.policy = next.policy;
  context.home_worker = engine_.HomeWorker(next.stream);  // it sets up a policy of its own
  return ExplainJson(std::move(fd), request, context, stop);
}

}  // namespace gopmill
