// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "privacy/envelope/equivocation.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/bytes.h"
#include "base/reasons.h"
#include "base/status.h"
#include "privacy/reasons.h"

namespace ruvd::privacy {
namespace {

constexpr uint16_t kVersion = 1;

absl::Status Invalid() {
  return Error(absl::StatusCode::kInvalidArgument, reasons::kEvidenceInvalid,
               "the evidence does not contain two different messages with one number, so it proves "
               "nothing; ignore it");
}

bool SameNumber(const EnvelopeHeader& a, const EnvelopeHeader& b) {
  return a.sender_id == b.sender_id && a.key_epoch == b.key_epoch && a.boot_id == b.boot_id &&
         a.seq == b.seq;
}

bool SignedBy(const PublicKey& key, const std::string& header, const std::string& bytes) {
  Signature signature;
  if (bytes.size() != signature.size()) {
    return false;
  }
  std::memcpy(signature.data(), bytes.data(), signature.size());
  return VerifySignature(key, AsBytes(header), signature);
}

}  // namespace

std::string Equivocation::Encode() const {
  ByteWriter writer;
  writer.Write(kVersion).WriteText(first_header).WriteText(first_signature);
  return writer.WriteText(second_header).WriteText(second_signature).Take();
}

absl::StatusOr<Equivocation> Equivocation::Parse(std::span<const uint8_t> bytes) {
  ByteReader reader(bytes);
  if (bytes.size() != kBytes || reader.Read<uint16_t>() != kVersion) {
    return Invalid();
  }
  Equivocation evidence;
  evidence.first_header = AsText(*reader.ReadBytes(kEnvelopeHeaderBytes));
  evidence.first_signature = AsText(*reader.ReadBytes(sizeof(Signature)));
  evidence.second_header = AsText(*reader.ReadBytes(kEnvelopeHeaderBytes));
  evidence.second_signature = AsText(*reader.ReadBytes(sizeof(Signature)));
  ASSIGN_OR_RETURN(const EnvelopeHeader first, ParseHeader(AsBytes(evidence.first_header)));
  ASSIGN_OR_RETURN(const EnvelopeHeader second, ParseHeader(AsBytes(evidence.second_header)));
  return SameNumber(first, second) && evidence.first_header < evidence.second_header
             ? absl::StatusOr<Equivocation>(std::move(evidence))
             : Invalid();
}

absl::Status Equivocation::Verify(const PublicKey& key) const {
  if (!SignedBy(key, first_header, first_signature) ||
      !SignedBy(key, second_header, second_signature)) {
    return Error(
        absl::StatusCode::kPermissionDenied, reasons::kSignatureInvalid,
        "the evidence is not signed by the node that it accuses, so it is forged; ignore it");
  }
  return absl::OkStatus();
}

NodeId Equivocation::sender() const {
  return ParseHeader(AsBytes(first_header)).value().sender_id;
}

std::optional<Equivocation> EquivocationDetector::Record(const EnvelopeHeader& header,
                                                         const Envelope& envelope) {
  const Number number = NumberOf(header);
  const auto known = seen_.find(number);
  if (known == seen_.end()) {
    if (seen_.size() >= max_entries_) {
      seen_.erase(oldest_first_.front());
      oldest_first_.pop_front();
    }
    seen_[number] = {.header = envelope.header, .signature = envelope.signature};
    oldest_first_.push_back(number);
    return std::nullopt;
  }
  if (known->second.header == envelope.header) {
    return std::nullopt;
  }
  Signed first = known->second;
  Signed second = {.header = envelope.header, .signature = envelope.signature};
  if (second.header < first.header) {
    std::swap(first, second);
  }
  return Equivocation{.first_header = first.header,
                      .first_signature = first.signature,
                      .second_header = second.header,
                      .second_signature = second.signature};
}

}  // namespace ruvd::privacy
