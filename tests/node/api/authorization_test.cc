// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

// Tests who may call what: the rules against the protos, and a real server against the rules.

#include "node/api/authorization.h"

#include <gmock/gmock.h>
#include <google/protobuf/descriptor.h>
#include <grpcpp/generic/async_generic_service.h>
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <future>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "base/file.h"
#include "base/reasons.h"
#include "base/status.h"
#include "node/api/caller.h"
#include "node/limits.h"
#include "node/transport/api_tokens.h"
#include "node/transport/tls.h"
#include "privacy/identity/admission.h"
#include "tests/paths.h"

namespace ruvd::api {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAreArray;
using ::testing::HasSubstr;
using ::testing::Not;

// Returns "/package.Service/Method" of every method in the proto folder, and of reflection, whose
// proto is gRPC's own.
std::set<std::string> MethodsOfTheProtos() {
  const fs::path root = fs::path(test::SourceDir()) / "proto";
  const auto* const pool = google::protobuf::DescriptorPool::generated_pool();
  std::set<std::string> methods = {
      "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo"};
  for (const auto& entry : fs::recursive_directory_iterator(root)) {
    if (entry.path().extension() != ".proto" ||
        ReadFile(entry.path(), 1 << 20).value().find("\nservice ") == std::string::npos) {
      continue;
    }
    const auto* file = pool->FindFileByName(fs::relative(entry.path(), root).string());
    if (file == nullptr) {
      ADD_FAILURE() << entry.path() << " has a service that this program does not know";
      continue;
    }
    for (int s = 0; s < file->service_count(); ++s) {
      for (int m = 0; m < file->service(s)->method_count(); ++m) {
        methods.insert("/" + file->service(s)->full_name() + "/" +
                       file->service(s)->method(m)->name());
      }
    }
  }
  return methods;
}

TEST(AuthorizationTest, EveryMethodOfTheProtosHasARuleAndNoOtherOne) {
  std::vector<std::string> ruled;
  for (const RpcRule& rule : RpcRules()) {
    ruled.emplace_back(rule.method);
    EXPECT_EQ(rule.roles & ~privacy::roles::kAll, 0u) << rule.method;
    EXPECT_TRUE(rule.anybody || rule.roles != 0) << rule.method << " is nobody's";
  }
  std::set<std::string> methods = MethodsOfTheProtos();
  EXPECT_GE(methods.size(), 40u);
  // Its proto has only Check; the service of gRPC's library has Watch as well.
  methods.insert("/grpc.health.v1.Health/Watch");
  EXPECT_THAT(ruled, ElementsAreArray(methods));
}

TEST(AuthorizationTest, AMethodWithoutARuleIsNobodys) {
  for (const char* method :
       {"/ruvd.admin.v1.AdminService/DropEverything", "", "/",
        "/ruvd.admin.v1.AdminService/GetStatu", "/ruvd.admin.v1.AdminService/GetStatuss"}) {
    EXPECT_FALSE(MayCall(method, privacy::roles::kAll)) << method;
  }
}

// The expected roles are written down separately from the table.
const std::set<std::string> kOfAnybody = {"Check", "Watch", "Link", "Join"};
const std::set<std::string> kOfObservers = {"ServerReflectionInfo", "DiffAdapters", "GetAdapter",
                                            "ListAdapters",         "GetConsent",   "GetStatus",
                                            "GetLearningStatus",    "ListMembers",  "GetStats"};
const std::set<std::string> kOfContributors = {
    "Embed",      "Generate",     "Score",          "Tokenize",      "SubmitFeedback",
    "GetPattern", "ListPatterns", "SearchPatterns", "UpsertPattern", "WatchPatterns"};

bool Expected(const std::string& method, const std::string& role) {
  const std::string name = method.substr(method.rfind('/') + 1);
  if (kOfAnybody.contains(name) || role == "admin") {
    return true;
  }
  return (kOfObservers.contains(name) && (role == "observer" || role == "contributor")) ||
         (kOfContributors.contains(name) && role == "contributor");
}

// Answers every method, so that only the rules refuse calls.
class Agreeable final : public grpc::CallbackGenericService {
 public:
  grpc::ServerGenericBidiReactor* CreateReactor(
      grpc::GenericCallbackServerContext* context) override {
    struct Reactor final : grpc::ServerGenericBidiReactor {
      void OnDone() override { delete this; }
    };
    callers.insert(CallerOf(*context, /*has_tokens=*/true));
    auto* reactor = new Reactor;
    reactor->Finish(grpc::Status::OK);
    return reactor;
  }
  std::set<std::string> callers;
};

class TokenServerTest : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::path(::testing::TempDir()) /
              ::testing::UnitTest::GetInstance()->current_test_info()->name();
    fs::remove_all(folder_);
    fs::create_directories(folder_);
    ASSERT_TRUE(transport::RequireTls13().ok());
    certificate_ = transport::MakeSelfSignedCertificate("IP:127.0.0.1").value();
    Write("cert.pem", certificate_.certificate);
    Write("key.pem", certificate_.private_key);
    WriteTokens();
    tokens_ = std::make_shared<transport::ApiTokens>(folder_ / "tokens");
    ASSERT_TRUE(tokens_->Reload().ok());
    const auto credentials =
        transport::ServerCredentials(folder_ / "cert.pem", folder_ / "key.pem");
    credentials->SetAuthMetadataProcessor(MakeTokenProcessor(tokens_));
    int port = 0;
    grpc::ServerBuilder builder;
    builder.AddListeningPort("127.0.0.1:0", credentials, &port);
    builder.RegisterCallbackGenericService(&service_);
    server_ = builder.BuildAndStart();
    ASSERT_NE(server_, nullptr);
    grpc::SslCredentialsOptions trusting;
    trusting.pem_root_certs = certificate_.certificate;
    channel_ =
        grpc::CreateChannel("127.0.0.1:" + std::to_string(port), grpc::SslCredentials(trusting));
  }
  void TearDown() override {
    server_->Shutdown();
    fs::remove_all(folder_);
  }

  void Write(const std::string& name, const std::string& text) {
    ASSERT_TRUE(WriteFileAtomically(folder_ / name, text, 0600).ok());
  }
  void WriteTokens(const std::string& extra = "") {
    std::string text = "# of the test\n";
    for (const char* role : {"observer", "contributor", "admin"}) {
      text += std::string(role) + " " + TokenOf(role) + "\n";
    }
    Write("tokens", text + extra);
  }
  static std::string TokenOf(const std::string& role) {
    return role + std::string(limits::kMinApiTokenChars, '-');
  }
  // Calls with `header` as the caller's authorization, unless it is empty.
  grpc::Status Call(const std::string& method, const std::string& header) {
    grpc::ClientContext context;
    if (!header.empty()) {
      context.AddMetadata("authorization", header);
    }
    const grpc::Slice empty_message("");
    grpc::ByteBuffer request(&empty_message, 1);
    grpc::ByteBuffer response;
    std::promise<grpc::Status> done;
    grpc::GenericStub(channel_).UnaryCall(
        &context, method, grpc::StubOptions(), &request, &response,
        [&done](grpc::Status status) { done.set_value(std::move(status)); });
    return done.get_future().get();
  }
  // Whether the rules let the call pass. The service itself returns nothing useful.
  static bool Passed(const grpc::Status& status) {
    return status.error_code() != grpc::StatusCode::UNAUTHENTICATED &&
           status.error_code() != grpc::StatusCode::PERMISSION_DENIED;
  }

  fs::path folder_;
  transport::TlsCertificate certificate_;
  std::shared_ptr<transport::ApiTokens> tokens_;
  Agreeable service_;
  std::unique_ptr<grpc::Server> server_;
  std::shared_ptr<grpc::Channel> channel_;
};

TEST_F(TokenServerTest, EveryMethodForEveryRole) {
  for (const std::string& method : MethodsOfTheProtos()) {
    for (const char* role : {"observer", "contributor", "admin"}) {
      EXPECT_EQ(Passed(Call(method, "Bearer " + TokenOf(role))), Expected(method, role))
          << method << " as " << role;
    }
    EXPECT_EQ(Passed(Call(method, "")), Expected(method, "nobody")) << method;
  }
  // The holders of the three tokens, and of none for what needs none
  EXPECT_EQ(service_.callers.size(), 4U);
  for (const std::string& caller : service_.callers) {
    EXPECT_EQ(caller.find("---"), std::string::npos) << "a name holds no token";
  }
}

TEST_F(TokenServerTest, WhoHasNoKnownTokenIsToldHowToGetOne) {
  const std::string method = "/ruvd.admin.v1.AdminService/GetStatus";
  const grpc::Status none = Call(method, "");
  EXPECT_EQ(none.error_code(), grpc::StatusCode::UNAUTHENTICATED);
  EXPECT_THAT(none.error_message(), HasSubstr("--token-file"));
  EXPECT_THAT(none.error_message(), HasSubstr("Authorization: Bearer")) << "for callers of HTTP";
  const std::string token = TokenOf("admin");
  for (const std::string& header :
       {"Bearer x" + token, "Bearer " + token.substr(1), "bearer " + token, token, "Basic " + token,
        std::string("Bearer ")}) {
    const grpc::Status unknown = Call(method, header);
    EXPECT_EQ(unknown.error_code(), grpc::StatusCode::UNAUTHENTICATED) << header;
    EXPECT_THAT(unknown.error_message(), Not(HasSubstr(token)));
  }
  const grpc::Status weak =
      Call("/ruvd.admin.v1.AdminService/EraseUser", "Bearer " + TokenOf("observer"));
  EXPECT_EQ(weak.error_code(), grpc::StatusCode::PERMISSION_DENIED);
  EXPECT_THAT(weak.error_message(), HasSubstr("EraseUser"));
}

TEST_F(TokenServerTest, TokensAreReadAgainAndADamagedFileChangesNothing) {
  const std::string method = "/ruvd.admin.v1.AdminService/SetConsent";
  const std::string header = "Bearer " + std::string(40, 'n');
  EXPECT_FALSE(Passed(Call(method, header)));
  WriteTokens("observer,admin " + std::string(40, 'n') + "\n");
  ASSERT_TRUE(tokens_->Reload().ok());
  EXPECT_TRUE(Passed(Call(method, header)));
  Write("tokens", "admin short\n");
  EXPECT_EQ(ReasonOf(tokens_->Reload()), reasons::kConfigInvalid);
  EXPECT_TRUE(Passed(Call(method, header)));
}

TEST_F(TokenServerTest, AFileThatIsNoListOfTokensIsRefusedWithoutItsSecrets) {
  const std::string token(40, 's');
  for (const std::string& text :
       {"root " + token, token, "admin," + token, "admin " + token + "\nadmin " + token,
        "admin " + token + " x", std::string("# nothing\n\n"), std::string(),
        "admin " + std::string(limits::kMaxApiTokenChars + 1, 's')}) {
    Write("tokens", text);
    const absl::Status refused = tokens_->Reload();
    EXPECT_EQ(ReasonOf(refused), reasons::kConfigInvalid) << text;
    EXPECT_THAT(MessageOf(refused), Not(HasSubstr("ssss")));
  }
  fs::permissions(folder_ / "tokens", fs::perms::group_read, fs::perm_options::add);
  EXPECT_EQ(ReasonOf(tokens_->Reload()), reasons::kKeyFileMode);
}

TEST_F(TokenServerTest, AClientReadsItsTokenFromALineOfTheNodesFile) {
  EXPECT_EQ(transport::ReadClientToken(folder_ / "tokens").value(), TokenOf("observer"));
  Write("mine", "\n" + TokenOf("admin") + "\n");
  EXPECT_EQ(transport::ReadClientToken(folder_ / "mine").value(), TokenOf("admin"));
  Write("mine", "# none\n");
  EXPECT_EQ(ReasonOf(transport::ReadClientToken(folder_ / "mine").status()),
            reasons::kConfigInvalid);
}

}  // namespace
}  // namespace ruvd::api
