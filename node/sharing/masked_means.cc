// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "node/sharing/masked_means.h"

#include <algorithm>
#include <filesystem>
#include <functional>
#include <string_view>
#include <system_error>
#include <tuple>
#include <utility>

#include "base/bytes.h"
#include "base/file.h"
#include "base/reasons.h"
#include "base/status.h"
#include "node/limits.h"
#include "privacy/limits.h"
#include "storage/db/column_family.h"

namespace ruvd::sharing {
namespace {

constexpr std::string_view kMaskedMeansMagic = "RVMM";
constexpr uint32_t kMaskedMeansFormat = 1;

privacy::SealContext MaskedMeansContext() {
  return {.column_family = static_cast<uint32_t>(storage::ColumnFamily::kChange),
          .key = "masked-means",
          .schema = kMaskedMeansFormat};
}

absl::Status NoMaskedMeans() {
  return Error(absl::StatusCode::kInvalidArgument, reasons::kInvalidArgument,
               "the saved masked sums are damaged; the next rounds bring new ones");
}

bool ShareAMember(const MaskedMean& a, const MaskedMean& b) {
  return std::ranges::any_of(a.members, [&b](const privacy::NodeId& id) {
    return std::ranges::binary_search(b.members, id);
  });
}

// Reads a mean without its update, which follows; false if the bytes are invalid.
bool ReadMembers(ByteReader& in, MaskedMean* mean) {
  mean->name = in.ReadArray<32>().value_or(privacy::NodeId{});
  mean->round = in.Read<uint64_t>().value_or(0);
  mean->expires_ms = in.Read<int64_t>().value_or(0);
  const size_t members = in.Read<uint8_t>().value_or(0);
  for (size_t i = 0; i < members && !in.failed(); ++i) {
    mean->members.push_back(in.ReadArray<32>().value_or(privacy::NodeId{}));
  }
  return !in.failed() && members >= limits::kMinCliqueMembers &&
         members <= limits::kMaxCliqueMembers &&
         std::ranges::adjacent_find(mean->members, std::greater_equal<>()) == mean->members.end();
}

absl::StatusOr<MaskedMean> ReadMean(ByteReader& in) {
  MaskedMean mean;
  if (!ReadMembers(in, &mean)) {
    return NoMaskedMeans();
  }
  const auto update = in.ReadBytes(in.Read<uint32_t>().value_or(0));
  if (!update) {
    return NoMaskedMeans();
  }
  ASSIGN_OR_RETURN(mean.update, federation::DecodeAdapterUpdate(*update));
  const uint32_t patterns = in.Read<uint32_t>().value_or(0);
  for (uint32_t i = 0; i < patterns && !in.failed(); ++i) {
    const auto id = in.ReadArray<16>();
    mean.own[id.value_or(storage::PatternId{})] = in.Read<int64_t>().value_or(0);
  }
  return in.failed() || mean.own.size() != patterns ? NoMaskedMeans()
                                                    : absl::StatusOr<MaskedMean>(std::move(mean));
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

bool MaskedMeans::RemoveThoseOf(const privacy::NodeId& member) {
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

std::string EncodeMaskedMeans(const MaskedMeanList& means) {
  ByteWriter out;
  out.WriteText(kMaskedMeansMagic).Write(kMaskedMeansFormat);
  out.Write(static_cast<uint32_t>(means.size()));
  for (const auto& mean : means) {
    out.WriteBytes(mean->name).Write(mean->round).Write(mean->expires_ms);
    out.Write(static_cast<uint8_t>(mean->members.size()));
    for (const privacy::NodeId& id : mean->members) {
      out.WriteBytes(id);
    }
    const std::string update = federation::EncodeAdapterUpdate(mean->update);
    out.Write(static_cast<uint32_t>(update.size())).WriteText(update);
    out.Write(static_cast<uint32_t>(mean->own.size()));
    for (const auto& [id, updated_ms] : mean->own) {
      out.WriteBytes(id).Write(updated_ms);
    }
  }
  return out.Take();
}

absl::StatusOr<std::vector<MaskedMean>> DecodeMaskedMeans(std::span<const uint8_t> bytes) {
  ByteReader in(bytes);
  const auto magic = in.ReadBytes(kMaskedMeansMagic.size());
  if (!magic || AsText(*magic) != kMaskedMeansMagic || in.Read<uint32_t>() != kMaskedMeansFormat) {
    return NoMaskedMeans();
  }
  const uint32_t count = in.Read<uint32_t>().value_or(0);
  if (in.failed() || count > limits::kMaxMaskedMeans) {
    return NoMaskedMeans();
  }
  std::vector<MaskedMean> means;
  for (uint32_t i = 0; i < count; ++i) {
    ASSIGN_OR_RETURN(means.emplace_back(), ReadMean(in));
  }
  return in.remaining() == 0 ? absl::StatusOr<std::vector<MaskedMean>>(std::move(means))
                             : NoMaskedMeans();
}

absl::StatusOr<std::vector<MaskedMean>> MaskedMeansFile::Load() const {
  std::error_code error;
  if (!key_ || !std::filesystem::exists(path_, error)) {
    return std::vector<MaskedMean>();
  }
  ASSIGN_OR_RETURN(const std::string sealed,
                   ReadFile(path_, limits::kMaxMaskedMeansBytes + privacy::kSealOverheadBytes));
  ASSIGN_OR_RETURN(const std::string bytes, key_->Open(MaskedMeansContext(), sealed));
  return DecodeMaskedMeans(AsBytes(bytes));
}

absl::Status MaskedMeansFile::Keep(const MaskedMeanList& means) const {
  if (!key_) {
    return absl::OkStatus();
  }
  const std::string bytes = EncodeMaskedMeans(means);
  if (bytes.size() > limits::kMaxMaskedMeansBytes) {
    return Error(absl::StatusCode::kResourceExhausted, reasons::kLimitExceeded,
                 "the masked sums have {} bytes, but at most {} can be saved; lower "
                 "federation.core_rank or experimental.banks",
                 bytes.size(), limits::kMaxMaskedMeansBytes);
  }
  return WriteFileAtomically(path_, key_->Seal(MaskedMeansContext(), bytes), 0600);
}

}  // namespace ruvd::sharing
