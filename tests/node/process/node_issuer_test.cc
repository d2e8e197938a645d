// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

// The authority's key is replaced: in time, and after a theft.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "base/file.h"
#include "node/admission/authority_files.h"
#include "node/admission/identity.h"
#include "privacy/identity/issuer_cert.h"
#include "privacy/reasons.h"
#include "ruvd/node/v1/node.pb.h"
#include "tests/node/process/node_join_fixture.h"

namespace ruvd::node {
namespace {

using ::testing::HasSubstr;

class NodeIssuerTest : public NodeJoinTest {
 protected:
  void SetUp() override {
    NodeJoinTest::SetUp();
    // The operator keeps the root's key away from the node.
    fs::create_directories(folder_ / "safe");
    fs::rename(fs::path(DataOf("data")) / admission::kRootKeyFile, Root());
  }
  fs::path Root() const { return folder_ / "safe" / admission::kRootKeyFile; }

  // Makes the next issuer as an operator does, and restarts the authority's node with it.
  std::string Replace(const std::vector<std::string>& more = {}) {
    const fs::path made = folder_ / "made";
    fs::remove_all(made);
    std::vector<std::string> arguments = {"cert",     "issuer",
                                          "--root",   Root(),
                                          "--former", fs::path(DataOf("data")) / "authority.cert",
                                          "--out",    made};
    arguments.insert(arguments.end(), more.begin(), more.end());
    std::string said = Run(arguments, 0);
    config_.federation.listen = node_->federation_address();
    node_.reset();
    for (const char* file : {admission::kAuthorityKeyFile, admission::kIssuerFile}) {
      fs::rename(made / file, fs::path(DataOf("data")) / file);
    }
    // The port for peers stays the same, so that members find the node again.
    Start();
    return said;
  }
  privacy::AdmissionCert CertificateOf(const std::string& name) const {
    return admission::LoadStoredCertificate(DataOf(name)).value();
  }
  bool AwaitIssuer(const Node& node, uint32_t number) {
    return test::WaitUntil([&] { return StatusOf(node).certificate().issuer_number() == number; });
  }
};

TEST_F(NodeIssuerTest, TheNextIssuerTakesOverAndMembersStay) {
  Start();
  Join("b", Token());
  EXPECT_EQ(CertificateOf("b").issuer.number, 0U);
  EXPECT_THAT(Replace(), HasSubstr("when they renew theirs"));
  // The authority's own node shows the new issuer at once; the cluster is the same.
  EXPECT_TRUE(AwaitIssuer(*node_, 1));
  EXPECT_EQ(CertificateOf("data").issuer.root, authority_);
  Node& other = StartOther("b", node_->federation_address());
  EXPECT_TRUE(AwaitAlive(*node_, 2)) << "a certificate of the former issuer is still good";
  EXPECT_TRUE(test::WaitUntil([&] { return ListOf("b").issuer.number == 1U; }));
  Run({"cert", "renew", node_->federation_address(), "--data-dir", DataOf("b")}, 0);
  EXPECT_EQ(CertificateOf("b").issuer.number, 1U);
  ASSERT_TRUE(other.ReloadCredentials().ok());
  EXPECT_TRUE(AwaitIssuer(other, 1));
  EXPECT_TRUE(AwaitAlive(*node_, 2));
  EXPECT_THAT(Join("c", Token()), HasSubstr("next: ruvd serve"));
  EXPECT_EQ(CertificateOf("c").issuer.number, 1U);
}

TEST_F(NodeIssuerTest, AfterATheftOnlyNodesThatJoinAgainAreMembers) {
  Start();
  Join("b", Token());
  Join("thief", Token());  // stands for a node that the thief of the key admitted
  EXPECT_THAT(Replace({"--end-former"}), HasSubstr("joins again with a token"));
  EXPECT_TRUE(AwaitIssuer(*node_, 1)) << "the authority's node needs no token";
  StartOther("thief", node_->federation_address());
  EXPECT_TRUE(AwaitRefusedAtTheGate(*node_, reasons::kIssuerEnded));
  EXPECT_THAT(Run({"cert", "renew", node_->federation_address(), "--data-dir", DataOf("b")}, 4),
              HasSubstr("Join again with a token"));
  const privacy::NodeId before = CertificateOf("b").node_id;
  EXPECT_THAT(Join("b", Token()), HasSubstr("next: "));
  EXPECT_EQ(CertificateOf("b").node_id, before) << "its identity and data stay";
  const Node& other = StartOther("b", node_->federation_address());
  EXPECT_TRUE(AwaitAlive(*node_, 2));
  EXPECT_TRUE(test::WaitUntil([&] { return IsLinked(*node_, other.id()); }));
}

// Found by a review: the others are refused by the authority's node, so that its list never reaches
// them. They hear of the end in the TLS handshake.
TEST_F(NodeIssuerTest, RunningMembersHearThatTheirIssuerHasEnded) {
  Start();
  Join("b", Token());
  Join("thief", Token());
  const Node& other = StartOther("b", node_->federation_address());
  const Node& thief = StartOther("thief", other.federation_address());
  ASSERT_TRUE(test::WaitUntil([&] { return IsLinked(other, thief.id()); }));
  Replace({"--end-former"});
  EXPECT_TRUE(test::WaitUntil([&] { return !IsLinked(other, thief.id()); }));
  const auto says_so = [&] {
    const node::v1::GetStatusResponse status = StatusOf(other);
    return std::ranges::any_of(status.parts(), [](const auto& part) {
      return part.name() == "membership" &&
             part.problem().find("ISSUER_ENDED") != std::string::npos;
    });
  };
  EXPECT_TRUE(test::WaitUntil(says_so)) << "its operator has to make it join again";
}

// An operator who restores an old data folder brings the former key back.
TEST_F(NodeIssuerTest, AFormerKeyAdmitsNoNode) {
  Start();
  const std::string former = folder_ / "former";
  fs::create_directories(former);
  for (const char* file : {admission::kAuthorityKeyFile, admission::kIssuerFile}) {
    fs::copy(fs::path(DataOf("data")) / file, fs::path(former) / file);
  }
  Replace({"--end-former"});
  ASSERT_TRUE(test::WaitUntil([&] { return ListOf("data").issuer.number == 1U; }));
  node_.reset();
  for (const char* file : {admission::kAuthorityKeyFile, admission::kIssuerFile}) {
    fs::copy(fs::path(former) / file, fs::path(DataOf("data")) / file,
             fs::copy_options::overwrite_existing);
  }
  Start();
  EXPECT_THAT(Join("b", Token(), 1), HasSubstr("put the files of the later issuer in place"));
}

TEST_F(NodeIssuerTest, WhatKeepsAnOperatorFromReplacingItIsNamed) {
  Start();
  const std::string present = fs::path(DataOf("data")) / admission::kIssuerFile;
  EXPECT_THAT(Run({"cert", "issuer", "--root", folder_ / "none", "--former", present, "--out",
                   folder_ / "made"},
                  1),
              HasSubstr("[FILE_NOT_FOUND]"));
  EXPECT_THAT(
      Run({"cert", "issuer", "--root", Root(), "--former", present, "--out", DataOf("data")}, 1),
      HasSubstr("is not replaced"));
  EXPECT_THAT(Run({"cert", "issuer", "--root", fs::path(DataOf("data")) / admission::kNodeKeyFile,
                   "--former", present, "--out", folder_ / "made"},
                  1),
              HasSubstr("[KEY_INVALID]"));
  // The root of another cluster
  std::ostringstream out;
  cli::CommandContext context{.out = out, .err = out, .environment = {}};
  ASSERT_EQ(
      RunProgram({"init", "--data-dir", DataOf("other"), "--name", "o", "--authority"}, context),
      0);
  EXPECT_THAT(out.str(), HasSubstr("move the root key to a safe place"));
  EXPECT_THAT(Run({"cert", "issuer", "--root", fs::path(DataOf("other")) / admission::kRootKeyFile,
                   "--former", present, "--out", folder_ / "made"},
                  4),
              HasSubstr("[CERTIFICATE_FOREIGN]"));
}

// A crash of `init` between its files costs nothing.
TEST_F(NodeIssuerTest, FoundingGoesOnWhereItWasCutOff) {
  const std::string data = folder_ / "cut";
  const auto found = [&] { return admission::FoundAuthority(data, /*days=*/10, SystemClock()); };
  ASSERT_TRUE(MakeDataFolder(data).ok());
  const privacy::PublicKey root = found().value().public_key();
  fs::remove(fs::path(data) / admission::kIssuerFile);
  EXPECT_EQ(found().value().public_key(), root);
  fs::remove(fs::path(data) / admission::kIssuerFile);
  fs::remove(fs::path(data) / admission::kAuthorityKeyFile);
  EXPECT_EQ(found().value().public_key(), root);
  fs::remove(fs::path(data) / admission::kRootKeyFile);
  EXPECT_EQ(found().value().public_key(), root) << "nodes do not need the root's key";
  EXPECT_EQ(admission::RootIn(data).value(), root);
  fs::remove(fs::path(data) / admission::kIssuerFile);
  EXPECT_THAT(MessageOf(admission::RootIn(data).status()), HasSubstr("put authority.cert beside"));
}

}  // namespace
}  // namespace ruvd::node
