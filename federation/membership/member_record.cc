// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "federation/membership/member_record.h"

#include "base/reasons.h"
#include "base/status.h"
#include "federation/link/handshake.h"

namespace ruvd::federation {
namespace {

absl::Status Malformed(std::string_view what) {
  return Error(absl::StatusCode::kInvalidArgument, reasons::kEnvelopeMalformed,
               "member record {}; update the sending node", what);
}

}  // namespace

std::string EncodeMemberRecord(const MemberRecord& record) {
  ByteWriter writer;
  writer.WriteText(record.certificate.Encode()).Write(record.incarnation);
  writer.Write(static_cast<uint8_t>(record.state)).WriteBytes(record.model_hash);
  writer.WriteBytes(record.frame_id).Write(static_cast<uint8_t>(record.address.size()));
  writer.WriteText(record.address);
  return writer.Take();
}

absl::StatusOr<MemberRecord> DecodeMemberRecord(std::span<const uint8_t> body) {
  ByteReader reader(body);
  const auto cert = reader.ReadBytes(privacy::AdmissionCert::kBytes);
  const auto incarnation = reader.Read<uint64_t>();
  const auto state = reader.Read<uint8_t>();
  const auto model_hash = reader.ReadArray<32>();
  const auto frame_id = reader.ReadArray<32>();
  const auto length = reader.Read<uint8_t>();
  const auto address = reader.ReadBytes(length.value_or(0));
  if (reader.failed() || reader.remaining() != 0) {
    return Malformed("is truncated or too long");
  }
  if (*state != static_cast<uint8_t>(MemberState::kAlive) &&
      *state != static_cast<uint8_t>(MemberState::kLeft)) {
    return Malformed("has a state that a member cannot state about itself");
  }
  if (!IsValidAddress(AsText(*address))) {
    return Malformed("has an address that is not a printable host:port");
  }
  MemberRecord record;
  ASSIGN_OR_RETURN(record.certificate, privacy::AdmissionCert::Parse(*cert));
  record.incarnation = *incarnation;
  record.state = static_cast<MemberState>(*state);
  record.model_hash = *model_hash;
  record.frame_id = *frame_id;
  record.address = AsText(*address);
  return record;
}

}  // namespace ruvd::federation
