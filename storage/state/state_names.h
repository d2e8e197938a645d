// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/status.h"

namespace ruvd::storage {

namespace v1 {
class ClusterRounds;
class DeepCheckpoint;
class DeepMemory;
class DeepSchedule;
class EquivocationProofs;
class ErasureNotes;
class LearnedAdapter;
class PeerScores;
class RouterTrainingState;
class StoredRouter;
}  // namespace v1

// The name of a value of the state, and the message that is stored under it.
template <typename Message>
struct StateName {
  std::string text;
};

// All names of the state. Names with a number or a text end in it.
namespace state {

inline constexpr std::string_view kDeepMemories = "deep-memory/";
inline constexpr std::string_view kLearnedAdapters = "learned-adapter/";
inline constexpr std::string_view kRouters = "router/";

StateName<v1::ClusterRounds> ClusterRounds();
StateName<v1::DeepCheckpoint> DeepCheckpoint();
StateName<v1::DeepMemory> DeepMemory(uint32_t version);
StateName<v1::DeepSchedule> DeepSchedule();
StateName<v1::EquivocationProofs> EquivocationProofs();
StateName<v1::ErasureNotes> Erasures();
StateName<v1::LearnedAdapter> LearnedAdapter(std::string_view name, uint32_t version);
StateName<v1::PeerScores> PeerScores();
StateName<v1::RouterTrainingState> RouterTrainingState();
StateName<v1::StoredRouter> StoredRouter(uint32_t version);

// Returns STORE_CORRUPT if `bytes` is not a message of the type that is stored under this name, or
// if the name is not one of the above.
absl::Status CheckValue(std::string_view name, std::string_view bytes);

}  // namespace state
}  // namespace ruvd::storage
