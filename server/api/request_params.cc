// SPDX-License-Identifier: Apache-2.0
#include "server/api/request_params.h"

#include <algorithm>
#include <string_view>

#include "media/target_params.h"

namespace gopmill {

Result<TargetRequest> ParseParams(const RequestParams& params) {
  TargetRequest request;
  for (const auto& [name, value] : params) {
    GOPMILL_RETURN_IF_ERROR(SetParam(request, name, value));
  }
  return request;
}

Status UseClass(const std::string& service_class, RequestParams& params) {
  if (service_class.empty()) return OkStatus();
  const auto asked =
      std::ranges::find(params, std::string_view("class"), &RequestParams::value_type::first);
  if (asked == params.end()) {
    params.emplace_back("class", service_class);
  } else if (asked->second != service_class) {
    return InvalidArgument("class", "This user has a service class, and it is another one.",
                           service_class);
  }
  return OkStatus();
}

}  // namespace gopmill
