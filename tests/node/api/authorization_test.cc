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

#include "base/clock.h"
#include "base/file.h"
#include "base/reasons.h"
#include "base/status.h"
#include "node/api/callers.h"
#include "node/transport/api_keys.h"
#include "node/transport/tls.h"
#include "privacy/identity/admission.h"
#include "tests/node/key_line.h"
#include "tests/paths.h"

namespace ruvd::api {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAreArray;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::UnorderedElementsAre;

// Returns "/package.Service/Method" of every method in the folders of proto, and of reflection,
// whose proto is gRPC's own.
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
    const fs::path path = fs::relative(entry.path(), root);  // such as api/ruvd/node/v1/node.proto
    const auto* file = pool->FindFileByName(path.lexically_relative(*path.begin()).string());
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
    EXPECT_EQ(IsMetered(rule.method), rule.roles != 0 &&
                                          (rule.roles & privacy::roles::kObserver) == 0 &&
                                          rule.roles != privacy::roles::kAdmin);
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
       {"/ruvd.node.v1.NodeService/DropEverything", "", "/", "/ruvd.node.v1.NodeService/GetStatu",
        "/ruvd.node.v1.NodeService/GetStatuss"}) {
    EXPECT_FALSE(MayCall(method, privacy::roles::kAll)) << method;
  }
}

// The expected roles are written down separately from the table.
const std::set<std::string> kOfAnybody = {"Check", "Watch", "Link", "Join"};
const std::set<std::string> kOfObservers = {
    "ServerReflectionInfo", "DiffAdapters", "GetAdapter", "ListAdapters",
    "GetConsent",           "GetStatus",    "GetModel",   "ListModels",
    "GetLearningStatus",    "ListMembers",  "GetStats"};
const std::set<std::string> kOfContributors = {"Embed",          "Generate",      "Score",
                                               "Tokenize",       "ExportPattern", "ImportPattern",
                                               "SubmitFeedback", "GetPattern",    "ListPatterns",
                                               "SearchPatterns", "UpsertPattern", "WatchPatterns"};

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
    const auto call = AdmitCall(node_callers.get(), *context);
    callers.insert(call.ok() ? (*call)->caller().name : "");
    auto* reactor = new Reactor;
    reactor->Finish(grpc::Status::OK);
    return reactor;
  }
  std::shared_ptr<const Callers> node_callers;
  std::set<std::string> callers;
};

class KeyServerTest : public ::testing::Test {
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
    WriteKeys();
    keys_ = std::make_shared<transport::ApiKeys>(folder_ / "keys");
    ASSERT_TRUE(keys_->Reload().ok());
    service_.node_callers = std::make_shared<const Callers>(keys_, SystemClock());
    const auto credentials =
        transport::ServerCredentials(folder_ / "cert.pem", folder_ / "key.pem");
    credentials->SetAuthMetadataProcessor(MakeKeyProcessor(service_.node_callers));
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
  void WriteKeys(const std::string& extra = "") {
    std::string text = "# of the test\n";
    for (const char* role : {"observer", "contributor", "admin"}) {
      text += test::KeyLine(role, transport::ParseRoles(role).value(), KeyOf(role));
    }
    Write("keys", text + extra);
  }
  static std::string KeyOf(const std::string& role) {
    return role + std::string(limits::kMinApiKeyChars, '-');
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
  std::shared_ptr<transport::ApiKeys> keys_;
  Agreeable service_;
  std::unique_ptr<grpc::Server> server_;
  std::shared_ptr<grpc::Channel> channel_;
};

TEST_F(KeyServerTest, EveryMethodForEveryRole) {
  for (const std::string& method : MethodsOfTheProtos()) {
    for (const char* role : {"observer", "contributor", "admin"}) {
      EXPECT_EQ(Passed(Call(method, "Bearer " + KeyOf(role))), Expected(method, role))
          << method << " as " << role;
    }
    EXPECT_EQ(Passed(Call(method, "")), Expected(method, "nobody")) << method;
  }
  // The holders of the three keys, and of none for what needs none
  EXPECT_THAT(service_.callers,
              UnorderedElementsAre("", "key:observer", "key:contributor", "key:admin"));
}

TEST_F(KeyServerTest, WhoHasNoKnownKeyIsToldHowToGetOne) {
  const std::string method = "/ruvd.node.v1.NodeService/GetStatus";
  const grpc::Status none = Call(method, "");
  EXPECT_EQ(none.error_code(), grpc::StatusCode::UNAUTHENTICATED);
  EXPECT_THAT(none.error_message(), HasSubstr("--key-file"));
  EXPECT_THAT(none.error_message(), HasSubstr("Authorization: Bearer")) << "for callers of HTTP";
  const std::string key = KeyOf("admin");
  for (const std::string& header : {"Bearer x" + key, "Bearer " + key.substr(1), "bearer " + key,
                                    key, "Basic " + key, std::string("Bearer ")}) {
    const grpc::Status unknown = Call(method, header);
    EXPECT_EQ(unknown.error_code(), grpc::StatusCode::UNAUTHENTICATED) << header;
    EXPECT_THAT(unknown.error_message(), Not(HasSubstr(key)));
  }
  const grpc::Status weak =
      Call("/ruvd.node.v1.StoreService/EraseUser", "Bearer " + KeyOf("observer"));
  EXPECT_EQ(weak.error_code(), grpc::StatusCode::PERMISSION_DENIED);
  EXPECT_THAT(weak.error_message(), HasSubstr("EraseUser"));
}

TEST_F(KeyServerTest, KeysAreReadAgainAndADamagedFileChangesNothing) {
  const std::string method = "/ruvd.privacy.v1.PrivacyService/SetConsent";
  const std::string key(40, 'n');
  EXPECT_FALSE(Passed(Call(method, "Bearer " + key)));
  WriteKeys(test::KeyLine("new", privacy::roles::kObserver | privacy::roles::kAdmin, key));
  ASSERT_TRUE(keys_->Reload().ok());
  EXPECT_TRUE(Passed(Call(method, "Bearer " + key)));
  Write("keys", "admin short\n");
  EXPECT_EQ(ReasonOf(keys_->Reload()), reasons::kConfigInvalid);
  EXPECT_TRUE(Passed(Call(method, "Bearer " + key)));
}

}  // namespace
}  // namespace ruvd::api
