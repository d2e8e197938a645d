// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "federation/masked/messages.h"

#include <fmt/format.h>

#include "base/bytes.h"
#include "base/reasons.h"
#include "base/status.h"
#include "federation/limits.h"
#include "privacy/limits.h"

namespace ruvd::federation {
namespace {

// The number of the attempt, which precedes a message of privacy/masking.
constexpr uint64_t kAttemptBytes = 1;
constexpr uint64_t kKeyBytes = 2 + 8 + 32 + 32;
constexpr uint64_t kAnnouncementHeadBytes = 32 + 32 + 32 + 1;
constexpr uint64_t kMarkBytes = 32 + 8 + 8 + 1 + 1 + 1;
constexpr uint64_t kSetHeadBytes = 2 + 8 + 32 + 1;
constexpr uint64_t kCommitmentBytes = 2 + 8 + 3 * 32;
constexpr uint16_t kCommitmentVersion = 1;
constexpr uint64_t kSaltBytes = 32;
constexpr uint64_t kShareHeadBytes = 2 + 8 + 3 * 32 + 4;

static_assert(limits::kMaxLearnerMaskItemsPerOrigin ==
              limits::kMaxMaskAttempts * limits::kMaxContributionsPerOrigin);

std::string WithAttempt(uint8_t attempt, std::string message) {
  return ByteWriter().Write(attempt).WriteText(message).Take();
}

absl::StatusOr<uint8_t> AttemptOf(std::span<const uint8_t> bytes) {
  if (bytes.empty() || bytes[0] >= limits::kMaxMaskAttempts) {
    return Error(
        absl::StatusCode::kInvalidArgument, reasons::kUpdateInvalid,
        "an item of a masked round does not name an attempt below {}; update the sending node",
        limits::kMaxMaskAttempts);
  }
  return bytes[0];
}

absl::Status CheckNames(uint64_t named, uint64_t round, bool of_sender) {
  if (named == round && of_sender) {
    return absl::OkStatus();
  }
  return Error(absl::StatusCode::kInvalidArgument, reasons::kUpdateInvalid,
               "an item of a masked round names another round or sender than its envelope: {} "
               "instead of {}; update the sending node",
               named, round);
}

absl::Status InvalidAnnouncement(std::string_view what) {
  return Error(absl::StatusCode::kInvalidArgument, reasons::kUpdateInvalid,
               "a key of a masked round {}; update the sending node", what);
}

std::string EncodeAnnouncement(const MaskAnnouncement& announcement) {
  ByteWriter writer;
  writer.WriteBytes(announcement.pledge).WriteBytes(announcement.number);
  writer.WriteBytes(announcement.beacon);
  writer.Write(static_cast<uint8_t>(announcement.marks.size()));
  for (const ConductMark& mark : announcement.marks) {
    writer.WriteBytes(mark.member).Write(mark.round).Write(mark.out_until);
    writer.Write(mark.failures).Write(mark.withheld).Write(mark.sums);
  }
  return writer.Take();
}

absl::StatusOr<MaskAnnouncement> DecodeAnnouncement(std::span<const uint8_t> bytes) {
  if (bytes.size() < kAnnouncementHeadBytes) {
    return InvalidAnnouncement("ends early");
  }
  ByteReader reader(bytes);
  MaskAnnouncement announcement{.pledge = *reader.ReadArray<sizeof(Digest)>(),
                                .number = *reader.ReadArray<sizeof(Digest)>(),
                                .beacon = *reader.ReadArray<sizeof(Digest)>(),
                                .marks = {}};
  const size_t count = *reader.Read<uint8_t>();
  if (count > limits::kMaxConductMarks || reader.remaining() != count * kMarkBytes) {
    return InvalidAnnouncement(
        fmt::format("says that it has {} marks, which are not what it has, or more than {}", count,
                    limits::kMaxConductMarks));
  }
  announcement.marks.reserve(count);
  while (announcement.marks.size() < count) {
    ConductMark mark;
    mark.member = *reader.ReadArray<sizeof(privacy::NodeId)>();
    mark.round = *reader.Read<uint64_t>();
    mark.out_until = *reader.Read<uint64_t>();
    mark.failures = *reader.Read<uint8_t>();
    mark.withheld = *reader.Read<uint8_t>();
    mark.sums = *reader.Read<uint8_t>();
    if (!announcement.marks.empty() && announcement.marks.back().member >= mark.member) {
      return InvalidAnnouncement("marks members twice or out of order");
    }
    announcement.marks.push_back(mark);
  }
  return announcement;
}

}  // namespace

std::string EncodeMaskKey(const MaskKeyItem& item) {
  return WithAttempt(item.attempt, privacy::masking::EncodeOffer(item.offer)) +
         EncodeAnnouncement(item.announcement);
}

absl::StatusOr<MaskKeyItem> DecodeMaskKey(std::span<const uint8_t> bytes) {
  MaskKeyItem item;
  ASSIGN_OR_RETURN(item.attempt, AttemptOf(bytes));
  if (bytes.size() < kAttemptBytes + kKeyBytes) {
    return InvalidAnnouncement("ends early");
  }
  ASSIGN_OR_RETURN(item.offer,
                   privacy::masking::DecodeOffer(bytes.subspan(kAttemptBytes, kKeyBytes)));
  ASSIGN_OR_RETURN(item.announcement, DecodeAnnouncement(bytes.subspan(kAttemptBytes + kKeyBytes)));
  return item;
}

std::string EncodeMaskSet(const MaskSetItem& item) {
  return WithAttempt(item.attempt, privacy::masking::EncodeClique(item.clique));
}

absl::StatusOr<MaskSetItem> DecodeMaskSet(std::span<const uint8_t> bytes,
                                          const privacy::ClusterId& cluster) {
  MaskSetItem item;
  ASSIGN_OR_RETURN(item.attempt, AttemptOf(bytes));
  ASSIGN_OR_RETURN(item.clique,
                   privacy::masking::DecodeClique(bytes.subspan(kAttemptBytes), cluster));
  return item;
}

std::string EncodeMaskCommitment(const MaskCommitmentItem& item) {
  ByteWriter writer;
  writer.Write(kCommitmentVersion).Write(item.round).WriteBytes(item.set);
  writer.WriteBytes(item.layout).WriteBytes(item.share);
  return WithAttempt(item.attempt, writer.Take());
}

absl::StatusOr<MaskCommitmentItem> DecodeMaskCommitment(std::span<const uint8_t> bytes) {
  MaskCommitmentItem item;
  ASSIGN_OR_RETURN(item.attempt, AttemptOf(bytes));
  ByteReader reader(bytes.subspan(kAttemptBytes));
  if (reader.remaining() != kCommitmentBytes || reader.Read<uint16_t>() != kCommitmentVersion) {
    return Error(absl::StatusCode::kInvalidArgument, reasons::kUpdateInvalid,
                 "a commitment of a masked round has {} bytes or another version than {}, not {} "
                 "bytes; update the sending node",
                 bytes.size(), kCommitmentVersion, kAttemptBytes + kCommitmentBytes);
  }
  item.round = *reader.Read<uint64_t>();
  item.set = *reader.ReadArray<sizeof(Digest)>();
  item.layout = *reader.ReadArray<sizeof(Digest)>();
  item.share = *reader.ReadArray<sizeof(Digest)>();
  return item;
}

namespace {

// Reads what precedes the update of a share.
absl::StatusOr<MaskShareItem> ReadShareHead(std::span<const uint8_t> bytes) {
  MaskShareItem item;
  ASSIGN_OR_RETURN(item.attempt, AttemptOf(bytes));
  ByteReader reader(bytes.subspan(kAttemptBytes));
  const auto salt = reader.ReadArray<kSaltBytes>();
  if (!salt) {
    return Error(absl::StatusCode::kInvalidArgument, reasons::kUpdateInvalid,
                 "a share of a masked round has {} bytes, fewer than its head; update the sending "
                 "node",
                 bytes.size());
  }
  item.salt = *salt;
  return item;
}

}  // namespace

std::string EncodeMaskShare(const MaskShareItem& item) {
  return WithAttempt(item.attempt, std::string(AsText(item.salt)) +
                                       privacy::masking::EncodeMaskedUpdate(item.update));
}

Digest CommitmentTo(std::string_view share) {
  constexpr std::string_view kDomain("RUVDLLM-COMMIT-v1\0", 18);
  return Sha256({AsBytes(kDomain), AsBytes(share)});
}

absl::StatusOr<MaskShareItem> DecodeMaskShare(std::span<const uint8_t> bytes) {
  ASSIGN_OR_RETURN(MaskShareItem item, ReadShareHead(bytes));
  ASSIGN_OR_RETURN(item.update,
                   privacy::masking::DecodeMaskedUpdate(bytes.subspan(kAttemptBytes + kSaltBytes)));
  return item;
}

absl::StatusOr<MaskShareItem> DecodeMaskShareHead(std::span<const uint8_t> bytes) {
  ASSIGN_OR_RETURN(MaskShareItem item, ReadShareHead(bytes));
  ASSIGN_OR_RETURN(item.update, privacy::masking::DecodeMaskedUpdateHead(
                                    bytes.subspan(kAttemptBytes + kSaltBytes)));
  return item;
}

uint64_t MaskShareBytes(size_t values) {
  return kAttemptBytes + kSaltBytes + kShareHeadBytes + values * sizeof(uint32_t);
}

uint64_t MaxMaskPayloadBytes(ItemKind kind) {
  switch (kind) {
    case ItemKind::kMaskKey:
      return kAttemptBytes + kKeyBytes + kAnnouncementHeadBytes +
             limits::kMaxConductMarks * kMarkBytes;
    case ItemKind::kMaskSet:
      return kAttemptBytes + kSetHeadBytes +
             limits::kMaxCliqueMembers * sizeof(privacy::masking::CliqueMember);
    case ItemKind::kMaskCommitment:
      return kAttemptBytes + kCommitmentBytes;
    default:
      return MaskShareBytes(limits::kMaxMaskedValues);
  }
}

absl::Status CheckMaskItem(ItemKind kind, std::string_view payload, uint64_t round,
                           const privacy::NodeId& sender) {
  if (kind == ItemKind::kMaskKey) {
    ASSIGN_OR_RETURN(const MaskKeyItem item, DecodeMaskKey(AsBytes(payload)));
    return CheckNames(item.offer.round, round, true);
  }
  if (kind == ItemKind::kMaskSet) {
    ASSIGN_OR_RETURN(const MaskSetItem item, DecodeMaskSet(AsBytes(payload), {}));
    return CheckNames(item.clique.round.round, round, item.clique.Find(sender) != nullptr);
  }
  if (kind == ItemKind::kMaskCommitment) {
    ASSIGN_OR_RETURN(const MaskCommitmentItem item, DecodeMaskCommitment(AsBytes(payload)));
    return CheckNames(item.round, round, true);
  }
  ASSIGN_OR_RETURN(const MaskShareItem item, DecodeMaskShare(AsBytes(payload)));
  return CheckNames(item.update.round, round, item.update.sender == sender);
}

}  // namespace ruvd::federation
