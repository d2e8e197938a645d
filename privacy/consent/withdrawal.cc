// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "privacy/consent/withdrawal.h"

#include <algorithm>

#include "base/reasons.h"
#include "base/status.h"
#include "privacy/limits.h"
#include "privacy/reasons.h"

namespace ruvd {
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
  return writer.Take();
}

absl::Status Invalid() {
  return Error(absl::StatusCode::kInvalidArgument, reasons::kWithdrawalInvalid,
               "a withdrawal does not decode; update the sending node");
}

// Ascending, each once, and items exactly where not everything is meant.
bool WellFormed(const Withdrawal& record) {
  const bool ascending =
      std::ranges::adjacent_find(record.items, std::ranges::greater_equal{}) == record.items.end();
  return record.withdrawn_ms >= 0 && ascending && record.everything == record.items.empty();
}

}  // namespace

absl::StatusOr<Withdrawal> Withdrawal::Sign(std::vector<Digest> items, bool everything,
                                            int64_t now_ms, const NodeKey& key) {
  if (items.size() > limits::kMaxWithdrawnItems) {
    return Error(absl::StatusCode::kInvalidArgument, reasons::kLimitExceeded,
                 "a withdrawal of {} items, above {}; make several", items.size(),
                 limits::kMaxWithdrawnItems);
  }
  std::ranges::sort(items);
  Withdrawal record{.node = key.id(),
                    .withdrawn_ms = now_ms,
                    .everything = everything,
                    .items = std::move(items)};
  if (!WellFormed(record)) {
    return Error(absl::StatusCode::kInvalidArgument, reasons::kInvalidArgument,
                 "a withdrawal names items, each once, or everything");
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
  const auto count = reader.Read<uint16_t>();
  if (reader.failed() || AsText(*magic) != kMagic || *everything > 1 ||
      *count > limits::kMaxWithdrawnItems ||
      reader.remaining() != *count * sizeof(Digest) + sizeof(Signature)) {
    return Invalid();
  }
  Withdrawal record{
      .node = *node, .withdrawn_ms = *withdrawn, .everything = *everything == 1, .items = {}};
  for (int i = 0; i < *count; ++i) {
    record.items.push_back(*reader.ReadArray<32>());
  }
  record.signature = *reader.ReadArray<64>();
  return WellFormed(record) ? absl::StatusOr<Withdrawal>(std::move(record)) : Invalid();
}

absl::Status Withdrawal::Verify(const PublicKey& key) const {
  if (!VerifySignature(key, AsBytes(EncodeFields(*this)), signature)) {
    return Error(absl::StatusCode::kPermissionDenied, reasons::kSignatureInvalid,
                 "a withdrawal is not signed by the node that it is of; it has no effect");
  }
  return absl::OkStatus();
}

bool Withdrawal::Covers(const Digest& item, const NodeId& origin, int64_t created_ms) const {
  return origin == node &&
         (everything ? created_ms <= withdrawn_ms : std::ranges::binary_search(items, item));
}

std::string ResidualStatement(const ResidualPrivacy& residual) {
  if (residual.releases == 0) {
    return "Nothing was released, so nothing remains with others.";
  }
  return fmt::format(
      "{} release(s) left this node or may have left it. Others were asked to drop them and cannot "
      "be made to. Whoever keeps them learns about any one record at most what differential "
      "privacy of epsilon {:.3f} at delta {:.1e} allows; that does not grow any more.",
      residual.releases, residual.epsilon, residual.delta);
}

}  // namespace ruvd
