// SPDX-License-Identifier: Apache-2.0
#include "server/api/request_params.h"

#include "media/target_params.h"

namespace gopmill {

Result<TargetRequest> ParseParams(const RequestParams& params) {
  TargetRequest request;
  for (const auto& [name, value] : params) {
    GOPMILL_RETURN_IF_ERROR(SetParam(request, name, value));
  }
  return request;
}

}  // namespace gopmill
