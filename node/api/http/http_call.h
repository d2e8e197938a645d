// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "base/executor.h"
#include "node/api/callers.h"
#include "node/api/services.h"
#include "node/http/exchange.h"

namespace ruvd::api {

// Whether a part of the node works, as probes hear it.
struct HttpHealth {
  bool is_draining = false;
  struct Part {
    std::string name;
    std::string problem;  // empty: it works
  };
  std::vector<Part> parts;
};

// One request on its way to an actor.
struct HttpCall {
  const ServiceDependencies& node;  // outlives the call
  Executor& requests;               // where handlers run; outlives the call
  std::string id;                   // what the path names; empty: nothing
  std::shared_ptr<const AdmittedCall> admitted;
  std::string body;
  std::shared_ptr<http::Exchange> exchange;

  // Answers with an error.
  void Fail(const absl::Status& status) const;
  // Answers with JSON.
  void Answer(std::string json) const;
};

// Puts the name that a request over HTTP has for a field in place of the one that a message has.
absl::Status WithHttpField(absl::Status status);

// The handlers of the routes. Each runs on an executor, reads the body, calls an actor, and answers
// from the actor's callback.
void ServeModels(const HttpCall& call);
void ServeModel(const HttpCall& call);
void ServeChat(const HttpCall& call);
void ServeCompletion(const HttpCall& call);
void ServeEmbeddings(const HttpCall& call);
void ServeFeedback(const HttpCall& call);

}  // namespace ruvd::api
