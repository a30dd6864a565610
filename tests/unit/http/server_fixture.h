// SPDX-License-Identifier: Apache-2.0
//
// A server on a free loopback port over a FakeService. Tests that need other limits change
// `options` and call Start themselves.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <utility>

#include "server/http/http_server.h"
#include "tests/unit/http/fake_service.h"
#include "tests/unit/http/raw_client.h"

namespace gopmill {

class ServerFixture : public testing::Test {
 protected:
  ServerFixture() { options.port = 0; }

  void Start() {
    auto started = HttpServer::Start(options, service);
    ASSERT_TRUE(started.ok());
    server = *std::move(started);
  }
  [[nodiscard]] int port() const { return server->port(); }

  // Waits until the statistics satisfy `condition`; false after ten seconds.
  template <class Condition>
  bool AwaitStats(Condition condition) {
    const TimePoint deadline = SteadyNow() + std::chrono::seconds(10);
    while (!condition(server->stats())) {
      if (SteadyNow() > deadline) return false;
      std::this_thread::yield();
    }
    return true;
  }

  HttpOptions options;
  FakeService service;  // outlives the server
  std::unique_ptr<HttpServer> server;
};

// With default limits, running.
class RunningServer : public ServerFixture {
 protected:
  void SetUp() override { Start(); }
};

// The body as JSON; a discarded value if it is not.
inline nlohmann::json ParseJson(const RawResponse& response) {
  return nlohmann::json::parse(response.body, nullptr, false);
}

}  // namespace gopmill
