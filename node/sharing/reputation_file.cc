// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "node/sharing/reputation_file.h"

#include <filesystem>
#include <string_view>
#include <system_error>

#include "base/bytes.h"
#include "base/file.h"
#include "base/reasons.h"
#include "base/status.h"
#include "federation/limits.h"
#include "storage/db/column_family.h"

namespace ruvd::sharing {
namespace {

constexpr std::string_view kReputationMagic = "RVRP";
constexpr uint32_t kReputationFormat = 1;
constexpr size_t kReputationHeadBytes = 12;
constexpr size_t kReputationBytes = 2 * 32 + 4 * sizeof(double);
constexpr size_t kMaxReputationBytes =
    kReputationHeadBytes + limits::kMaxMembers * kReputationBytes;

privacy::SealContext ReputationContext() {
  return {.column_family = static_cast<uint32_t>(storage::ColumnFamily::kChange),
          .key = "reputations",
          .schema = kReputationFormat};
}

absl::Status NoReputations() {
  return Error(absl::StatusCode::kInvalidArgument, reasons::kInvalidArgument,
               "the saved verdicts on peers are damaged; peers are measured again");
}

}  // namespace

std::string EncodeReputations(std::span<const federation::ReputationTable::Known> known) {
  ByteWriter out;
  out.WriteText(kReputationMagic).Write(kReputationFormat);
  out.Write(static_cast<uint32_t>(known.size()));
  for (const federation::ReputationTable::Known& one : known) {
    out.WriteBytes(one.peer).Write(one.helped).Write(one.harmed);
    out.WriteBytes(one.last).Write(one.last_helped).Write(one.last_harmed);
  }
  return out.Take();
}

absl::StatusOr<std::vector<federation::ReputationTable::Known>> DecodeReputations(
    std::span<const uint8_t> bytes) {
  ByteReader in(bytes);
  const auto magic = in.ReadBytes(kReputationMagic.size());
  if (!magic || AsText(*magic) != kReputationMagic || in.Read<uint32_t>() != kReputationFormat) {
    return NoReputations();
  }
  const size_t count = in.Read<uint32_t>().value_or(0);
  if (in.failed() || in.remaining() != count * kReputationBytes) {
    return NoReputations();
  }
  std::vector<federation::ReputationTable::Known> known(count);
  for (federation::ReputationTable::Known& one : known) {
    one.peer = in.ReadArray<32>().value_or(privacy::NodeId{});
    one.helped = in.Read<double>().value_or(0);
    one.harmed = in.Read<double>().value_or(0);
    one.last = in.ReadArray<32>().value_or(Digest{});
    one.last_helped = in.Read<double>().value_or(0);
    one.last_harmed = in.Read<double>().value_or(0);
  }
  return known;
}

absl::StatusOr<std::vector<federation::ReputationTable::Known>> ReputationFile::Load() const {
  std::error_code error;
  if (!key_ || !std::filesystem::exists(path_, error)) {
    return std::vector<federation::ReputationTable::Known>();
  }
  ASSIGN_OR_RETURN(const std::string sealed,
                   ReadFile(path_, kMaxReputationBytes + privacy::kSealOverheadBytes));
  ASSIGN_OR_RETURN(const std::string bytes, key_->Open(ReputationContext(), sealed));
  return DecodeReputations(AsBytes(bytes));
}

absl::Status ReputationFile::Keep(std::span<const federation::ReputationTable::Known> known) const {
  return key_ ? WriteFileAtomically(path_,
                                    key_->Seal(ReputationContext(), EncodeReputations(known)), 0600)
              : absl::OkStatus();
}

}  // namespace ruvd::sharing
