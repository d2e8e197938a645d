// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <string>

#include "base/bytes.h"

namespace ruvd::storage {

// What the model computed when it read a lesson for the token memory, kept so that a start need not
// read the lesson again. It holds the lesson's tokens, so it is as private as the lesson itself.
struct ObservedLesson {
  std::string name;     // of the lesson; 1 to limits::kMaxObservedNameBytes bytes
  std::string user_id;  // whose key seals the row; empty: the key of the column family
  Digest made_by{};     // what decides the runs besides the lesson: model and parameters
  Digest source{};      // of what the lesson teaches; changes with a correction
  // Runs as inference/memory writes them, opaque here; empty: not observed in this way
  std::string masked;
  std::string causal;
  bool operator==(const ObservedLesson&) const = default;
};

}  // namespace ruvd::storage
