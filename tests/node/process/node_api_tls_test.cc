// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

// Tests a running node whose client API requires TLS and a key.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>
#include <string>
#include <vector>

#include "base/file.h"
#include "base/reasons.h"
#include "base/status.h"
#include "node/client/client.h"
#include "node/program/program.h"
#include "node/reasons.h"
#include "node/transport/tls.h"
#include "privacy/identity/admission.h"
#include "ruvd/inference/v1/inference.pb.h"
#include "ruvd/node/v1/node.pb.h"
#include "tests/node/key_line.h"
#include "tests/node/node_fixture.h"

namespace ruvd::node {
namespace {

using ::testing::HasSubstr;

class NodeApiTlsTest : public NodeTest {
 protected:
  void SetUp() override {
    NodeTest::SetUp();
    certificate_ = transport::MakeSelfSignedCertificate("IP:127.0.0.1").value();
    config_.api.tls_cert = Write("cert.pem", certificate_.certificate);
    config_.api.tls_key = Write("key.pem", certificate_.private_key);
    config_.api.key_file =
        Write("keys", test::KeyLine("looker", privacy::roles::kObserver, kObserver) +
                          test::KeyLine("boss", privacy::roles::kAdmin, kAdmin));
    auto node = Node::Start(config_);
    ASSERT_TRUE(node.ok()) << node.status();
    node_ = *std::move(node);
  }
  std::string Write(const std::string& name, const std::string& text) {
    const std::string path = folder_ / name;
    EXPECT_TRUE(WriteFileAtomically(path, text, 0600).ok());
    return path;
  }
  client::NodeClient Client(const std::string& key) const {
    return client::NodeClient(node_->api_address(),
                              {.tls = true, .roots = certificate_.certificate, .key = key});
  }
  // Runs `ruvd` with these arguments and returns what it wrote.
  std::string Run(std::vector<std::string> arguments, int expected) {
    std::ostringstream out;
    cli::CommandContext context{.out = out, .err = out, .environment = {}};
    arguments.insert(arguments.end(), {"--server", node_->api_address()});
    EXPECT_EQ(RunProgram(arguments, context), expected) << out.str();
    return out.str();
  }

  const std::string kObserver = std::string(40, 'o');
  const std::string kAdmin = std::string(40, 'a');
  transport::TlsCertificate certificate_;
};

TEST_F(NodeApiTlsTest, AKeyOpensWhatItsRoleAllows) {
  client::NodeClient observer = Client(kObserver);
  const auto status = observer.Call<node::v1::GetStatusResponse>(node::v1::GetStatusRequest());
  ASSERT_TRUE(status.ok()) << status.status();
  EXPECT_EQ(status->node().state(), node::v1::NODE_STATE_SERVING);
  EXPECT_EQ(
      ReasonOf(observer.Call<node::v1::EraseUserResponse>(node::v1::EraseUserRequest()).status()),
      reasons::kRoleMissing);
  inference::v1::TokenizeRequest request;
  request.set_text("hello");
  EXPECT_EQ(ReasonOf(observer.Call<inference::v1::TokenizeResponse>(request).status()),
            reasons::kRoleMissing);
  client::NodeClient admin = Client(kAdmin);
  EXPECT_TRUE(admin.Call<inference::v1::TokenizeResponse>(request).ok());
  client::NodeClient nobody = Client("");
  EXPECT_EQ(
      ReasonOf(nobody.Call<node::v1::GetStatusResponse>(node::v1::GetStatusRequest()).status()),
      reasons::kCallerUnknown);
  EXPECT_TRUE(nobody.Healthy().value());
}

TEST_F(NodeApiTlsTest, WhoTrustsAnotherCertificateOrSpeaksPlainTextIsToldWhy) {
  const transport::TlsCertificate other =
      transport::MakeSelfSignedCertificate("IP:127.0.0.1").value();
  client::NodeClient misled(node_->api_address(),
                            {.tls = true, .roots = other.certificate, .key = kAdmin});
  const absl::Status refused =
      misled.Call<node::v1::GetStatusResponse>(node::v1::GetStatusRequest()).status();
  EXPECT_EQ(ReasonOf(refused), reasons::kNodeUnreachable);
  EXPECT_THAT(MessageOf(refused), HasSubstr("--tls-ca"));
  client::NodeClient plain(node_->api_address());
  EXPECT_THAT(
      MessageOf(plain.Call<node::v1::GetStatusResponse>(node::v1::GetStatusRequest()).status()),
      HasSubstr("--tls-ca"));
}

TEST_F(NodeApiTlsTest, TheCommandLineTakesCertificateAndKeyFromFiles) {
  const std::string key = Write("mine", kObserver + "\n");
  const std::string roots = config_.api.tls_cert;
  EXPECT_THAT(Run({"status", "--tls-ca", roots, "--key-file", key}, 0), HasSubstr("serving"));
  EXPECT_THAT(Run({"status", "--tls-ca", roots}, 4), HasSubstr("[CALLER_UNKNOWN]"));
  EXPECT_THAT(Run({"learn", "pause", "--tls-ca", roots, "--key-file", key}, 4),
              HasSubstr("[ROLE_MISSING]"));
  EXPECT_THAT(Run({"status", "--tls-ca", roots, "--key-file", folder_ / "none"}, 1),
              HasSubstr("[FILE_NOT_FOUND]"));
}

TEST_F(NodeApiTlsTest, ARevokedKeyIsOverWithoutARestart) {
  client::NodeClient observer = Client(kObserver);
  ASSERT_TRUE(observer.Call<node::v1::GetStatusResponse>(node::v1::GetStatusRequest()).ok());
  Write("keys", test::KeyLine("boss", privacy::roles::kAdmin, kAdmin));
  ASSERT_TRUE(node_->ReloadCredentials().ok());
  EXPECT_EQ(
      ReasonOf(observer.Call<node::v1::GetStatusResponse>(node::v1::GetStatusRequest()).status()),
      reasons::kCallerUnknown);
  Write("keys", "nonsense\n");
  EXPECT_EQ(ReasonOf(node_->ReloadCredentials()), reasons::kConfigInvalid);
  client::NodeClient admin = Client(kAdmin);
  EXPECT_TRUE(admin.Call<node::v1::GetStatusResponse>(node::v1::GetStatusRequest()).ok());
}

TEST_F(NodeApiTlsTest, AKeyOfAnotherCertificateKeepsTheNodeFromStarting) {
  ASSERT_TRUE(node_->Drain(kDrain).ok());
  node_.reset();
  config_.api.tls_key =
      Write("other.pem", transport::MakeSelfSignedCertificate().value().private_key);
  const absl::Status refused = Node::Start(config_).status();
  EXPECT_EQ(ReasonOf(refused), reasons::kConfigInvalid);
  EXPECT_THAT(MessageOf(refused), HasSubstr("other.pem"));
}

}  // namespace
}  // namespace ruvd::node
