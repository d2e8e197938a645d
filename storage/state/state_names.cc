// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "storage/state/state_names.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/reasons.h"
#include "base/sanitize_for_display.h"
#include "base/status.h"
#include "ruvd/storage/v1/state.pb.h"
#include "storage/row_text.h"

namespace ruvd::storage::state {
namespace {

constexpr std::string_view kClusterRounds = "cluster-rounds";
constexpr std::string_view kDeepCheckpoint = "deep-checkpoint";
constexpr std::string_view kDeepSchedule = "deep-schedule";
constexpr std::string_view kEquivocationProofs = "equivocation-proofs";
constexpr std::string_view kErasures = "erasures";
constexpr std::string_view kPeerScores = "peer-scores";
constexpr std::string_view kRouterTraining = "router-training";

template <typename Message>
absl::Status Check(std::string_view bytes) {
  return ParseRow<Message>(bytes, "this value of the state").status();
}

// A name, or the beginning of names if it ends in '/', and the check of their values.
struct Kind {
  std::string_view name;
  absl::Status (*check)(std::string_view bytes);
};
constexpr std::array<Kind, 10> kKinds = {{{kClusterRounds, Check<v1::ClusterRounds>},
                                          {kDeepCheckpoint, Check<v1::DeepCheckpoint>},
                                          {kDeepMemories, Check<v1::DeepMemory>},
                                          {kDeepSchedule, Check<v1::DeepSchedule>},
                                          {kEquivocationProofs, Check<v1::EquivocationProofs>},
                                          {kErasures, Check<v1::ErasureNotes>},
                                          {kLearnedAdapters, Check<v1::LearnedAdapter>},
                                          {kPeerScores, Check<v1::PeerScores>},
                                          {kRouters, Check<v1::StoredRouter>},
                                          {kRouterTraining, Check<v1::RouterTrainingState>}}};

}  // namespace

StateName<v1::ClusterRounds> ClusterRounds() {
  return {std::string(kClusterRounds)};
}
StateName<v1::DeepCheckpoint> DeepCheckpoint() {
  return {std::string(kDeepCheckpoint)};
}
StateName<v1::DeepMemory> DeepMemory(uint32_t version) {
  return {fmt::format("{}{}", kDeepMemories, version)};
}
StateName<v1::DeepSchedule> DeepSchedule() {
  return {std::string(kDeepSchedule)};
}
StateName<v1::EquivocationProofs> EquivocationProofs() {
  return {std::string(kEquivocationProofs)};
}
StateName<v1::ErasureNotes> Erasures() {
  return {std::string(kErasures)};
}
StateName<v1::LearnedAdapter> LearnedAdapter(std::string_view name, uint32_t version) {
  return {fmt::format("{}{}-{}", kLearnedAdapters, name, version)};
}
StateName<v1::PeerScores> PeerScores() {
  return {std::string(kPeerScores)};
}
StateName<v1::RouterTrainingState> RouterTrainingState() {
  return {std::string(kRouterTraining)};
}
StateName<v1::StoredRouter> StoredRouter(uint32_t version) {
  return {fmt::format("{}{}", kRouters, version)};
}

absl::Status CheckValue(std::string_view name, std::string_view bytes) {
  const auto* const kind = std::ranges::find_if(kKinds, [name](const Kind& one) {
    return one.name.ends_with('/') ? name.starts_with(one.name) : name == one.name;
  });
  if (kind == kKinds.end()) {
    return Error(absl::StatusCode::kDataLoss, reasons::kStoreCorrupt,
                 "no value of the state is called {}; restore the store from a backup",
                 SanitizeForDisplay(name));
  }
  return kind->check(bytes);
}

}  // namespace ruvd::storage::state
