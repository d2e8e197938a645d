// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <future>
#include <iostream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "base/bytes.h"
#include "base/file.h"
#include "base/reasons.h"
#include "base/status.h"
#include "inference/gguf/quantize.h"
#include "inference/gguf/writer.h"
#include "node/admission/authority_files.h"
#include "node/admission/identity.h"
#include "node/admission/revocation_file.h"
#include "node/local/demo/ports.h"
#include "node/program/program.h"
#include "node/reasons.h"
#include "node/terminal/exit_code.h"
#include "node/version.h"
#include "privacy/sodium.h"
#include "tests/paths.h"

namespace ruvd::node {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

class CliCommandTest : public ::testing::Test {
 protected:
  CliCommandTest() {
    const auto* test = ::testing::UnitTest::GetInstance()->current_test_info();
    folder_ = std::filesystem::path(::testing::TempDir()) / test->test_suite_name() / test->name();
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_);
  }
  ~CliCommandTest() override { std::filesystem::remove_all(folder_); }

  int Run(const std::vector<std::string>& arguments) {
    out_.str("");
    err_.str("");
    cli::CommandContext context{.out = out_, .err = err_, .environment = environment_};
    return RunProgram(arguments, context, [this](const config::NodeConfig& config) {
      started_ = config;
      return absl::StatusOr<std::unique_ptr<Node>>(Error(
          absl::StatusCode::kFailedPrecondition, reasons::kModelCorrupt, "no model; get one"));
    });
  }
  // Returns the error, which must be one line.
  std::string ErrorText() const {
    const std::string text = err_.str();
    EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 1) << text;
    return text;
  }

  std::filesystem::path folder_;
  std::vector<std::pair<std::string, std::string>> environment_;
  std::ostringstream out_;
  std::ostringstream err_;
  std::optional<config::NodeConfig> started_;
};

TEST_F(CliCommandTest, VersionIsTheOneOfTheBuild) {
  EXPECT_EQ(Run({"version"}), 0);
  EXPECT_EQ(out_.str(), std::string("ruvd ") + kVersion + "\n");
  std::ifstream file(test::SourceDir() + "/CMakeLists.txt");
  const std::string cmake((std::istreambuf_iterator<char>(file)), {});
  EXPECT_THAT(cmake, HasSubstr(std::string("VERSION ") + kVersion + " LANGUAGES"));
}

TEST_F(CliCommandTest, HelpListsEveryVerbAndSucceeds) {
  EXPECT_EQ(Run({"--help"}), 0);
  for (const char* verb : {"demo", "tour", "serve", "init", "run", "rate", "pattern", "consent",
                           "status", "members", "health", "model", "config"}) {
    EXPECT_THAT(out_.str(), HasSubstr(verb));
  }
  EXPECT_EQ(Run({"run", "--help"}), 0);
  EXPECT_THAT(out_.str(), HasSubstr("--temperature"));
  EXPECT_EQ(Run({"pattern", "ls", "--help"}), 0);
  EXPECT_THAT(out_.str(), HasSubstr("Usage: ruvd pattern ls "));
}

TEST_F(CliCommandTest, AnUnknownFlagIsNamedWithTheClosestOne) {
  EXPECT_EQ(Run({"run", "--sedd", "5", "hello"}), 2);
  EXPECT_THAT(ErrorText(), AllOf(HasSubstr("`ruvd run` has no flag --sedd"),
                                 HasSubstr("did you mean --seed?"), HasSubstr("[UNKNOWN_FLAG]")));
  EXPECT_EQ(Run({"status", "--sever=x"}), 2);
  EXPECT_THAT(ErrorText(), HasSubstr("no flag --sever; did you mean --server?"));
  EXPECT_EQ(Run({"serve", "--inference.thread", "2"}), 2);
  EXPECT_THAT(ErrorText(), HasSubstr("did you mean --inference.threads?"));
}

TEST_F(CliCommandTest, UnknownVerbsAndMissingArgumentsAreUsageErrors) {
  EXPECT_EQ(Run({"stauts"}), 2);
  EXPECT_THAT(ErrorText(), HasSubstr("did you mean status?"));
  EXPECT_EQ(Run({"pattern", "lss"}), 2);
  EXPECT_THAT(ErrorText(), AllOf(HasSubstr("ruvd pattern"), HasSubstr("lss")));
  EXPECT_EQ(Run({"pattern"}), 2);
  EXPECT_THAT(ErrorText(), HasSubstr("needs one of: ls, show, rm, search"));
  EXPECT_EQ(Run({}), 2);
  EXPECT_EQ(Run({"run"}), 2);
  EXPECT_THAT(ErrorText(), AllOf(HasSubstr("prompt"), HasSubstr("ruvd run --help")));
  EXPECT_EQ(Run({"run", "a", "b"}), 2);
  EXPECT_EQ(Run({"run", "a", "--seed", "x"}), 2);
  EXPECT_THAT(ErrorText(), HasSubstr("--seed"));
  EXPECT_EQ(Run({"status", "--format", "xml"}), 2);
  EXPECT_EQ(Run({"consent", "grant"}), 2);
  EXPECT_EQ(Run({"demo", "--nodes", "0"}), 2);
  // Flags that would have no effect are refused.
  EXPECT_EQ(Run({"pattern", "watch", "--log", "1"}), 2);
  EXPECT_EQ(Run({"store", "restore", "--from", "x", "--verify", "--accept-older-ledger"}), 2);
  EXPECT_EQ(Run({"store", "backup", "--running", "--node.data_dir", "x"}), 2);
  EXPECT_EQ(Run({"store", "erase", "--running", "--user", "a", "--config", "x"}), 2);
}

TEST_F(CliCommandTest, NobodyListeningIsNotReadyAndSaysWhatToStart) {
  auto port = cli::FreePorts().Take(0);
  ASSERT_TRUE(port.ok());
  const std::string server = "127.0.0.1:" + std::to_string(*port);
  EXPECT_EQ(Run({"run", "hello", "--server", server}), 3);
  EXPECT_THAT(ErrorText(), AllOf(HasSubstr(server), HasSubstr("ruvd demo"), HasSubstr("ruvd serve"),
                                 HasSubstr("[NODE_UNREACHABLE]")));
  environment_ = {{"RUVD_SERVER", server}};
  EXPECT_EQ(Run({"health"}), 3);
  EXPECT_THAT(ErrorText(), HasSubstr(server));
}

TEST_F(CliCommandTest, ChatFlagsAreCheckedBeforeTheNodeIsAsked) {
  EXPECT_EQ(Run({"run", "Hello", "--message", "tool=x"}), 2);
  EXPECT_THAT(ErrorText(), HasSubstr("ROLE=TEXT"));
  EXPECT_EQ(Run({"run", "Hello", "--chat", "--infill"}), 2);
  EXPECT_THAT(ErrorText(), HasSubstr("--infill"));
  EXPECT_EQ(Run({"run", "Hello", "--system", "Be brief.", "--suffix", "x"}), 2);
  EXPECT_THAT(ErrorText(), HasSubstr("--suffix"));
}

TEST_F(CliCommandTest, UndoWantsATokenOrLastAndImplicitSignalsStandAlone) {
  EXPECT_EQ(Run({"rate", "r1", "--copied", "--regenerated"}), 2);
  EXPECT_EQ(Run({"rate", "r1", "good", "--meta", "novalue"}), 2);
  EXPECT_EQ(Run({"undo"}), 2);
  EXPECT_EQ(Run({"undo", "1-00000000", "--last"}), 2);
  EXPECT_EQ(Run({"learn"}), 2);
}

TEST_F(CliCommandTest, RateWantsExactlyOneSignal) {
  environment_ = {{"XDG_STATE_HOME", folder_}};
  EXPECT_EQ(Run({"rate", "r1"}), 2);
  EXPECT_EQ(Run({"rate", "r1", "good", "--accept"}), 2);
  EXPECT_EQ(Run({"rate", "r1", "1.5"}), 2);
  EXPECT_THAT(ErrorText(), HasSubstr("1.5"));
  EXPECT_EQ(Run({"rate", "last", "good"}), 1);
  EXPECT_THAT(ErrorText(), AllOf(HasSubstr("ruvd run"), HasSubstr("[UNKNOWN_RESPONSE]")));
}

TEST_F(CliCommandTest, ConfigShowTellsOrigins) {
  environment_ = {{"RUVD_INFERENCE__QUEUE", "5"}};
  EXPECT_EQ(Run({"config", "show", "--origin", "--inference.threads", "3"}), 0);
  EXPECT_THAT(out_.str(),
              ::testing::ContainsRegex("inference.queue +5 +env RUVD_INFERENCE__QUEUE"));
  EXPECT_THAT(out_.str(), ::testing::ContainsRegex("inference.threads +3 +flag"));
  EXPECT_THAT(out_.str(), ::testing::ContainsRegex("storage.session_days +7 +default"));
  EXPECT_EQ(Run({"config", "check"}), 2);
  EXPECT_THAT(ErrorText(), AllOf(HasSubstr("node.data_dir"), HasSubstr("[CONFIG_INVALID]")));
  EXPECT_EQ(Run({"config", "check", "--node.data_dir", "d", "--model.path", "m"}), 0);
  EXPECT_EQ(
      Run({"config", "check", "--node.data_dir", "d", "--model.path", "m", "--format", "json"}), 0);
  EXPECT_THAT(out_.str(), testing::EndsWith("{\"complete\":true}\n"));
}

TEST_F(CliCommandTest, ServePassesTheConfigurationAndReportsAFailedStart) {
  EXPECT_EQ(Run({"serve", "--node.data_dir", "d", "--model.path", "m", "--log.level", "error"}), 1);
  ASSERT_TRUE(started_.has_value());
  EXPECT_EQ(started_->model.path, "m");
  EXPECT_EQ(ErrorText(), "ruvd: no model; get one [MODEL_CORRUPT]\n");
  EXPECT_EQ(Run({"serve"}), 2);
}

// Finds out that it cannot go on as soon as it serves.
class DeafNode final : public Node {
 public:
  explicit DeafNode(bool& drained) : drained_(drained) {}
  std::string api_address() const override { return "127.0.0.1:1"; }
  std::string federation_address() const override { return ""; }
  std::string http_address() const override { return ""; }
  std::string metrics_address() const override { return ""; }
  std::string id() const override { return "00"; }
  absl::Status ReloadCredentials() override { return absl::OkStatus(); }
  absl::Status failure() const override {
    return Error(absl::StatusCode::kInternal, reasons::kPortDeaf, "the port api is deaf");
  }
  absl::Status Drain(Duration) override {
    drained_ = true;
    return absl::OkStatus();
  }

 private:
  bool& drained_;
};

TEST(CliServeTest, ANodeThatCannotGoOnIsStoppedAndFailsTheProcess) {
  std::ostringstream out;
  std::ostringstream err;
  cli::CommandContext context{.out = out, .err = err, .environment = {}};
  bool drained = false;
  EXPECT_EQ(RunProgram({"serve", "--node.data_dir", "d", "--model.path", "m"}, context,
                       [&](const config::NodeConfig&) -> absl::StatusOr<std::unique_ptr<Node>> {
                         return std::make_unique<DeafNode>(drained);
                       }),
            1);
  EXPECT_TRUE(drained);
  EXPECT_EQ(err.str(), "ruvd: the port api is deaf [PORT_DEAF]\n");
}

// Receives the signal to stop as soon as it serves, and never ends.
class HangingNode final : public Node {
 public:
  HangingNode() { ::kill(::getpid(), SIGTERM); }
  std::string api_address() const override { return "127.0.0.1:1"; }
  std::string federation_address() const override { return ""; }
  std::string http_address() const override { return ""; }
  std::string metrics_address() const override { return ""; }
  std::string id() const override { return "00"; }
  absl::Status ReloadCredentials() override { return absl::OkStatus(); }
  absl::Status failure() const override { return absl::OkStatus(); }
  absl::Status Drain(Duration) override {
    std::promise<void>().get_future().wait();
    return absl::OkStatus();
  }
};

void ServeAHangingNode() {
  cli::CommandContext context{.out = std::cout, .err = std::cerr};
  context.stop_limit = Duration::zero();
  RunProgram({"serve", "--node.data_dir", "d", "--model.path", "m"}, context,
             [](const config::NodeConfig&) -> absl::StatusOr<std::unique_ptr<Node>> {
               return std::make_unique<HangingNode>();
             });
}

TEST(CliServeDeathTest, ANodeThatHungKeptTheProcess) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(ServeAHangingNode(), ::testing::ExitedWithCode(1), "did not stop in time");
}

TEST_F(CliCommandTest, InitMakesANodeThatItsAuthorityVouchesFor) {
  const std::string data = folder_ / "node";
  ASSERT_EQ(Run({"init", "--data-dir", data, "--name", "alpha", "--authority", "--format", "json"}),
            0)
      << err_.str();
  const auto json = nlohmann::json::parse(out_.str());
  auto bytes = ReadFile(data + "/" + admission::kNodeCertificateFile, 4096);
  ASSERT_TRUE(bytes.ok()) << bytes.status();
  auto certificate = privacy::AdmissionCert::Parse(AsBytes(*bytes));
  ASSERT_TRUE(certificate.ok()) << certificate.status();
  auto authority = admission::ParsePublicKey(json["authority"].get<std::string>());
  ASSERT_TRUE(authority.ok());
  EXPECT_TRUE(certificate->Verify(*authority, SystemClock().WallMillis()).ok());
  EXPECT_EQ(ToHex(certificate->node_id), json["id"]);
  EXPECT_EQ(certificate->name, "alpha");
  EXPECT_EQ(Run({"config", "check", "--config", data + "/ruvd.toml", "--model.path", "m"}), 0)
      << err_.str();

  // A second node asks, and the first one's authority answers.
  const std::string other = folder_ / "other";
  ASSERT_EQ(Run({"init", "--data-dir", other, "--name", "beta", "--format", "json"}), 0);
  const std::string key = nlohmann::json::parse(out_.str())["public_key"];
  EXPECT_EQ(Run({"cert", "issue", "--authority", data + "/" + admission::kAuthorityKeyFile, "--key",
                 key, "--name", "beta", "--out", other + "/" + admission::kNodeCertificateFile}),
            0)
      << err_.str();
  EXPECT_EQ(Run({"cert", "issue", "--authority", data + "/" + admission::kAuthorityKeyFile, "--key",
                 "ab", "--name", "beta", "--out", other + "/x"}),
            1);
  EXPECT_THAT(ErrorText(), HasSubstr("[KEY_INVALID]"));
  EXPECT_EQ(Run({"cert", "issue", "--authority", data + "/absent", "--key", key, "--name", "beta",
                 "--out", other + "/x"}),
            1);
  EXPECT_THAT(ErrorText(), HasSubstr("[FILE_NOT_FOUND]"));

  // It signs a revocation list, and knows whom it revoked.
  admission::RevocationFile revocations(data);
  EXPECT_EQ(revocations.Load(*authority).value().number, 1u);
  const auto issuer =
      privacy::ClusterAuthority::Load(data + "/" + admission::kAuthorityKeyFile).value();
  const privacy::NodeId id = privacy::NodeIdOf(admission::ParsePublicKey(key).value());
  ASSERT_TRUE(revocations.Add(id, SystemClock().WallMillis(), issuer).ok());
  EXPECT_NE(Run({"cert", "issue", "--authority", data + "/" + admission::kAuthorityKeyFile, "--key",
                 key, "--name", "beta", "--out", other + "/x"}),
            0);
  EXPECT_THAT(ErrorText(), HasSubstr("[NODE_REVOKED]"));
}

TEST_F(CliCommandTest, FoundingAgainTookANodeOutOfItsCluster) {
  const std::string data = folder_ / "node";
  const std::string certificate = data + "/" + admission::kNodeCertificateFile;
  const auto init = [&](const std::string& name) {
    return Run({"init", "--data-dir", data, "--name", name, "--authority"});
  };
  ASSERT_EQ(init("alpha"), 0) << err_.str();
  EXPECT_EQ(init("alpha"), 0) << "the same again: " << err_.str();
  EXPECT_EQ(init("beta"), 1);
  EXPECT_THAT(ErrorText(), HasSubstr("give --name alpha"));

  // Its operator keeps the authority elsewhere.
  const std::string before = ReadFile(certificate, 4096).value();
  for (const char* file :
       {admission::kAuthorityKeyFile, admission::kIssuerFile, admission::kRootKeyFile}) {
    std::filesystem::rename(data + "/" + file, folder_ / file);
  }
  EXPECT_EQ(init("alpha"), 4);
  EXPECT_THAT(ErrorText(), HasSubstr("[CERTIFICATE_FOREIGN]"));
  EXPECT_FALSE(std::filesystem::exists(data + "/" + admission::kAuthorityKeyFile));
  EXPECT_EQ(ReadFile(certificate, 4096).value(), before);
  std::filesystem::remove(data + "/" + admission::kConfigFile);
  EXPECT_EQ(init("alpha"), 4) << "nor by the certificate alone";
}

TEST_F(CliCommandTest, ARelativeFolderWasAnotherOneForWhoeverStartedElsewhere) {
  const std::string relative = std::filesystem::relative(folder_ / "node");
  ASSERT_EQ(Run({"init", "--data-dir", relative, "--name", "alpha"}), 0) << err_.str();
  const auto config =
      config::LoadConfig(folder_ / "node" / admission::kConfigFile, {}, {}, nullptr);
  ASSERT_TRUE(config.ok()) << config.status();
  EXPECT_TRUE(std::filesystem::path(config->node.data_dir).is_absolute());
  EXPECT_TRUE(std::filesystem::equivalent(config->node.data_dir, folder_ / "node"));
}

TEST_F(CliCommandTest, ANameThatNoCertificateCanHoldIsRefusedFirst) {
  for (const std::string& name : {std::string(), std::string(33, 'x'), std::string("a b")}) {
    EXPECT_EQ(Run({"init", "--data-dir", folder_ / "node", "--name", name}), 1) << name;
    EXPECT_THAT(ErrorText(), HasSubstr("1 to 32 printable characters"));
  }
  EXPECT_FALSE(std::filesystem::exists(folder_ / "node"));
}

TEST_F(CliCommandTest, ModelBackendsSaysWhatIsUsedAndWhy) {
  ASSERT_EQ(Run({"model", "backends", "--format", "json"}), 0) << err_.str();
  const auto json = nlohmann::json::parse(out_.str());
  const auto& cpu = json.at("backends").back();
  EXPECT_EQ(cpu.at("name"), "cpu");
  EXPECT_EQ(cpu.at("available"), true);
  EXPECT_GE(cpu.at("threads"), 1);
  int used = 0;
  for (const auto& kernels : json.at("kernels")) {
    EXPECT_NE(kernels.at("reason"), "");
    used += kernels.at("used").get<bool>() ? 1 : 0;
    EXPECT_TRUE(kernels.at("available").get<bool>() || !kernels.at("used").get<bool>());
  }
  EXPECT_EQ(used, 1);
  ASSERT_EQ(Run({"model", "backends"}), 0);
  EXPECT_THAT(out_.str(), AllOf(HasSubstr("BACKEND"), HasSubstr("CPU KERNELS")));
}

TEST_F(CliCommandTest, ModelErrorsNameTheFile) {
  const std::string broken = folder_ / "broken.gguf";
  std::ofstream(broken) << "GGUF";
  EXPECT_EQ(Run({"model", "inspect", broken}), 1);
  EXPECT_THAT(ErrorText(), AllOf(StartsWith("ruvd: "), HasSubstr("[MODEL_CORRUPT]")));
  EXPECT_EQ(Run({"model", "inspect", folder_ / "absent.gguf"}), 1);
  EXPECT_THAT(ErrorText(), HasSubstr("[FILE_NOT_FOUND]"));
  EXPECT_EQ(Run({"demo", "--model", folder_ / "absent.gguf"}), 1);
  EXPECT_THAT(ErrorText(), AllOf(HasSubstr("absent.gguf"), HasSubstr("--model")));
}

// Writes a file with one matrix and one norm.
std::string SmallModel() {
  inference::GgufWriter writer;
  writer.SetString("general.architecture", "dream");
  writer.SetUnsigned32("dream.block_count", 1);
  const std::vector<float> values(64 * 2, 0.25F);
  writer.AddTensor("blk.0.attn_q.weight", inference::TensorType::kF16, std::vector<uint64_t>{64, 2},
                   Quantize(inference::TensorType::kF16, values).value());
  writer.AddTensor("output_norm.weight", inference::TensorType::kF32, std::vector<uint64_t>{64},
                   Quantize(inference::TensorType::kF32, std::span(values).first(64)).value());
  return writer.Serialize().value();
}

TEST_F(CliCommandTest, ModelInspectListsKeysAndTensors) {
  const std::string path = folder_ / "model.gguf";
  ASSERT_TRUE(WriteFileAtomically(path, SmallModel()).ok());
  EXPECT_EQ(Run({"model", "inspect", path, "--keys", "--tensors"}), 0);
  EXPECT_THAT(out_.str(), AllOf(HasSubstr("dream.block_count"), HasSubstr("\"dream\""),
                                HasSubstr("blk.0.attn_q.weight"), HasSubstr("2 x 64")));
  EXPECT_EQ(Run({"model", "inspect", path, "--keys", "--tensors", "--format", "json"}), 0);
  const auto json = nlohmann::json::parse(out_.str());
  EXPECT_EQ(json["keys"]["dream.block_count"], "1");
  EXPECT_EQ(json["tensors"][0]["shape"], nlohmann::json({"64", "2"}));
}

TEST_F(CliCommandTest, ModelQuantizeWritesAndReports) {
  const std::string in = folder_ / "in.gguf";
  const std::string out = folder_ / "out.gguf";
  ASSERT_TRUE(WriteFileAtomically(in, SmallModel()).ok());
  EXPECT_EQ(Run({"model", "quantize", "--in", in, "--out", out, "--type", "q4_k", "--dry-run"}), 0);
  EXPECT_FALSE(std::filesystem::exists(out));
  EXPECT_THAT(out_.str(), AllOf(HasSubstr("64 columns do not fit Q4_K"), HasSubstr("Q5_0"),
                                HasSubstr("nothing was written")));
  EXPECT_EQ(Run({"model", "quantize", "--in", in, "--out", out, "--type", "Q8_0", "--format",
                 "json", "--threads", "1"}),
            0);
  const auto json = nlohmann::json::parse(out_.str());
  EXPECT_EQ(json["tensors"][0]["from"], "F16");
  EXPECT_EQ(json["tensors"][0]["to"], "Q8_0");
  EXPECT_EQ(json["tensors"][1]["to"], "F32");
  EXPECT_EQ(json["file_bytes"], std::to_string(std::filesystem::file_size(out)));
  EXPECT_EQ(Run({"model", "inspect", out}), 0);
  EXPECT_THAT(out_.str(), HasSubstr("tensors Q8_0"));
}

// The JSON library ends the process on a text that is not UTF-8.
TEST_F(CliCommandTest, NamesThatAreNotUtf8AreReplaced) {
  inference::GgufWriter writer;
  writer.SetString("general.architecture", "dream");
  const std::vector<float> values(64, 0.25F);
  writer.AddTensor("blk.0.\xFF\x1b.weight", inference::TensorType::kF32, std::vector<uint64_t>{64},
                   Quantize(inference::TensorType::kF32, values).value());
  const std::string in = folder_ / "in.gguf";
  ASSERT_TRUE(WriteFileAtomically(in, writer.Serialize().value()).ok());
  EXPECT_EQ(Run({"--format", "json", "model", "quantize", "--in", in, "--out", folder_ / "out.gguf",
                 "--type", "q8_0"}),
            0);
  EXPECT_EQ(nlohmann::json::parse(out_.str())["tensors"][0]["name"], "blk.0.\uFFFD\uFFFD.weight");
}

TEST_F(CliCommandTest, ModelQuantizeRefusesBadFlags) {
  const std::string in = folder_ / "in.gguf";
  ASSERT_TRUE(WriteFileAtomically(in, SmallModel()).ok());
  const auto refused = [&](std::vector<std::string> more) {
    std::vector<std::string> arguments = {"model", "quantize", "--in", in};
    arguments.insert(arguments.end(), more.begin(), more.end());
    EXPECT_NE(Run(arguments), 0);
    return ErrorText();
  };
  const std::string out = folder_ / "out.gguf";
  EXPECT_THAT(refused({"--out", in, "--type", "q8_0"}), HasSubstr("same file"));
  EXPECT_THAT(refused({"--out", out, "--type", "q3"}), HasSubstr("q4_k_m"));
  EXPECT_THAT(refused({"--out", out, "--type", "q8_0", "--output-type", "q4_k_m"}),
              HasSubstr("is a mix"));
  EXPECT_THAT(refused({"--out", out, "--type", "q8_0", "--keep", "nothing*"}),
              HasSubstr("nothing*"));
  EXPECT_FALSE(std::filesystem::exists(out));
}

TEST(CliExitCodeTest, FollowsTheReason) {
  const auto code = [](absl::StatusCode status, const char* reason) {
    return cli::ExitCodeOf(MakeError(status, reason, "m"));
  };
  EXPECT_EQ(cli::ExitCodeOf(absl::OkStatus()), cli::ExitCode::kOk);
  EXPECT_EQ(code(absl::StatusCode::kInvalidArgument, reasons::kContextTooLong),
            cli::ExitCode::kError);
  EXPECT_EQ(code(absl::StatusCode::kInvalidArgument, reasons::kUnknownFlag), cli::ExitCode::kUsage);
  EXPECT_EQ(code(absl::StatusCode::kInvalidArgument, reasons::kUnknownConfigKey),
            cli::ExitCode::kUsage);
  EXPECT_EQ(code(absl::StatusCode::kUnavailable, reasons::kNodeDraining), cli::ExitCode::kNotReady);
  EXPECT_EQ(code(absl::StatusCode::kResourceExhausted, reasons::kMailboxFull),
            cli::ExitCode::kNotReady);
  EXPECT_EQ(code(absl::StatusCode::kPermissionDenied, ""), cli::ExitCode::kDenied);
  EXPECT_EQ(code(absl::StatusCode::kFailedPrecondition, reasons::kConsentMissing),
            cli::ExitCode::kDenied);
}

TEST(CliExitCodeTest, ErrorsAreOnePrintableLine) {
  EXPECT_EQ(cli::ErrorLine(MakeError(absl::StatusCode::kInternal, "A_REASON", "a\nb\x1b[2J; c")),
            "ruvd: a b [2J; c [A_REASON]");
  EXPECT_EQ(cli::ErrorLine(absl::InternalError("plain")), "ruvd: plain");
  EXPECT_EQ(cli::ErrorLine(absl::InternalError("a\xC2\x9B[2J\xFF")), "ruvd: a\uFFFD[2J\uFFFD");
}

}  // namespace
}  // namespace ruvd::node
