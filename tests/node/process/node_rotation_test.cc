// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

// A node's key is replaced, by `ruvd cert rotate` and running nodes.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <string>

#include "base/file.h"
#include "node/admission/identity.h"
#include "node/admission/node_key_files.h"
#include "privacy/identity/node_key.h"
#include "privacy/reasons.h"
#include "tests/node/process/node_join_fixture.h"

namespace ruvd::node {
namespace {

using ::testing::HasSubstr;

class NodeRotationTest : public NodeJoinTest {
 protected:
  std::string Rotate(const std::string& name, std::vector<std::string> more = {},
                     int expected = 0) {
    std::vector<std::string> arguments = {"cert", "rotate", node_->federation_address(),
                                          "--data-dir", DataOf(name)};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return Run(arguments, expected);
  }
  privacy::AdmissionCert CertificateOf(const std::string& name) const {
    return admission::LoadStoredCertificate(DataOf(name)).value();
  }
  // What a thief copied before the key was replaced.
  void Copy(const std::string& name, const std::string& copy) const {
    fs::create_directories(DataOf(copy));
    for (const char* file :
         {admission::kNodeKeyFile, admission::kNodeCertificateFile, "revocations"}) {
      fs::copy(fs::path(DataOf(name)) / file, fs::path(DataOf(copy)) / file);
    }
  }
};

TEST_F(NodeRotationTest, AMemberReplacesItsKeyAndStaysTheSameMember) {
  Start();
  Join("b", Token());
  const privacy::AdmissionCert former = CertificateOf("b");
  StartOther("b", node_->federation_address());
  const std::string id = others_.back()->id();
  ASSERT_TRUE(AwaitAlive(*node_, 2));
  // The operator's consent is signed with the former key, and stays.
  std::ostringstream out;
  cli::CommandContext context{.out = out, .err = out, .environment = {}};
  ASSERT_EQ(RunProgram(
                {"consent", "grant", "--tier", "public", "--server", others_.back()->api_address()},
                context),
            0)
      << out.str();
  others_.clear();
  EXPECT_THAT(Rotate("b"), HasSubstr("start the node again within a day"));
  EXPECT_NE(CertificateOf("b").node_key, former.node_key);
  const Node& other = StartOther("b", node_->federation_address());
  EXPECT_EQ(other.id(), id);
  EXPECT_TRUE(test::WaitUntil([&] { return StatusOf(other).certificate().key_epoch() == 1; }));
  EXPECT_TRUE(AwaitAlive(*node_, 2));
  EXPECT_TRUE(test::WaitUntil([&] { return IsLinked(*node_, id); }));
  std::ostringstream tier;
  cli::CommandContext asks{.out = tier, .err = tier, .environment = {}};
  ASSERT_EQ(RunProgram({"consent", "status", "--server", other.api_address()}, asks), 0);
  EXPECT_THAT(tier.str(), HasSubstr("public"));
  // The certificate of the next key is renewed as any other.
  Run({"cert", "renew", node_->federation_address(), "--data-dir", DataOf("b")}, 0);
  EXPECT_EQ(CertificateOf("b").key_epoch, 1U);
}

TEST_F(NodeRotationTest, AThiefOfTheFormerKeyIsKeptOut) {
  Start();
  Join("b", Token());
  Copy("b", "thief");
  EXPECT_THAT(Rotate("b", {"--end-former"}), HasSubstr("its former key counts no more"));
  EXPECT_TRUE(
      test::WaitUntil([&] { return ListOf("data").LeastEpoch(CertificateOf("b").node_id) == 1U; }));
  const Node& thief = StartOther("thief", node_->federation_address());
  EXPECT_EQ(thief.id(), ToHex(CertificateOf("b").node_id)) << "it pretends to be the node";
  const Node& honest = StartOther("b", node_->federation_address());
  EXPECT_TRUE(AwaitAlive(*node_, 2));
  EXPECT_TRUE(test::WaitUntil([&] { return IsLinked(*node_, honest.id()); }));
  EXPECT_TRUE(test::WaitUntil([&] { return StatusOf(honest).cluster().members_alive() == 2; }));
  EXPECT_FALSE(IsLinked(thief, node_->id()));
  // The authority gives it neither a certificate nor a key.
  Run({"cert", "renew", node_->federation_address(), "--data-dir", DataOf("thief")}, 4);
  EXPECT_THAT(Rotate("thief", {}, 4), HasSubstr("[KEY_EPOCH_REFUSED]"));
  EXPECT_THAT(Join("thief", Token(), 4), HasSubstr("[KEY_EPOCH_REFUSED]"));
}

// Other members learn of the end by the revocation list.
TEST_F(NodeRotationTest, MembersEndTheirLinksWithAFormerKey) {
  Start();
  Join("b", Token());
  Join("c", Token());
  const Node& member = StartOther("c", node_->federation_address());
  const Node& running = StartOther("b", member.federation_address());
  ASSERT_TRUE(test::WaitUntil([&] { return IsLinked(member, running.id()); }));
  Rotate("b", {"--end-former"});
  EXPECT_TRUE(test::WaitUntil([&] { return !IsLinked(member, running.id()); }));
  others_.pop_back();
  const Node& again = StartOther("b", member.federation_address());
  EXPECT_TRUE(test::WaitUntil([&] { return IsLinked(member, again.id()); }));
  EXPECT_EQ(StatusOf(again).certificate().key_epoch(), 1U);
}

// The authority had granted the key when the connection ended, and takes the former one no more.
TEST_F(NodeRotationTest, AReplacementThatWasCutOffGoesOn) {
  Start();
  Join("b", Token());
  const privacy::AdmissionCert present = CertificateOf("b");
  const auto next = privacy::SigningKey::LoadOrCreate(fs::path(DataOf("b")) / "node.key.next",
                                                      privacy::KeyUse::kNode);
  {
    const privacy::NodeKey key = admission::LoadNodeKey(DataOf("b"), SystemClock()).value();
    ASSERT_TRUE(admission::RotateAt(node_->federation_address(), present, key,
                                    key.RotateTo(*next, SystemClock().WallMillis()),
                                    /*ends_former=*/true, std::chrono::seconds(30), SystemClock())
                    .ok());
  }
  ASSERT_TRUE(test::WaitUntil([&] { return ListOf("data").LeastEpoch(present.node_id) == 1U; }));
  EXPECT_THAT(Run({"cert", "renew", node_->federation_address(), "--data-dir", DataOf("b")}, 4),
              HasSubstr("[KEY_EPOCH_REFUSED]"));
  Rotate("b");
  EXPECT_EQ(CertificateOf("b").node_key, next->public_key());
  const Node& other = StartOther("b", node_->federation_address());
  EXPECT_TRUE(test::WaitUntil([&] { return IsLinked(*node_, other.id()); }));
}

TEST_F(NodeRotationTest, ANodeWithAReplacedKeyJoinsAgainUnderItsId) {
  Start();
  Join("b", Token());
  const privacy::NodeId id = CertificateOf("b").node_id;
  Rotate("b");
  fs::remove(fs::path(DataOf("b")) / admission::kNodeCertificateFile);  // or it has expired
  Join("b", Token());
  EXPECT_EQ(CertificateOf("b").node_id, id);
  EXPECT_EQ(CertificateOf("b").key_epoch, 1U);
  StartOther("b", node_->federation_address());
  EXPECT_TRUE(AwaitAlive(*node_, 2));
}

// Where no node may ask the authority, its operator issues certificates by hand.
TEST_F(NodeRotationTest, ACertificateByHandIsForTheNewestKeyOnly) {
  Start();
  Join("b", Token());
  const privacy::AdmissionCert former = CertificateOf("b");
  Rotate("b");
  const privacy::AdmissionCert present = CertificateOf("b");
  const std::string by_hand = folder_ / "by-hand.cert";
  const auto issue = [&](const privacy::PublicKey& key, std::vector<std::string> more,
                         int expected) {
    std::vector<std::string> arguments = {
        "cert",  "issue",    "--authority", fs::path(DataOf("data")) / "authority.key",
        "--key", ToHex(key), "--name",      "b",
        "--out", by_hand};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return Run(arguments, expected);
  };
  EXPECT_THAT(issue(former.node_key, {}, 4), HasSubstr("[KEY_EPOCH_REFUSED]"));
  issue(present.node_key, {"--rotations", fs::path(DataOf("b")) / "node.rotations"}, 0);
  const auto issued = privacy::AdmissionCert::Parse(AsBytes(ReadFile(by_hand, 4096).value()));
  EXPECT_EQ(issued->node_id, present.node_id);
  EXPECT_EQ(issued->key_epoch, 1U);
}

TEST_F(NodeRotationTest, TheAuthoritysOwnNodeReplacesItsKey) {
  Start();
  Join("b", Token());
  StartOther("b", node_->federation_address());
  ASSERT_TRUE(AwaitAlive(*node_, 2));
  const std::string id = node_->id();
  config_.federation.listen = node_->federation_address();
  Rotate("data");
  Restart();
  EXPECT_EQ(node_->id(), id);
  EXPECT_TRUE(test::WaitUntil([&] { return StatusOf(*node_).certificate().key_epoch() == 1; }));
  EXPECT_TRUE(AwaitAlive(*node_, 2));
  EXPECT_THAT(Join("c", Token()), HasSubstr("next: "));
}

TEST_F(NodeRotationTest, WhatKeepsAnOperatorFromReplacingAKeyIsNamed) {
  Start();
  fs::create_directories(DataOf("none"));
  EXPECT_THAT(Rotate("none", {}, 1), HasSubstr("[FILE_NOT_FOUND]"));
  EXPECT_FALSE(fs::exists(fs::path(DataOf("none")) / admission::kNodeKeyFile)) << "no key is made";
  Join("b", Token());
  EXPECT_THAT(Run({"cert", "rotate", "127.0.0.1:1", "--data-dir", DataOf("b")}, 3),
              HasSubstr("[NODE_UNREACHABLE]"));
  EXPECT_EQ(CertificateOf("b").key_epoch, 0U);
}

}  // namespace
}  // namespace ruvd::node
