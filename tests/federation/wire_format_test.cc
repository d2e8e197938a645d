// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

// The worked example of docs/wire-format.md. The bytes were computed by an independent program
// (Python's struct, hashlib and OpenSSL's Ed25519), not by this code.

#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <string>

#include "base/bytes.h"
#include "federation/gossip/manifest.h"
#include "federation/gossip/merkle.h"
#include "federation/patterns/shared_pattern.h"
#include "privacy/envelope/envelope.h"
#include "privacy/identity/admission.h"
#include "tests/paths.h"

namespace ruvd::federation {
namespace {

constexpr char kCertificate[] =
    "525556444c4c4d2d434552542d76310001008139770ea87d175f56a35466c34c7ecccb8d8a91b4ee37a25df6"
    "0f5b8fc9b3943cdecbba6d1d31589fd826b2e2a734ea7e71682bbd123669e4709aaca38453c8000000000561"
    "6c7068610000000000000000000000000000000000000000000000000000000300000000505c18a301000000"
    "ac821da3010000525556444c4c4d2d4953535545522d7631008a88e3dd7409f195fd52db2d3cba5d72ca6709"
    "bf1d94121bf3748801b40f6f5c8a88e3dd7409f195fd52db2d3cba5d72ca6709bf1d94121bf3748801b40f6f"
    "5c00000000000000000000000000000000ffffffffffffff7f0ecabd8c2919a988e96e983d36ed6e1499deeb"
    "ccadf46767263ffb73603a269b364a9f8c0a7ca6fbeededb5f9fd3d24ccd3311d880b00a923c3a350987a548"
    "0d0700000000000000ba2ee2cca6534759badda08319e8f04174402dd495563bf904700c22666a11f1be815e"
    "6dfa73e3b519408cb592fb648261b6254860c973beae20108e3e361a09";
constexpr char kPayload[] =
    "0100666666666666666666666666666666660000000004636861740000003f0300000000505c18a301000002"
    "0000009a99193fcdcc4c3f010000001800626c6b2e302e6174746e5f6f75747075742e776569676874000000"
    "0002000000fa4000e010";
constexpr char kBodyTail[] =
    "02620000000000000073d19513ea5513334ddde607a0f6470ebb90d372490c666f9cda8fef5b58e85a111111"
    "1111111111111111111111111111111111111111111111111111111111222222222222222222222222222222"
    "2222222222222222222222222222222222";
constexpr char kHeader[] =
    "525556444c4c4d2d454e562d763100039fac6c61cf054345db6c4d6dbdbbe0e6a1a130c8e37339e6e3bba3ab"
    "c6842fb73cdecbba6d1d31589fd826b2e2a734ea7e71682bbd123669e4709aaca38453c80000000005000000"
    "00000000117d0de50999f4e409000000000000000300000000000000e8535c18a301000000ac821da3010000"
    "333333333333333333333333333333330200e60100000cc69ecd710a52cde2a117dbb82028bbd2a0afd1560d"
    "8830f3e6c876279beca4";
constexpr char kSignature[] =
    "a19f153b78f8de0d748aee73470bb5ba882610828fbb99286d7ceaa83b599947f573dc84fe5a3c0c91f3fe8c"
    "3c151c43fc21d8ff4f438680e25c5c1ed0284905";
constexpr char kMessageId[] = "a22ed74ea5c960b4b04e7a0c4623608704923751cb96afcc1ecc21b3c46f1a2e";

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
    SharedPattern pattern{.bank = 0,
                          .task = "chat",
                          .quality = 0.5F,
                          .examples = 3,
                          .created_ms = 1800000000000,
                          .centroid = {0.6F, 0.8F},
                          .cores = {{.target = "blk.0.attn_output.weight",
                                     .bank = 0,
                                     .rank = 2,
                                     .values = {.exponent = -6, .steps = {64, 0, -32, 16}}}}};
    pattern.id.fill(0x66);
    return EncodeSharedPattern(pattern);
  }
  privacy::Envelope Sealed() const {
    Manifest manifest;
    manifest.certificate = certificate_;
    manifest.kind = ItemKind::kPattern;
    manifest.payload_bytes = Payload().size();
    manifest.payload_root = MerkleTree(Payload()).root();
    manifest.model_hash.fill(0x11);
    manifest.frame_id.fill(0x22);
    privacy::EnvelopeHeader header;
    header.purpose = privacy::EnvelopePurpose::kPattern;
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
