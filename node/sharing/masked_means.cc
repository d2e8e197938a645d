// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "node/sharing/masked_means.h"

#include <algorithm>
#include <functional>
#include <string>
#include <tuple>
#include <utility>

#include "base/bytes.h"
#include "base/reasons.h"
#include "base/status.h"
#include "node/limits.h"
#include "privacy/limits.h"
#include "ruvd/storage/v1/state.pb.h"
#include "storage/state/number_bytes.h"

namespace ruvd::sharing {
namespace {

absl::Status NoMaskedMeans() {
  return Error(absl::StatusCode::kInvalidArgument, reasons::kInvalidArgument,
               "the saved masked sums are damaged; the next rounds bring new ones");
}

bool ShareAMember(const MaskedMean& a, const MaskedMean& b) {
  return std::ranges::any_of(a.members, [&b](const privacy::NodeId& id) {
    return std::ranges::binary_search(b.members, id);
  });
}

// Reads name and members; returns false if they cannot be used.
bool ReadMembers(const storage::v1::MaskedMean& stored, MaskedMean* mean) {
  const auto members = static_cast<size_t>(stored.members_size());
  if (!storage::CopyTo(stored.name(), &mean->name) || members < limits::kMinCliqueMembers ||
      members > limits::kMaxCliqueMembers) {
    return false;
  }
  for (const std::string& id : stored.members()) {
    if (!storage::CopyTo(id, &mean->members.emplace_back())) {
      return false;
    }
  }
  return std::ranges::adjacent_find(mean->members, std::greater_equal<>()) == mean->members.end();
}

absl::StatusOr<MaskedMean> MeanFromStored(const storage::v1::MaskedMean& stored) {
  MaskedMean mean{.round = stored.round(), .expires_ms = stored.expires_ms(), .members = {}};
  if (!ReadMembers(stored, &mean)) {
    return NoMaskedMeans();
  }
  ASSIGN_OR_RETURN(mean.update, federation::DecodeAdapterUpdate(AsBytes(stored.update())));
  for (const storage::v1::OwnPatternInMean& own : stored.own()) {
    storage::PatternId id;
    if (!storage::CopyTo(own.pattern_id(), &id) || !mean.own.emplace(id, own.updated_ms()).second) {
      return NoMaskedMeans();
    }
  }
  return mean;
}

}  // namespace

bool MaskedMeans::Add(MaskedMean mean) {
  if (std::ranges::any_of(means_, [&mean](const auto& known) {
        return known->name == mean.name ||
               (known->round >= mean.round && ShareAMember(*known, mean));
      })) {
    return false;
  }
  std::erase_if(means_, [&mean](const auto& known) { return ShareAMember(*known, mean); });
  means_.push_back(std::make_shared<const MaskedMean>(std::move(mean)));
  std::ranges::sort(means_, [](const auto& a, const auto& b) {
    return std::tie(a->round, a->name) < std::tie(b->round, b->name);
  });
  if (means_.size() > limits::kMaxMaskedMeans) {
    means_.erase(means_.begin());
  }
  return true;
}

bool MaskedMeans::Expire(int64_t now_ms) {
  return std::erase_if(means_, [now_ms](const auto& mean) { return mean->expires_ms <= now_ms; }) >
         0;
}

bool MaskedMeans::RemoveMember(const privacy::NodeId& member) {
  return std::erase_if(means_, [&member](const auto& mean) {
           return std::ranges::binary_search(mean->members, member);
         }) > 0;
}

const MaskedMean* MaskedMeans::Of(const privacy::NodeId& member) const {
  const auto found = std::ranges::find_if(means_, [&member](const auto& mean) {
    return std::ranges::binary_search(mean->members, member);
  });
  return found == means_.end() ? nullptr : found->get();
}

storage::v1::MaskedMeans ToStored(const MaskedMeanList& means) {
  storage::v1::MaskedMeans stored;
  for (const auto& mean : means) {
    storage::v1::MaskedMean* const one = stored.add_means();
    one->set_name(std::string(AsText(mean->name)));
    one->set_round(mean->round);
    one->set_expires_ms(mean->expires_ms);
    for (const privacy::NodeId& id : mean->members) {
      one->add_members(std::string(AsText(id)));
    }
    one->set_update(federation::EncodeAdapterUpdate(mean->update));
    for (const auto& [id, updated_ms] : mean->own) {
      storage::v1::OwnPatternInMean* const own = one->add_own();
      own->set_pattern_id(std::string(AsText(id)));
      own->set_updated_ms(updated_ms);
    }
  }
  return stored;
}

absl::StatusOr<std::vector<MaskedMean>> FromStored(const storage::v1::MaskedMeans& stored) {
  if (static_cast<size_t>(stored.means_size()) > limits::kMaxMaskedMeans) {
    return NoMaskedMeans();
  }
  std::vector<MaskedMean> means;
  for (const storage::v1::MaskedMean& one : stored.means()) {
    ASSIGN_OR_RETURN(means.emplace_back(), MeanFromStored(one));
  }
  return means;
}

absl::StatusOr<std::vector<MaskedMean>> LoadMaskedMeans(const storage::StateStore& state) {
  ASSIGN_OR_RETURN(const auto stored, state.Get(storage::state::MaskedMeans()));
  return stored ? FromStored(*stored) : std::vector<MaskedMean>();
}

absl::Status StoreMaskedMeans(storage::StateStore& state, const MaskedMeanList& means) {
  const storage::v1::MaskedMeans stored = ToStored(means);
  if (stored.ByteSizeLong() > limits::kMaxMaskedMeansBytes) {
    return Error(absl::StatusCode::kResourceExhausted, reasons::kLimitExceeded,
                 "the masked sums have {} bytes, but at most {} can be saved; lower "
                 "federation.core_rank or experimental.banks",
                 stored.ByteSizeLong(), limits::kMaxMaskedMeansBytes);
  }
  return state.Put(storage::state::MaskedMeans(), stored);
}

}  // namespace ruvd::sharing
