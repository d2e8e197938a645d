// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

// The worked example of docs/wire-format.md. The bytes were computed by an independent program
// (Python's struct, hashlib and OpenSSL's Ed25519), not by this code.

#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <string>

#include "base/bytes.h"
#include "federation/daf/adapter_update.h"
#include "federation/gossip/manifest.h"
#include "federation/gossip/merkle.h"
#include "privacy/envelope/envelope.h"
#include "privacy/identity/admission.h"
#include "tests/paths.h"

namespace ruvd::federation {
namespace {

constexpr char kCertificate[] =
    "525556444c4c4d2d434552542d76310001008139770ea87d175f56a35466c34c7ecccb8d8a91b4ee37a25df6"
    "0f5b8fc9b3943cdecbba6d1d31589fd826b2e2a734ea7e71682bbd123669e4709aaca38453c805616c706861"
    "0000000000000000000000000000000000000000000000000000000300000000505c18a301000000ac821da3"
    "0100008a88e3dd7409f195fd52db2d3cba5d72ca6709bf1d94121bf3748801b40f6f5c0700000000000000d1"
    "d5767e9908784352f5f5ca82912d05cf1905c5ff1a2624aa318a05ca76b13d17660f9e282cb54f6fa5c17113"
    "1e2e5917507efbbd2abcefc0fe2f58b9327209";
constexpr char kPayload[] =
    "0100011111111111111111111111111111111111111111111111111111111111111111222222222222222222"
    "2222222222222222222222222222222222222222222222000000000000000000000000000000000000000000"
    "00000000000000000000000000000000010000001800626c6b2e302e6174746e5f6f75747075742e77656967"
    "6874020000000200000001000000000000000000803f00000000000000bf0000803e";
constexpr char kBodyTail[] =
    "01a6000000000000004cb5ef77eb9cb852338345ca6d2179faf18e0df460f7e7293ca0597ee3e87540111111"
    "1111111111111111111111111111111111111111111111111111111111222222222222222222222222222222"
    "2222222222222222222222222222222222";
constexpr char kHeader[] =
    "525556444c4c4d2d454e562d763100029fac6c61cf054345db6c4d6dbdbbe0e6a1a130c8e37339e6e3bba3ab"
    "c6842fb73cdecbba6d1d31589fd826b2e2a734ea7e71682bbd123669e4709aaca38453c80000000005000000"
    "00000000117d0de50999f4e409000000000000000300000000000000e8535c18a301000000ac821da3010000"
    "333333333333333333333333333333330200580100006ea728d26ba1862ffb13612d8e8d9602c254001a2c6c"
    "1cbdcb2af27885b6f671";
constexpr char kSignature[] =
    "9309055a83ce853ba83fdf528f3aae8497d19ba1a83211ba8093fd2ec6021c28b629e50e3ea103f25b05875e"
    "d08b10aeeea6af9a9394a4843f2cc429e43eba0f";
constexpr char kMessageId[] = "848ff9828fe7ee2a7c9f7af610889fcfd2a70e793177569bbc3779d1dccd0ea2";

privacy::KeySeed SeedOfBytes(uint8_t byte) {
  privacy::KeySeed seed;
  seed.fill(byte);
  return seed;
}

class WireFormat : public testing::Test {
 protected:
  WireFormat() {
    certificate_ = *authority_.Issue({.node_key = key_.public_key(),
                                      .name = "alpha",
                                      .roles = 3,
                                      .not_before_ms = 1800000000000,
                                      .not_after_ms = 1800086400000,
                                      .serial = 7});
  }
  static std::string Payload() {
    AdapterUpdate update{
        .boundaries = {},
        .modules = {{.target = "blk.0.attn_output.weight", .rows = 2, .columns = 2}},
        .banks = {{.bank = 0, .values = {1, 0, -0.5F, 0.25F}}}};
    update.model_hash.fill(0x11);
    update.frame_id.fill(0x22);
    return EncodeAdapterUpdate(update);
  }
  privacy::Envelope Sealed() const {
    Manifest manifest;
    manifest.certificate = certificate_;
    manifest.kind = ItemKind::kAdapterDelta;
    manifest.payload_bytes = Payload().size();
    manifest.payload_root = MerkleTree(Payload()).root();
    manifest.model_hash.fill(0x11);
    manifest.frame_id.fill(0x22);
    privacy::EnvelopeHeader header;
    header.purpose = privacy::EnvelopePurpose::kAdapterDelta;
    header.cluster_id = authority_.cluster_id();
    header.boot_id = privacy::BootIdOf(key_.id(), 5);
    header.seq = 9;
    header.round = 3;
    header.created_ms = 1800000001000;
    header.expires_ms = 1800086400000;
    header.nonce.fill(0x33);
    header.body_type = kBodyManifest;
    return *SealEnvelope(header, EncodeManifest(manifest), key_);
  }

  const privacy::ClusterAuthority authority_ = privacy::ClusterAuthority::FromSeed(SeedOfBytes(1));
  const privacy::NodeKey key_ = privacy::NodeKey::FromSeed(SeedOfBytes(2));
  privacy::AdmissionCert certificate_;
};

TEST_F(WireFormat, CertificateAndPayload) {
  EXPECT_EQ(ToHex(AsBytes(certificate_.Encode())), kCertificate);
  EXPECT_EQ(ToHex(AsBytes(Payload())), kPayload);
}

TEST_F(WireFormat, Envelope) {
  const privacy::Envelope envelope = Sealed();
  EXPECT_EQ(ToHex(AsBytes(envelope.header)), kHeader);
  EXPECT_EQ(ToHex(AsBytes(envelope.body)), std::string(kCertificate) + kBodyTail);
  EXPECT_EQ(ToHex(AsBytes(envelope.signature)), kSignature);
  EXPECT_EQ(ToHex(privacy::MessageId(envelope)), kMessageId);
}

TEST_F(WireFormat, DocumentShowsTheSameBytes) {
  std::ifstream file(test::SourceDir() + "/docs/wire-format.md");
  ASSERT_TRUE(file.good());
  std::string document((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  std::erase_if(document, [](char c) { return c == ' ' || c == '\n'; });
  for (const char* hex : {kCertificate, kPayload, kBodyTail, kHeader, kSignature, kMessageId}) {
    EXPECT_NE(document.find(hex), std::string::npos) << hex;
  }
}

}  // namespace
}  // namespace ruvd::federation
