// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

// This target feeds the compiler of JSON schemas. What a schema's grammar reads is JSON.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "inference/constrain/automaton.h"
#include "inference/constrain/grammar.h"
#include "inference/constrain/json_schema.h"
#include "inference/constrain/limits.h"

namespace {

using ruvd::inference::Automaton;

constexpr size_t kWalks = 3;
constexpr size_t kMostSteps = 600;

// Writes one text of a grammar: the first bytes as chance has it, then those that end it soon.
class Walk {
 public:
  Walk(const std::shared_ptr<const ruvd::inference::Grammar>& grammar, uint32_t seed)
      : automaton_(grammar), state_(automaton_.start()), random_(seed) {}

  // Returns whether the text has ended.
  bool Run(size_t free_steps) {
    for (size_t step = 0; step < kMostSteps; ++step) {
      if (automaton_.CanEnd(state_) && (step >= free_steps || !automaton_.CanGoOn(state_))) {
        return true;
      }
      const int byte = step < free_steps ? AnyByte() : EndingByte();
      if (byte < 0) {
        return false;  // rules are open as deep as an automaton follows them
      }
      text_ += static_cast<char>(byte);
      state_ = automaton_.Next(state_, static_cast<uint8_t>(byte));
      if (automaton_.bytes() > ruvd::limits::kMaxRememberedBytes) {
        state_ = automaton_.Forget(state_);
      }
    }
    return false;
  }

  const std::string& text() const { return text_; }

 private:
  bool MayRead(uint8_t byte) { return automaton_.Next(state_, byte) != Automaton::kDead; }

  // Returns the first byte that may follow from a random one on; -1 if no byte may.
  int AnyByte() {
    random_ = random_ * 1664525 + 1013904223;
    const uint32_t first = random_ >> 24;
    for (uint32_t i = 0; i < 256; ++i) {
      const auto byte = static_cast<uint8_t>(first + i);
      if (MayRead(byte)) {
        return byte;
      }
    }
    return -1;
  }

  int EndingByte() {
    // Where any character may follow, the text is inside a string.
    for (const char byte : std::string_view(MayRead('~') ? "\"~" : "}]\":,")) {
      if (MayRead(static_cast<uint8_t>(byte))) {
        return static_cast<uint8_t>(byte);
      }
    }
    for (int byte = '!'; byte < 256; ++byte) {
      if (MayRead(static_cast<uint8_t>(byte))) {
        return byte;
      }
    }
    return MayRead(' ') ? ' ' : -1;
  }

  Automaton automaton_;
  Automaton::State state_;
  uint32_t random_;
  std::string text_;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view schema(reinterpret_cast<const char*>(data), size);
  const auto grammar = ruvd::inference::GrammarOfJsonSchema(schema);
  if (!grammar.ok()) {
    RUVD_CHECK(grammar.status().code() == absl::StatusCode::kInvalidArgument);
    RUVD_CHECK(!ruvd::MessageOf(grammar.status()).empty());
    return 0;
  }
  for (size_t i = 0; i < kWalks; ++i) {
    Walk walk(*grammar, static_cast<uint32_t>(size + i));
    if (walk.Run(30 * i)) {
      RUVD_CHECK(nlohmann::json::accept(walk.text()));
      RUVD_CHECK(Matches(*grammar, walk.text()));
    }
  }
  return 0;
}
