// SPDX-License-Identifier: Apache-2.0
#include "server/api/request_params.h"

#include <algorithm>

#include "media/target_params.h"

namespace gopmill {

Result<TargetRequest> ParseParams(const RequestParams& params) {
  TargetRequest request;
  for (const auto& [name, value] : params) {
    GOPMILL_RETURN_IF_ERROR(SetParam(request, name, value));
  }
  return request;
}

Status CheckClass(const std::string& service_class, const RequestParams& params) {
  for (const auto& [name, value] : params) {
    if (service_class.empty() || name != "class" || value == service_class) continue;
    return InvalidArgument("class", "This user has a service class, and it is another one.",
                           service_class);
  }
  return OkStatus();
}

Status UseClass(const std::string& service_class, RequestParams& params) {
  GOPMILL_RETURN_IF_ERROR(CheckClass(service_class, params));
  const auto names_it = [](const auto& param) { return param.first == "class"; };
  if (!service_class.empty() && std::ranges::none_of(params, names_it)) {
    params.emplace_back("class", service_class);
  }
  return OkStatus();
}

}  // namespace gopmill
