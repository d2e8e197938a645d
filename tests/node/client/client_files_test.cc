// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

// Calls that send or receive files in pieces.

#include <gmock/gmock.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <future>
#include <memory>
#include <string>
#include <vector>

#include "base/reasons.h"
#include "base/status.h"
#include "node/client/rpc_error.h"
#include "ruvd/adapter/v1/adapter.grpc.pb.h"
#include "ruvd/pattern/v1/pattern.grpc.pb.h"
#include "tests/node/client/test_server.h"

namespace ruvd::client {
namespace {

using adapter::v1::AdapterFile;
using adapter::v1::ExportAdapterRequest;
using adapter::v1::ExportAdapterResponse;
using adapter::v1::ImportAdapterRequest;
using adapter::v1::ImportAdapterResponse;
using pattern::v1::ExportPatternRequest;
using pattern::v1::ExportPatternResponse;
using pattern::v1::ImportPatternRequest;
using pattern::v1::ImportPatternResponse;
using pattern::v1::PatternFile;
using pattern::v1::UpsertPatternResponse;

constexpr size_t kPiece = 256 << 10;  // as the client cuts a file

// Returns bytes that differ from piece to piece.
std::string Bytes(size_t size) {
  std::string bytes(size, '\0');
  for (size_t i = 0; i < size; ++i) {
    bytes[i] = static_cast<char>(i * 31 + i / 1021);
  }
  return bytes;
}

// Takes one file and keeps what came.
class Adapters final : public adapter::v1::AdapterService::Service {
 public:
  grpc::Status ImportAdapter(grpc::ServerContext*, grpc::ServerReader<ImportAdapterRequest>* reader,
                             ImportAdapterResponse* response) override {
    ImportAdapterRequest request;
    bool first = true;
    while (reader->Read(&request)) {
      EXPECT_EQ(request.has_file(), std::exchange(first, false));
      if (request.has_file()) {
        file = request.file();
        continue;
      }
      bytes += request.data();
      pieces.push_back(request.data().size());
      if (refuses) {
        return ErrorWithReason(grpc::StatusCode::INVALID_ARGUMENT, reasons::kAdapterInvalid);
      }
    }
    response->mutable_adapter()->set_name("tone");
    return grpc::Status::OK;
  }
  grpc::Status ExportAdapter(grpc::ServerContext*, const ExportAdapterRequest* request,
                             grpc::ServerWriter<ExportAdapterResponse>* writer) override {
    if (request->adapter().name() != "tone") {
      return ErrorWithReason(grpc::StatusCode::NOT_FOUND, reasons::kNotFound);
    }
    for (const std::string& piece : {bytes.substr(0, 3), bytes.substr(3)}) {
      ExportAdapterResponse response;
      response.set_total_bytes(bytes.size() + wrong);
      response.set_data(piece);
      writer->Write(response);
    }
    return grpc::Status::OK;
  }

  AdapterFile file;
  std::string bytes;
  std::vector<size_t> pieces;
  bool refuses = false;
  uint64_t wrong = 0;  // bytes that are announced beyond those that are sent
};

AdapterFile FileOf(const std::string& bytes) {
  AdapterFile file;
  file.set_bytes(bytes.size());
  file.set_weight(0.5F);
  return file;
}

TEST(ClientFilesTest, AnAdapterIsSentInPiecesAfterItsDescription) {
  Adapters service;
  TestServer server({&service});
  const std::string bytes = Bytes(2 * kPiece + 5);
  const auto response = server.client().ImportAdapter(FileOf(bytes), bytes);
  ASSERT_TRUE(response.ok()) << response.status();
  EXPECT_EQ(response->adapter().name(), "tone");
  EXPECT_EQ(service.file.bytes(), bytes.size());
  EXPECT_EQ(service.file.weight(), 0.5F);
  EXPECT_EQ(service.bytes, bytes);
  EXPECT_THAT(service.pieces, testing::ElementsAre(kPiece, kPiece, 5U));
}

TEST(ClientFilesTest, AnEmptyFileHasNoPieces) {
  Adapters service;
  TestServer server({&service});
  EXPECT_TRUE(server.client().ImportAdapter(FileOf(""), "").ok());
  EXPECT_TRUE(service.pieces.empty());
  EXPECT_TRUE(service.file.has_weight());
}

TEST(ClientFilesTest, TheNodeMayRefuseAFileBeforeItsEnd) {
  Adapters service;
  service.refuses = true;
  TestServer server({&service});
  const std::string bytes = Bytes(64 * kPiece);
  EXPECT_EQ(ReasonOf(server.client().ImportAdapter(FileOf(bytes), bytes).status()),
            reasons::kAdapterInvalid);
  EXPECT_EQ(service.pieces.size(), 1U);
}

TEST(ClientFilesTest, AnAdapterIsReceivedWhole) {
  Adapters service;
  service.bytes = Bytes(1000);
  TestServer server({&service});
  ExportAdapterRequest request;
  request.mutable_adapter()->set_name("tone");
  const auto bytes = server.client().ExportAdapter(request);
  ASSERT_TRUE(bytes.ok()) << bytes.status();
  EXPECT_EQ(*bytes, service.bytes);
  request.mutable_adapter()->set_name("other");
  EXPECT_EQ(ReasonOf(server.client().ExportAdapter(request).status()), reasons::kNotFound);
}

TEST(ClientFilesTest, AnAdapterOfAnotherSizeThanWasAnnouncedIsAnError) {
  Adapters service;
  service.bytes = Bytes(1000);
  TestServer server({&service});
  ExportAdapterRequest request;
  request.mutable_adapter()->set_name("tone");
  for (const uint64_t wrong : {uint64_t{1}, uint64_t{0} - 1, uint64_t{0} - 1000}) {
    service.wrong = wrong;
    EXPECT_TRUE(absl::IsDataLoss(server.client().ExportAdapter(request).status())) << wrong;
  }
}

// Takes patterns with adapters, and sends one.
class Patterns final : public pattern::v1::PatternService::Service {
 public:
  grpc::Status ImportPattern(grpc::ServerContext*, grpc::ServerReader<ImportPatternRequest>* reader,
                             ImportPatternResponse* response) override {
    ImportPatternRequest request;
    EXPECT_TRUE(reader->Read(&request) && request.has_file());
    const PatternFile file = request.file();
    std::string bytes;
    while (reader->Read(&request)) {
      EXPECT_LE(request.data().size(), kPiece);
      bytes += request.data();
      if (file.pattern().pattern().task() == "refused") {
        return ErrorWithReason(grpc::StatusCode::INVALID_ARGUMENT, reasons::kAdapterInvalid);
      }
    }
    EXPECT_EQ(bytes.size(), file.adapter_bytes());
    *response->mutable_pattern() = file.pattern().pattern();
    response->mutable_pattern()->set_adapter_name(bytes.substr(0, bytes.find(':')));
    response->set_outcome(UpsertPatternResponse::OUTCOME_CREATED);
    return grpc::Status::OK;
  }
  grpc::Status ExportPattern(grpc::ServerContext*, const ExportPatternRequest* request,
                             grpc::ServerWriter<ExportPatternResponse>* writer) override {
    ExportPatternResponse part;
    if (request->id() != "headless") {
      part.mutable_pattern()->set_id(request->id());
      part.mutable_pattern()->set_adapter_bytes(announced);
      writer->Write(part);
    }
    for (const std::string& piece : pieces) {
      part.set_data(piece);
      writer->Write(part);
    }
    return grpc::Status::OK;
  }

  uint64_t announced = 0;
  std::vector<std::string> pieces;
};

TEST(ClientFilesTest, APatternIsReceivedWithItsAdapter) {
  Patterns service;
  TestServer server({&service});
  auto exported = server.client().ExportPattern("70");
  ASSERT_TRUE(exported.ok()) << exported.status();
  EXPECT_EQ(exported->pattern.id(), "70");
  EXPECT_EQ(exported->adapter, "");
  service.announced = 6;
  service.pieces = {"abc", "def"};
  exported = server.client().ExportPattern("70");
  ASSERT_TRUE(exported.ok()) << exported.status();
  EXPECT_EQ(exported->adapter, "abcdef");
}

TEST(ClientFilesTest, APatternThatIsNotWholeIsAnErrorOfTheWayAndNotOfTheStore) {
  Patterns service;
  TestServer server({&service});
  const auto error = [&](const std::string& id) {
    const absl::Status status = server.client().ExportPattern(id).status();
    EXPECT_TRUE(absl::IsDataLoss(status)) << status;
    EXPECT_FALSE(IsDamaged(status));
  };
  error("headless");
  service.announced = 6;
  service.pieces = {"abc"};
  error("70");
  service.pieces = {"abc", "defg"};
  error("70");
  service.announced = 9 << 20;  // more than any pattern has
  service.pieces.assign(9, std::string(1 << 20, 'x'));
  error("70");
  EXPECT_TRUE(
      IsDamaged(Error(absl::StatusCode::kDataLoss, reasons::kStoreCorrupt, "a row is damaged")));
}

// Starts an upload whose answer comes to the future.
std::future<absl::StatusOr<ImportPatternResponse>> Start(NodeClient& client,
                                                         const std::string& task,
                                                         const std::string& adapter) {
  const auto file = std::make_shared<PatternFile>();
  file->mutable_pattern()->mutable_pattern()->set_task(task);
  file->set_adapter_bytes(adapter.size());
  const auto answer = std::make_shared<std::promise<absl::StatusOr<ImportPatternResponse>>>();
  client.StartImportPattern(file, std::make_shared<const std::string>(adapter),
                            [answer](const auto& response) { answer->set_value(response); });
  return answer->get_future();
}

TEST(ClientFilesTest, PatternsWithAdaptersAreSentSideBySide) {
  Patterns service;
  TestServer server({&service});
  std::vector<std::future<absl::StatusOr<ImportPatternResponse>>> answers;
  for (int i = 0; i < 16; ++i) {
    answers.push_back(
        Start(server.client(), std::to_string(i), std::to_string(i) + ":" + Bytes(3 * kPiece + 1)));
  }
  for (size_t i = 0; i < answers.size(); ++i) {
    const auto response = answers[i].get();
    ASSERT_TRUE(response.ok()) << response.status();
    EXPECT_EQ(response->outcome(), UpsertPatternResponse::OUTCOME_CREATED);
    EXPECT_EQ(response->pattern().task(), std::to_string(i));
    EXPECT_EQ(response->pattern().adapter_name(), std::to_string(i)) << "the bytes of its own file";
  }
}

TEST(ClientFilesTest, AnUploadEndsWithTheErrorOfTheNode) {
  Patterns service;
  TestServer server({&service});
  EXPECT_EQ(ReasonOf(Start(server.client(), "refused", Bytes(64 * kPiece)).get().status()),
            reasons::kAdapterInvalid);
  EXPECT_EQ(ReasonOf(Start(server.client(), "\xFF", "abc").get().status()),
            reasons::kInvalidArgument)
      << "it is not even sent";
}

}  // namespace
}  // namespace ruvd::client
