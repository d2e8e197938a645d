// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/bytes.h"
#include "federation/daf/core_delta.h"

namespace ruvd::federation {

// The factor of y += U C D x that an update holds; the frame fixes the other factors.
enum class FactorKind : uint8_t {
  kCore = 1,  // R, rank x rank (Fed-SB, arXiv 2502.15436)
  kFfa = 2,   // B, out x rank (FFA-LoRA, arXiv 2403.12313)
};

// What the sender trained on: the share of its maskings whose masked share t was in (i/10,
// (i+1)/10]. Shares are whole numbers, so that equal schedules are equal bytes. They add up to
// kScheduleUnit, or are all zero if the sender does not report them.
inline constexpr size_t kScheduleBins = 10;
inline constexpr uint16_t kScheduleUnit = 65'535;
using TimestepHistogram = std::array<uint16_t, kScheduleBins>;

// Returns the histogram of counts of maskings by tenth of t, rounded by largest remainders; zeros
// if there were no maskings.
TimestepHistogram HistogramOf(const std::array<uint64_t, kScheduleBins>& counts);

struct ModuleShape {
  std::string target;  // base tensor name, e.g. blk.7.attn_output.weight
  uint32_t rows = 0;
  uint32_t columns = 0;

  size_t values() const { return size_t{rows} * columns; }
  bool operator==(const ModuleShape&) const = default;
};

// The values of one bank: every module of the layout in order, each row major.
struct BankValues {
  uint32_t bank = 0;
  std::vector<float> values;

  bool operator==(const BankValues&) const = default;
};

// What a node's training changed since the global adapter of a round, bank by bank. An adapter with
// a trunk adds the trunk to every bank, which is exact in one frame. A bank that was not trained is
// absent. docs/wire-format.md has the bytes.
struct AdapterUpdate {
  FactorKind kind = FactorKind::kCore;
  Digest model_hash{};
  Digest frame_id{};
  uint64_t round = 0;     // round of the global adapter that training began from
  uint64_t examples = 0;  // claimed by the sender: shown, never used as a weight
  TimestepHistogram schedule{};
  // Bank k is the range [boundaries[k - 1], boundaries[k]) of t, with 0 before the first and 1
  // after the last boundary. Ascending, within (0, 1); nodes may have different boundaries
  std::vector<float> boundaries;
  std::vector<ModuleShape> modules;  // sorted by target, each once
  std::vector<BankValues> banks;     // sorted by bank, each once; at least one

  size_t values_per_bank() const;
  bool operator==(const AdapterUpdate&) const = default;
};

// The required shape of an update. The node derives it from its model and frame.
struct AdapterUpdateRules {
  FactorKind kind = FactorKind::kCore;
  Digest model_hash{};
  Digest frame_id{};
  std::vector<ModuleShape> modules;  // sorted by target
  // Largest L2 norm over all banks together, so a single clip norm covers all banks
  double max_norm = 16.0;
};

// Returns the rules of updates with the cores of `rules` as modules, for a model and a frame.
AdapterUpdateRules BankedRules(const UpdateRules& rules, const Digest& model_hash,
                               const Digest& frame_id);

// Returns the L2 norm over all values of all banks, summed in double in order.
double NormOf(const AdapterUpdate& update);

// Returns MODEL_MISMATCH, FRAME_MISMATCH, or UPDATE_INVALID for another kind or shape, a value that
// is not finite, or a norm above the bound; the message says which.
absl::Status CheckAdapterUpdate(const AdapterUpdate& update, const AdapterUpdateRules& rules);

// Encodes an update, which must have the order and sizes documented above.
std::string EncodeAdapterUpdate(const AdapterUpdate& update);
// Decodes an update; UPDATE_INVALID for bytes that are not exactly one encoding, and for values
// that are not finite. Sizes are checked against the limits and the available bytes before memory
// is allocated, which stays below twice the size of the input plus 64 bytes per module.
absl::StatusOr<AdapterUpdate> DecodeAdapterUpdate(std::span<const uint8_t> bytes);

}  // namespace ruvd::federation
