// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "privacy/consent/withdrawal.h"

#include <algorithm>
#include <optional>
#include <tuple>
#include <utility>

#include "base/reasons.h"
#include "base/status.h"
#include "privacy/limits.h"
#include "privacy/reasons.h"

namespace ruvd::privacy {
namespace {

constexpr std::string_view kMagic("RUVDLLM-WITHDRAW-v1\0", 20);

std::string EncodeFields(const Withdrawal& record) {
  ByteWriter writer;
  writer.WriteText(kMagic).WriteBytes(record.node).Write(record.withdrawn_ms);
  writer.Write(static_cast<uint8_t>(record.everything ? 1 : 0));
  writer.Write(static_cast<uint16_t>(record.items.size()));
  for (const Digest& item : record.items) {
    writer.WriteBytes(item);
  }
  writer.Write(static_cast<uint16_t>(record.patterns.size()));
  for (const Withdrawal::PatternName& pattern : record.patterns) {
    writer.WriteBytes(pattern);
  }
  return writer.Take();
}

absl::Status Invalid() {
  return Error(absl::StatusCode::kInvalidArgument, reasons::kWithdrawalInvalid,
               "a withdrawal does not decode; update the sending node");
}

template <typename Name>
bool Ascending(const std::vector<Name>& names) {
  return std::ranges::adjacent_find(names, std::ranges::greater_equal{}) == names.end();
}

// Returns whether the names are ascending and unique, and whether there are names exactly if the
// record does not withdraw everything.
bool WellFormed(const Withdrawal& record) {
  return record.withdrawn_ms >= 0 && Ascending(record.items) && Ascending(record.patterns) &&
         record.everything == (record.items.empty() && record.patterns.empty());
}

// Reads a count and that many names; returns nullopt if there are fewer.
template <typename Name>
std::optional<std::vector<Name>> ReadNames(ByteReader& reader) {
  const auto count = reader.Read<uint16_t>();
  if (!count || *count > limits::kMaxWithdrawnItems) {
    return std::nullopt;
  }
  std::vector<Name> names;
  for (int i = 0; i < *count; ++i) {
    const auto name = reader.ReadArray<std::tuple_size_v<Name>>();
    if (!name) {
      return std::nullopt;
    }
    names.push_back(*name);
  }
  return names;
}

}  // namespace

absl::StatusOr<Withdrawal> Withdrawal::Sign(std::vector<Digest> items, bool everything,
                                            int64_t now_ms, const NodeKey& key,
                                            std::vector<PatternName> patterns) {
  if (std::max(items.size(), patterns.size()) > limits::kMaxWithdrawnItems) {
    return Error(absl::StatusCode::kInvalidArgument, reasons::kLimitExceeded,
                 "a withdrawal has {} items and {} patterns, more than the limit of {}; make "
                 "several withdrawals",
                 items.size(), patterns.size(), limits::kMaxWithdrawnItems);
  }
  std::ranges::sort(items);
  std::ranges::sort(patterns);
  Withdrawal record{.node = key.id(),
                    .withdrawn_ms = now_ms,
                    .everything = everything,
                    .items = std::move(items),
                    .patterns = std::move(patterns)};
  if (!WellFormed(record)) {
    return Error(absl::StatusCode::kInvalidArgument, reasons::kInvalidArgument,
                 "a withdrawal must name either everything or some items and patterns, each once; "
                 "correct the request");
  }
  record.signature = key.Sign(AsBytes(EncodeFields(record)));
  return record;
}

std::string Withdrawal::Encode() const {
  return EncodeFields(*this).append(AsText(signature));
}

absl::StatusOr<Withdrawal> Withdrawal::Parse(std::span<const uint8_t> bytes) {
  ByteReader reader(bytes);
  const auto magic = reader.ReadBytes(kMagic.size());
  const auto node = reader.ReadArray<32>();
  const auto withdrawn = reader.Read<int64_t>();
  const auto everything = reader.Read<uint8_t>();
  if (reader.failed() || *everything > 1 || AsText(*magic) != kMagic) {
    return Invalid();
  }
  auto items = ReadNames<Digest>(reader);
  auto patterns = ReadNames<PatternName>(reader);
  const auto signature = reader.ReadArray<64>();
  if (!items || !patterns || reader.failed() || reader.remaining() != 0) {
    return Invalid();
  }
  Withdrawal record{.node = *node,
                    .withdrawn_ms = *withdrawn,
                    .everything = *everything == 1,
                    .items = *std::move(items),
                    .patterns = *std::move(patterns),
                    .signature = *signature};
  return WellFormed(record) ? absl::StatusOr<Withdrawal>(std::move(record)) : Invalid();
}

absl::Status Withdrawal::Verify(const PublicKey& key) const {
  if (!VerifySignature(key, AsBytes(EncodeFields(*this)), signature)) {
    return Error(absl::StatusCode::kPermissionDenied, reasons::kSignatureInvalid,
                 "a withdrawal is not signed by the node that it names; it has no effect");
  }
  return absl::OkStatus();
}

absl::Status Withdrawal::Resign(const NodeKey& key) {
  const std::string fields = EncodeFields(*this);
  if (!key.HasSigned(AsBytes(fields), signature)) {
    return Verify(key.public_key());
  }
  signature = key.Sign(AsBytes(fields));
  return absl::OkStatus();
}

bool Withdrawal::Covers(const Digest& item, const NodeId& origin, int64_t created_ms) const {
  return origin == node &&
         (everything ? created_ms <= withdrawn_ms : std::ranges::binary_search(items, item));
}

bool Withdrawal::CoversPattern(const PatternName& pattern, const NodeId& origin,
                               int64_t created_ms) const {
  return origin == node && created_ms <= withdrawn_ms &&
         (everything || std::ranges::binary_search(patterns, pattern));
}

bool Withdrawal::Includes(const Withdrawal& other) const {
  if (other.node != node || other.withdrawn_ms > withdrawn_ms || other.everything != everything) {
    return false;
  }
  return std::ranges::includes(items, other.items) &&
         std::ranges::includes(patterns, other.patterns);
}

std::string ResidualStatement(const ResidualPrivacy& residual) {
  if (residual.releases == 0 && !residual.plain) {
    return "Nothing was released, so nothing remains on other nodes.";
  }
  std::string said;
  if (residual.releases > 0) {
    said = fmt::format(
        "{} noised release(s) left this node or may have left it. Other nodes are asked to drop "
        "them and cannot be forced to. A node that keeps them learns at most what differential "
        "privacy of epsilon {:.3f} at delta {:.1e} allows, which was spent before and is not given "
        "back.",
        residual.releases, residual.epsilon, residual.delta);
  }
  if (residual.releases > 0 && residual.sums) {
    said += " A masked sum that contains this node's share stays as it is.";
  }
  if (residual.plain) {
    said += fmt::format(
        "{}Plain items left this node or may have left it. Other nodes are asked to drop them and "
        "cannot be forced to, and no epsilon bounds what these items reveal.",
        said.empty() ? "" : " ");
  }
  return said;
}

}  // namespace ruvd::privacy
