// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/status/status.h"
#include "node/runtime/actor_system.h"

namespace ruvd::runtime::actor_test {

// An actor that records what reaches it, and fails on request.
struct Note {
  int sender = 0;
  int number = 0;
};
struct Crash {
  int times = 1'000'000;  // how many deliveries fail before one succeeds
  bool by_exception = false;
};
struct Get {
  ReplyTo<std::vector<int>> reply;
};
struct Forget {  // a question that is never answered
  ReplyTo<int> reply;
};
struct Do {
  std::function<absl::Status(ActorContext<std::variant<Note, Crash, Get, Forget, Do>>&)> what;
};
using Msg = std::variant<Note, Crash, Get, Forget, Do>;

// Outlives the actor's restarts.
struct Log {
  std::vector<Note> notes;
  int starts = 0;
  int stops = 0;
  int built = 0;
};

class Recorder final : public Actor<Msg> {
 public:
  explicit Recorder(Log& log) : log_(log) { ++log_.built; }

  absl::Status OnStart(Context&) override {
    ++log_.starts;
    return absl::OkStatus();
  }
  absl::Status OnStop(Context&) override {
    ++log_.stops;
    return absl::OkStatus();
  }
  absl::Status On(Note& message, Context&) override {
    log_.notes.push_back(message);
    seen_.push_back(message.number);
    return absl::OkStatus();
  }
  absl::Status On(Crash& message, Context&) override {
    if (message.times-- <= 0) {
      return absl::OkStatus();
    }
    if (message.by_exception) {
      throw std::runtime_error("bad luck");
    }
    return absl::InternalError("asked to crash");
  }
  absl::Status On(Get& message, Context&) override {
    message.reply.Send(seen_);
    return absl::OkStatus();
  }
  absl::Status On(Forget&, Context&) override { return absl::OkStatus(); }
  absl::Status On(Do& message, Context& context) override { return message.what(context); }

 private:
  Log& log_;
  std::vector<int> seen_;  // of this life only
};

inline Ref<Msg> SpawnRecorder(ActorSystem& system, Log& log, SpawnOptions<Msg> options = {}) {
  if (options.name.empty()) {
    options.name = "recorder";
  }
  return system.Spawn<Msg>(std::move(options), [&log] { return std::make_unique<Recorder>(log); });
}

inline std::vector<int> Numbers(const Log& log) {
  std::vector<int> numbers;
  for (const Note& note : log.notes) {
    numbers.push_back(note.number);
  }
  return numbers;
}

}  // namespace ruvd::runtime::actor_test
