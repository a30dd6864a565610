// SPDX-License-Identifier: Apache-2.0
//
// Every status that is sent has its own words in the first line of the answer.
#include <gtest/gtest.h>

#include "base/status.h"
#include "server/http/http_message.h"
#include "server/http/problem.h"

namespace gopmill {
namespace {

TEST(ReasonPhrase, IsThereForEveryKindOfError) {
  for (int code = 0; code <= static_cast<int>(Code::kInternal); ++code) {
    const HttpResponse response = ErrorResponse({.code = static_cast<Code>(code), .message = "x"});
    EXPECT_NE(ReasonPhrase(response.status), "Unknown") << response.status;
  }
  EXPECT_EQ(ReasonPhrase(ErrorResponse({.code = Code::kAlreadyExists, .message = "x"}).status),
            "Conflict");
}

TEST(ReasonPhrase, IsThereForWhatTheProtocolRefuses) {
  for (const int status :
       {400, 401, 403, 404, 405, 408, 413, 414, 416, 417, 421, 431, 501, 503, 505}) {
    EXPECT_NE(ReasonPhrase(ProtocolProblem(status, "x").status), "Unknown") << status;
  }
  for (const int status : {200, 204, 206, 304}) {
    EXPECT_NE(ReasonPhrase(status), "Unknown") << status;
  }
}

}  // namespace
}  // namespace gopmill
