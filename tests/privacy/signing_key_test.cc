// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "privacy/identity/signing_key.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstring>
#include <filesystem>
#include <string>

#include "base/bytes.h"
#include "base/file.h"
#include "base/reasons.h"
#include "base/status.h"
#include "privacy/identity/node_key.h"

namespace ruvd::privacy {
namespace {

template <size_t N>
std::array<uint8_t, N> Hex(std::string_view hex) {
  const std::string bytes = *FromHex(hex);
  std::array<uint8_t, N> out;
  EXPECT_EQ(bytes.size(), N);
  std::memcpy(out.data(), bytes.data(), N);
  return out;
}

class KeyFile : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = testing::TempDir() + "/ruvd_key_" +
              testing::UnitTest::GetInstance()->current_test_info()->name();
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_);
    path_ = folder_ + "/node.key";
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  std::string folder_;
  std::string path_;
};

TEST(SigningKey, MatchesRfc8032Test1) {
  const SigningKey key = SigningKey::FromSeed(
      Hex<32>("9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60"));
  EXPECT_EQ(ToHex(key.public_key()),
            "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a");
  const Signature signature = key.Sign({});
  EXPECT_EQ(
      ToHex(signature),
      "e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e065224901555fb8821590a33bacc61e39701"
      "cf9b46bd25bf5f0595bbe24655141438e7a100b");
  EXPECT_TRUE(VerifySignature(key.public_key(), {}, signature));
}

TEST(SigningKey, GeneratedKeysDifferAndAreValid) {
  const SigningKey a = SigningKey::Generate();
  const SigningKey b = SigningKey::Generate();
  EXPECT_NE(a.public_key(), b.public_key());
  EXPECT_TRUE(CheckPublicKey(a.public_key()).ok());
  const Signature signature = a.Sign(AsBytes("hello"));
  EXPECT_TRUE(VerifySignature(a.public_key(), AsBytes("hello"), signature));
  EXPECT_FALSE(VerifySignature(b.public_key(), AsBytes("hello"), signature));
  EXPECT_FALSE(VerifySignature(a.public_key(), AsBytes("hellp"), signature));
}

// Published edge cases of Ed25519 verifiers (github.com/novifinancial/ed25519-speccheck): the
// twelve of its table, then two more of its file. Each must fail at the key check or at the
// verification.
struct SpecCase {
  const char* message;
  const char* key;
  const char* signature;
};
constexpr SpecCase kSpecCases[] = {
    {"8c93255d71dcab10e8f379c26200f3c7bd5f09d9bc3068d3ef4edeb4853022b6",
     "c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac03fa",
     "c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a0000000000000000000000000000"
     "000000000000000000000000000000000000"},
    {"9bd9f44f4dcc75bd531b56b2cd280b0bb38fc1cd6d1230e14861d861de092e79",
     "c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac03fa",
     "f7badec5b8abeaf699583992219b7b223f1df3fbbea919844e3f7c554a43dd43a5bb704786be79fc476f91d3f3f8"
     "9b03984d8068dcf1bb7dfc6637b45450ac04"},
    {"aebf3f2601a0c8c5d39cc7d8911642f740b78168218da8471772b35f9d35b9ab",
     "f7badec5b8abeaf699583992219b7b223f1df3fbbea919844e3f7c554a43dd43",
     "c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac03fa8c4bd45aecaca5b24fb97bc10ac2"
     "7ac8751a7dfe1baff8b953ec9f5833ca260e"},
    {"9bd9f44f4dcc75bd531b56b2cd280b0bb38fc1cd6d1230e14861d861de092e79",
     "cdb267ce40c5cd45306fa5d2f29731459387dbf9eb933b7bd5aed9a765b88d4d",
     "9046a64750444938de19f227bb80485e92b83fdb4b6506c160484c016cc1852f87909e14428a7a1d62e9f22f3d3a"
     "d7802db02eb2e688b6c52fcd6648a98bd009"},
    {"e47d62c63f830dc7a6851a0b1f33ae4bb2f507fb6cffec4011eaccd55b53f56c",
     "cdb267ce40c5cd45306fa5d2f29731459387dbf9eb933b7bd5aed9a765b88d4d",
     "160a1cb0dc9c0258cd0a7d23e94d8fa878bcb1925f2c64246b2dee1796bed5125ec6bc982a269b723e0668e54091"
     "1a9a6a58921d6925e434ab10aa7940551a09"},
    {"e47d62c63f830dc7a6851a0b1f33ae4bb2f507fb6cffec4011eaccd55b53f56c",
     "cdb267ce40c5cd45306fa5d2f29731459387dbf9eb933b7bd5aed9a765b88d4d",
     "21122a84e0b5fca4052f5b1235c80a537878b38f3142356b2c2384ebad4668b7e40bc836dac0f71076f9abe3a53f"
     "9c03c1ceeeddb658d0030494ace586687405"},
    {"85e241a07d148b41e47d62c63f830dc7a6851a0b1f33ae4bb2f507fb6cffec40",
     "442aad9f089ad9e14647b1ef9099a1ff4798d78589e66f28eca69c11f582a623",
     "e96f66be976d82e60150baecff9906684aebb1ef181f67a7189ac78ea23b6c0e547f7690a0e2ddcd04d87dbc3490"
     "dc19b3b3052f7ff0538cb68afb369ba3a514"},
    {"85e241a07d148b41e47d62c63f830dc7a6851a0b1f33ae4bb2f507fb6cffec40",
     "442aad9f089ad9e14647b1ef9099a1ff4798d78589e66f28eca69c11f582a623",
     "8ce5b96c8f26d0ab6c47958c9e68b937104cd36e13c33566acd2fe8d38aa19427e71f98a473474f2f13f06f97c20"
     "d58cc3f54b8bd0d272f42b695dd7e89a8c22"},
    {"9bedc267423725d473888631ebf45988bad3db83851ee85c85e241a07d148b41",
     "f7badec5b8abeaf699583992219b7b223f1df3fbbea919844e3f7c554a43dd43",
     "ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff03be9678ac102edcd92b0210bb34"
     "d7428d12ffc5df5f37e359941266a4e35f0f"},
    {"9bedc267423725d473888631ebf45988bad3db83851ee85c85e241a07d148b41",
     "f7badec5b8abeaf699583992219b7b223f1df3fbbea919844e3f7c554a43dd43",
     "ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffca8c5b64cd208982aa38d4936621"
     "a4775aa233aa0505711d8fdcfdaa943d4908"},
    {"e96b7021eb39c1a163b6da4e3093dcd3f21387da4cc4572be588fafae23c155b",
     "ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff",
     "a9d55260f765261eb9b84e106f665e00b867287a761990d7135963ee0a7d59dca5bb704786be79fc476f91d3f3f8"
     "9b03984d8068dcf1bb7dfc6637b45450ac04"},
    {"39a591f5321bbe07fd5a23dc2f39d025d74526615746727ceefd6e82ae65c06f",
     "ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff",
     "a9d55260f765261eb9b84e106f665e00b867287a761990d7135963ee0a7d59dca5bb704786be79fc476f91d3f3f8"
     "9b03984d8068dcf1bb7dfc6637b45450ac04"},
    {"fdaebc429f4a735932a160da1301080c13280eea8bc280d1b392c6b9e6ba3a5a",
     "f7badec5b8abeaf699583992219b7b223f1df3fbbea919844e3f7c554a43dd43",
     "edffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f454d370c8d9fc323a41450f8d513"
     "eafeb5b0697390c1e505a0d4ddc71f566607"},
    {"84b698d39be126ff55fe45079e6c8bf64a0d7db6994560b4e96b7021eb39c1a1",
     "f7badec5b8abeaf699583992219b7b223f1df3fbbea919844e3f7c554a43dd43",
     "edffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f084d5b99c2a9463d9c8bd5026916"
     "996984eeec87ddf1d3be329006ace1b37b09"},
};

TEST(SigningKey, RefusesTheSpeccheckVectors) {
  for (const SpecCase& c : kSpecCases) {
    const auto key = Hex<32>(c.key);
    const bool accepted = CheckPublicKey(key).ok() &&
                          VerifySignature(key, AsBytes(*FromHex(c.message)), Hex<64>(c.signature));
    EXPECT_FALSE(accepted) << c.signature;
  }
}

// The library alone accepts the fourth of the twelve, whose key has mixed order: the key check
// refuses it. If another release of the library differs, this test fails.
TEST(SigningKey, OfTheSpeccheckTableTheLibraryTakesTheFourthAlone) {
  EXPECT_FALSE(CheckPublicKey(Hex<32>(kSpecCases[3].key)).ok());
  for (size_t i = 0; i < 12; ++i) {
    const SpecCase& c = kSpecCases[i];
    EXPECT_EQ(VerifySignature(Hex<32>(c.key), AsBytes(*FromHex(c.message)), Hex<64>(c.signature)),
              i == 3)
        << i;
  }
}

TEST(SigningKey, RefusesTheForgeryUnderTheIdentityKey) {
  PublicKey identity{};
  identity[0] = 1;
  Signature forged{};
  forged[0] = 1;  // R = identity, S = 0: satisfies the equation for every message
  EXPECT_EQ(ReasonOf(CheckPublicKey(identity)), reasons::kKeyInvalid);
  EXPECT_FALSE(VerifySignature(identity, AsBytes("any message"), forged));
}

TEST(SigningKey, RefusesSmallOrderAndNonCanonicalKeys) {
  for (const char* hex :
       {"0000000000000000000000000000000000000000000000000000000000000000",
        "0000000000000000000000000000000000000000000000000000000000000080",
        "26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05",
        "c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a",
        "ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
        "edffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",     // p, not canonical
        "f0ffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",     // p + 3
        "0200000000000000000000000000000000000000000000000000000000000000"}) {  // not on the curve
    EXPECT_EQ(ReasonOf(CheckPublicKey(Hex<32>(hex))), reasons::kKeyInvalid) << hex;
  }
}

TEST(SigningKey, RefusesSPlusL) {
  const SigningKey key = SigningKey::FromSeed(KeySeed{7});
  Signature signature = key.Sign(AsBytes("message"));
  ASSERT_TRUE(VerifySignature(key.public_key(), AsBytes("message"), signature));
  const auto order = Hex<32>("edd3f55c1a631258d69cf7a2def9de1400000000000000000000000000000010");
  unsigned carry = 0;
  for (size_t i = 0; i < 32; ++i) {
    carry += signature[32 + i] + order[i];
    signature[32 + i] = static_cast<uint8_t>(carry);
    carry >>= 8;
  }
  EXPECT_FALSE(VerifySignature(key.public_key(), AsBytes("message"), signature));
}

TEST_F(KeyFile, CreatesOnceAndLoadsTheSame) {
  const auto created = NodeKey::LoadOrCreate(path_);
  ASSERT_TRUE(created.ok()) << created.status();
  struct stat info = {};
  ASSERT_EQ(::stat(path_.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0600U);
  const auto loaded = NodeKey::LoadOrCreate(path_);
  ASSERT_TRUE(loaded.ok());
  EXPECT_EQ(loaded->public_key(), created->public_key());
  EXPECT_EQ(loaded->id(), NodeIdOf(created->public_key()));
}

TEST_F(KeyFile, RefusesAFileOpenToOthers) {
  ASSERT_TRUE(NodeKey::LoadOrCreate(path_).ok());
  ASSERT_EQ(::chmod(path_.c_str(), 0640), 0);
  const auto loaded = NodeKey::LoadOrCreate(path_);
  EXPECT_EQ(ReasonOf(loaded.status()), reasons::kKeyFileMode);
  EXPECT_NE(MessageOf(loaded.status()).find("chmod 600"), std::string::npos);
}

TEST_F(KeyFile, RefusesDamageAndAnotherUse) {
  ASSERT_TRUE(NodeKey::LoadOrCreate(path_).ok());
  EXPECT_EQ(ReasonOf(SigningKey::Load(path_, KeyUse::kIssuer).status()), reasons::kKeyInvalid);
  const std::string good = *ReadFile(path_, 1000);
  for (size_t i = 0; i < good.size(); ++i) {
    std::string bad = good;
    bad[i] ^= 4;
    ASSERT_TRUE(WriteFileAtomically(path_, bad, 0600).ok());
    EXPECT_EQ(ReasonOf(SigningKey::Load(path_, KeyUse::kNode).status()), reasons::kKeyInvalid);
  }
  ASSERT_TRUE(WriteFileAtomically(path_, good.substr(0, 40), 0600).ok());
  EXPECT_EQ(ReasonOf(NodeKey::LoadOrCreate(path_).status()), reasons::kKeyInvalid);
}

TEST_F(KeyFile, LoadOfAMissingFileSaysSo) {
  EXPECT_EQ(ReasonOf(SigningKey::Load(path_, KeyUse::kIssuer).status()), reasons::kFileNotFound);
  EXPECT_FALSE(NodeKey::LoadOrCreate(folder_ + "/absent/node.key").ok());
}

}  // namespace
}  // namespace ruvd::privacy
