// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

// The unix socket on which a node serves the programs of its own user.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "base/reasons.h"
#include "base/status.h"
#include "node/client/client.h"
#include "node/client/local_server.h"
#include "node/program/program.h"
#include "node/reasons.h"
#include "node/socket_file.h"
#include "node/transport/tls.h"
#include "privacy/identity/admission.h"
#include "ruvd/adapter/v1/adapter.pb.h"
#include "ruvd/inference/v1/inference.pb.h"
#include "ruvd/node/v1/node.pb.h"
#include "tests/node/key_line.h"
#include "tests/node/node_fixture.h"

namespace ruvd::node {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

class NodeSocketTest : public NodeTest {
 protected:
  void SetUp() override {
    NodeTest::SetUp();
    // A short path, wherever the tests keep their files.
    std::string name = (fs::temp_directory_path() / "ruvd-XXXXXX").string();
    config_.node.data_dir = ::mkdtemp(name.data());
  }
  void TearDown() override {
    NodeTest::TearDown();
    fs::remove_all(config_.node.data_dir);
  }
  fs::path SocketPath() const { return fs::path(config_.node.data_dir) / kSocketFile; }
  std::string Server() const { return client::kUnixServer + SocketPath().string(); }
  absl::Status TryToStart() { return Node::Start(config_).status(); }
  // Runs `ruvd` with these arguments and returns what it wrote.
  static std::string Run(const std::vector<std::string>& arguments, int expected,
                         std::vector<std::pair<std::string, std::string>> environment = {}) {
    std::ostringstream out;
    cli::CommandContext context{.out = out, .err = out, .environment = std::move(environment)};
    context.server = "127.0.0.1:1";
    EXPECT_EQ(RunProgram(arguments, context), expected) << out.str();
    return out.str();
  }
  static absl::Status LoadNoAdapter(client::NodeClient& client) {
    adapter::v1::LoadAdapterRequest request;
    request.set_path("/no/such/file");
    return client.Call<adapter::v1::LoadAdapterResponse>(request).status();
  }
};

TEST_F(NodeSocketTest, TheClientsOfTheOwnUserAreServed) {
  Start();
  client::NodeClient client(Server());
  std::string text;
  EXPECT_TRUE(client
                  .Generate(Request("The old man walked", 8),
                            [&](const inference::v1::GenerateResponse& event) {
                              text += event.text_delta().text();
                            })
                  .ok());
  EXPECT_NE(text, "");
  EXPECT_TRUE(client.Healthy().value());
  const auto status = client.Call<node::v1::GetStatusResponse>(node::v1::GetStatusRequest());
  ASSERT_TRUE(status.ok()) << status.status();
  ASSERT_EQ(status->ports_size(), 2);
  EXPECT_EQ(status->ports(1).name(), "socket");
  EXPECT_EQ(status->ports(1).address(), Server());
  EXPECT_EQ(status->ports(1).connections(), 1u);
  EXPECT_EQ(status->ports(1).unproven(), 0u);
  EXPECT_EQ(status->ports(1).accepted(), 1u);
  EXPECT_EQ(ProblemOf("port socket"), "");
  struct stat file{};
  ASSERT_EQ(::lstat(SocketPath().c_str(), &file), 0);
  EXPECT_EQ(file.st_mode & 07777, 0600u);
  EXPECT_TRUE(node_->Drain(kDrain).ok());
  EXPECT_FALSE(fs::exists(SocketPath()));
}

TEST_F(NodeSocketTest, TheCommandLineFindsTheNodeOfItsUser) {
  Start();
  const std::vector<std::pair<std::string, std::string>> environment = {
      {"RUVD_NODE__DATA_DIR", config_.node.data_dir}};
  EXPECT_THAT(Run({"status"}, 0, environment), HasSubstr("serving"));
  EXPECT_THAT(Run({"status", "--server", Server()}, 0), HasSubstr("serving"));
  EXPECT_THAT(Run({"status", "--server", node_->api_address()}, 0, environment),
              HasSubstr("serving"));
  EXPECT_THAT(Run({"status", "--server", Server(), "--tls-ca", "system"}, 2),
              AllOf(HasSubstr(Server()), HasSubstr("leave out")));
  EXPECT_THAT(Run({"status", "--tls-ca", "system"}, 3, environment), HasSubstr("127.0.0.1:1"))
      << "TLS is for ports";
  EXPECT_THAT(Run({"--help"}, 0), HasSubstr("RUVD_NODE__DATA_DIR"));
  ASSERT_TRUE(node_->Drain(kDrain).ok());
  EXPECT_THAT(Run({"status"}, 3, environment), HasSubstr("127.0.0.1:1"));
  EXPECT_THAT(Run({"status", "--server", Server()}, 3),
              AllOf(HasSubstr(Server()), HasSubstr("no node serves this user")));
}

// Regression test: gRPC read the path as that of a URI, so that no client found such a node.
TEST_F(NodeSocketTest, ADataFolderMayHaveAnyName) {
  const fs::path folder = config_.node.data_dir;
  for (const char* name : {"n#1", "a?b", "50%41", "a b:c", "\xc3\xa4"}) {
    config_.node.data_dir = folder / name;
    Start();
    EXPECT_TRUE(client::NodeClient(Server()).Healthy().value_or(false)) << name;
    EXPECT_THAT(Run({"status"}, 0, {{"RUVD_NODE__DATA_DIR", config_.node.data_dir}}),
                HasSubstr("serving"))
        << name;
    node_.reset();
  }
  config_.node.data_dir = folder;
}

TEST_F(NodeSocketTest, ItNeedsNoKeyAndThePortStillDoes) {
  const auto write = [this](const std::string& name, const std::string& text) {
    const std::string path = folder_ / name;
    EXPECT_TRUE(WriteFileAtomically(path, text, 0600).ok());
    return path;
  };
  const transport::TlsCertificate certificate =
      transport::MakeSelfSignedCertificate("IP:127.0.0.1").value();
  config_.api.tls_cert = write("cert.pem", certificate.certificate);
  config_.api.tls_key = write("key.pem", certificate.private_key);
  config_.api.key_file =
      write("keys", test::KeyLine("boss", privacy::roles::kAdmin, std::string(40, 'a')));
  Start();
  client::NodeClient local(Server());
  EXPECT_TRUE(local.Call<node::v1::GetStatusResponse>(node::v1::GetStatusRequest()).ok());
  client::NodeClient remote(node_->api_address(),
                            {.tls = true, .roots = certificate.certificate, .key = ""});
  EXPECT_EQ(
      ReasonOf(remote.Call<node::v1::GetStatusResponse>(node::v1::GetStatusRequest()).status()),
      reasons::kCallerUnknown);
}

TEST_F(NodeSocketTest, PathsOverItAreLocalAndOverAnOpenPortAreNot) {
  config_.api.allow_remote = true;
  Start();
  client::NodeClient local(Server());
  client::NodeClient remote(node_->api_address());
  EXPECT_EQ(ReasonOf(LoadNoAdapter(remote)), reasons::kPathsAreLocal);
  const absl::Status tried = LoadNoAdapter(local);
  EXPECT_FALSE(tried.ok());
  EXPECT_NE(ReasonOf(tried), reasons::kPathsAreLocal);
}

TEST_F(NodeSocketTest, AnEmptyKeyMeansNoSocket) {
  config_.api.socket = "";
  Start();
  EXPECT_FALSE(fs::exists(SocketPath()));
  EXPECT_EQ(Status().ports_size(), 1);
}

TEST_F(NodeSocketTest, TheKeyMayNameAnotherPath) {
  config_.api.socket = (fs::path(config_.node.data_dir) / "other").string();
  Start();
  EXPECT_TRUE(fs::is_socket(config_.api.socket));
  client::NodeClient client(client::kUnixServer + config_.api.socket);
  EXPECT_TRUE(client.Healthy().value());
}

// A long data folder kept no node from starting before there was a socket.
TEST_F(NodeSocketTest, ADefaultPathThatIsTooLongKeepsNoNodeFromServing) {
  const fs::path folder = fs::path(config_.node.data_dir) / std::string(kMaxSocketPath, 'x');
  config_.node.data_dir = folder;
  Start();
  EXPECT_EQ(Status().ports_size(), 1);
  EXPECT_TRUE(Generate(Request("The old man walked", 4)).status.ok());
  node_.reset();
  config_.api.socket = "named";
  const absl::Status refused = TryToStart();
  EXPECT_EQ(ReasonOf(refused), reasons::kConfigInvalid);
  EXPECT_THAT(MessageOf(refused), HasSubstr("api.socket"));
  config_.node.data_dir = folder.parent_path();
}

TEST_F(NodeSocketTest, AFileInItsPlaceStopsTheStartAndStays) {
  std::ofstream(SocketPath()) << "precious";
  EXPECT_THAT(MessageOf(TryToStart()), HasSubstr("move it away"));
  EXPECT_EQ(fs::file_size(SocketPath()), 8u);
}

}  // namespace
}  // namespace ruvd::node
