// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <memory>

#include "node/serving/extensions/request_router.h"
#include "node/serving/request_extension.h"

namespace ruvd::serving {

// Lets a router choose how a request is served, among the routes that the request leaves open, and
// records the choice with the trajectory. If the router's choice cannot be served, the request is
// served as asked.
class RouteChoice final : public RequestExtensionFactory {
 public:
  // `router` is borrowed.
  explicit RouteChoice(RequestRouter& router) : router_(router) {}

  std::unique_ptr<RequestExtension> Extend(const GenerationJob& job) override;

 private:
  RequestRouter& router_;
};

}  // namespace ruvd::serving
