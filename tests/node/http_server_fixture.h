// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/mutex.h"
#include "node/http/server.h"
#include "tests/node/http_caller.h"
#include "tests/node/wait_until.h"

namespace ruvd::http {

inline constexpr transport::ConnectionLimits kTestConnections = {
    .connections = 256,
    .unproven = 128,
    .unproven_of_source = 128,
    .unproven_life = std::chrono::seconds(60),
    .unproven_bytes = 8 << 20,
    .unproven_buffer = 1 << 16,
    .opened_per_second = 1'000,
    .opened_burst = 10'000};

// A server with three routes: /echo answers with the body at once, /later keeps the exchange for
// the test, and /no is refused.
class HttpServerTest : public ::testing::Test {
 protected:
  ~HttpServerTest() override {
    if (server_ != nullptr) {
      server_->Shutdown(Duration(0));
    }
  }
  ServerOptions Options() {
    ServerOptions options{.listen = "127.0.0.1:0", .connections = kTestConnections};
    options.admit = [this](const RequestHead& head) { return Admit(head); };
    options.refuse = [](std::string_view, int status, std::string_view message) {
      return Answer{.status = status,
                    .content_type = kTextType,
                    .body = "refused: " + std::string(message),
                    .fields = {}};
    };
    options.on_answered = [this](std::string_view name, int status, double) {
      const MutexLock lock(mutex_);
      answered_.emplace_back(std::string(name), status);
    };
    return options;
  }
  void Start(ServerOptions options) {
    auto server = Server::Open(std::move(options), SystemClock());
    ASSERT_TRUE(server.ok()) << server.status();
    server_ = *std::move(server);
    server_->Accept();
  }
  Verdict Admit(const RequestHead& head) {
    if (head.path == "/echo") {
      return Admitted{.name = "/echo",
                      .most_body_bytes = 100'000,
                      .proves = true,
                      .handle = [](std::string body, std::shared_ptr<Exchange> exchange) {
                        exchange->Respond({.content_type = kTextType, .body = std::move(body)});
                      }};
    }
    if (head.path == "/later") {
      return Admitted{.name = "/later",
                      .most_body_bytes = 1000,
                      .proves = true,
                      .handle = [this](std::string, std::shared_ptr<Exchange> exchange) {
                        const MutexLock lock(mutex_);
                        kept_.push_back(std::move(exchange));
                      }};
    }
    return Refused{.name = "other", .answer = {.status = 404, .body = "{}"}};
  }
  // Waits for the next exchange of /later.
  std::shared_ptr<Exchange> Kept() {
    std::shared_ptr<Exchange> exchange;
    EXPECT_TRUE(test::WaitUntil([&] {
      const MutexLock lock(mutex_);
      if (!kept_.empty()) {
        exchange = std::move(kept_.front());
        kept_.erase(kept_.begin());
      }
      return exchange != nullptr;
    }));
    return exchange;
  }
  // Returns the route and the status of every answer so far.
  std::vector<std::pair<std::string, int>> Answered() {
    const MutexLock lock(mutex_);
    return answered_;
  }
  uint64_t Ended(RequestEnd end) const { return server_->counts().ended[static_cast<size_t>(end)]; }
  std::unique_ptr<test::HttpCaller> Call(bool tls = false) const {
    return std::make_unique<test::HttpCaller>(server_->address(), tls);
  }

  std::unique_ptr<Server> server_;
  Mutex mutex_;
  std::vector<std::shared_ptr<Exchange>> kept_ ABSL_GUARDED_BY(mutex_);
  std::vector<std::pair<std::string, int>> answered_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace ruvd::http
