// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "node/api/http/connect_codec.h"

#include <gmock/gmock.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "base/error_details.h"
#include "base/reasons.h"
#include "base/status.h"
#include "node/api/authorization.h"
#include "node/api/rpc_status.h"
#include "ruvd/inference/v1/inference.pb.h"

namespace ruvd::api {
namespace {

using google::protobuf::MethodDescriptor;
using inference::v1::EmbedRequest;
using nlohmann::json;
using ::testing::HasSubstr;

const google::protobuf::Descriptor& Type() {
  return *EmbedRequest::descriptor();
}

TEST(ConnectCodecTest, EveryMethodForClientsIsFoundAndNoOther) {
  for (const RpcRule& rule : RpcRules()) {
    if (rule.method.starts_with("/grpc.")) {
      continue;
    }
    const bool is_peers = rule.method.find("/ruvd.admission.") != std::string_view::npos ||
                          rule.method.find("/ruvd.federation.") != std::string_view::npos;
    EXPECT_EQ(FindApiMethod(rule.method) == nullptr, is_peers) << rule.method;
  }
  for (const char* const path :
       {"", "/", "/ruvd.", "/ruvd.node.v1.NodeService", "/ruvd.node.v1.NodeService/",
        "/ruvd.node.v1.NodeService/GetStatuss", "/ruvd.node.v1.NodeService/GetStatus/",
        "/ruvd.node.v1.NodeService.GetStatus", "/grpc.health.v1.Health/Check",
        "/ruvd.storage.v1.X/Y"}) {
    EXPECT_EQ(FindApiMethod(path), nullptr) << path;
  }
}

TEST(ConnectCodecTest, OnlyReadsMayBeAskedByGet) {
  EXPECT_TRUE(OnlyReads(*FindApiMethod("/ruvd.node.v1.NodeService/GetStatus")));
  EXPECT_FALSE(OnlyReads(*FindApiMethod("/ruvd.learning.v1.LearningService/Undo")));
}

TEST(ConnectCodecTest, TypesAreReadInAnyCaseAndWithParameters) {
  EXPECT_EQ(ReadConnectType("Application/JSON; charset=utf-8")->encoding, ConnectEncoding::kJson);
  EXPECT_EQ(ReadConnectType("application/proto")->encoding, ConnectEncoding::kProto);
  EXPECT_TRUE(ReadConnectType("application/connect+proto")->streams);
  for (const char* const type : {"", "text/plain", "application/grpc", "application/connect+xml"}) {
    EXPECT_FALSE(ReadConnectType(type).has_value()) << type;
  }
}

TEST(ConnectCodecTest, AMessageSurvivesBothEncodings) {
  EmbedRequest request;
  request.add_texts("a \"quote\" and \xC3\xA4");
  const std::string bytes = request.SerializeAsString();
  for (const ConnectEncoding encoding : {ConnectEncoding::kJson, ConnectEncoding::kProto}) {
    const auto text = EncodeMessage(Type(), encoding, bytes);
    ASSERT_TRUE(text.ok());
    EXPECT_EQ(DecodeMessage(Type(), encoding, *text).value(), bytes);
  }
}

TEST(ConnectCodecTest, BytesThatAreNoRequestAreRefused) {
  const absl::Status status =
      DecodeMessage(Type(), ConnectEncoding::kProto, "\xFF\xFF\xFF").status();
  EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
}

TEST(ConnectCodecTest, JsonThatIsNoRequestIsRefused) {
  std::string deep;
  for (int i = 0; i < 1000; ++i) {
    deep += "{\"texts\":[";
  }
  for (const std::string& body :
       {std::string(), std::string("{"), std::string("[]"), std::string("null x"),
        std::string("{\"texts\":[\"a\"],\"texts\":[\"b\"]}"), std::string("{\"texts\":\"\xFF\"}"),
        std::string("{\"texts\":[{}]}"), std::string("{\"nothing\":1}"),
        std::string("{\"texts\":[NaN]}"), deep}) {
    const absl::Status status = DecodeMessage(Type(), ConnectEncoding::kJson, body).status();
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << body.substr(0, 40) << " " << status;
    EXPECT_LT(MessageOf(status).size(), 1000u);
  }
  EXPECT_THAT(MessageOf(DecodeMessage(Type(), ConnectEncoding::kJson, "{\"nothing\":1}").status()),
              HasSubstr("nothing"));
}

TEST(ConnectCodecTest, AnEnvelopeHoldsOneMessage) {
  EXPECT_EQ(OpenEnvelope(Envelope("abc")).value(), "abc");
  EXPECT_EQ(OpenEnvelope(Envelope("")).value(), "");
  EXPECT_EQ(Envelope("abc"), std::string("\0\0\0\0\3abc", 8));
  for (const std::string& body :
       {std::string(), std::string("\0\0\0", 3), Envelope("abc") + "d",
        Envelope("abc").substr(0, 6), std::string("\0\xFF\xFF\xFF\xFF", 5)}) {
    EXPECT_TRUE(absl::IsInvalidArgument(OpenEnvelope(body).status())) << body.size();
  }
  EXPECT_TRUE(absl::IsUnimplemented(OpenEnvelope(std::string("\1\0\0\0\0", 5)).status()));
  for (const char flags : {'\2', '\4', '\xFF'}) {
    EXPECT_TRUE(absl::IsInvalidArgument(OpenEnvelope(flags + std::string("\0\0\0\0", 4)).status()));
  }
}

TEST(ConnectCodecTest, AnErrorHasItsCodeMessageAndDetails) {
  const grpc::Status status = ToRpcStatus(
      WithField(Error(absl::StatusCode::kNotFound, reasons::kNotFound, "no pattern x"), "id"));
  const json error = json::parse(ConnectError(status));
  EXPECT_EQ(error["code"], "not_found");
  EXPECT_EQ(error["message"], "no pattern x");
  EXPECT_EQ(error["details"][0]["type"], "google.rpc.ErrorInfo");
  EXPECT_EQ(error["details"][1]["type"], "google.rpc.BadRequest");
  // The bytes of ErrorInfo{reason: "NOT_FOUND", domain: "ruvd"}, without padding
  EXPECT_EQ(error["details"][0]["value"], "CglOT1RfRk9VTkQSBHJ1dmQ");
  const std::string end = EndEnvelope(status);
  EXPECT_EQ(end[0], 2);
  EXPECT_EQ(json::parse(end.substr(5))["error"], error);
  EXPECT_EQ(EndEnvelope(grpc::Status::OK), std::string("\2\0\0\0\2{}", 7));
}

// The table of the protocol (connectrpc.com/docs/protocol, "Error codes").
TEST(ConnectCodecTest, CodesHaveTheStatusOfTheProtocol) {
  const int expected[] = {200, 499, 500, 400, 504, 404, 409, 403, 429,
                          400, 409, 400, 501, 500, 503, 500, 401};
  for (int code = 0; code < 17; ++code) {
    EXPECT_EQ(ConnectHttpStatus(code), expected[code]) << code;
  }
  EXPECT_EQ(ConnectHttpStatus(-1), 500);
  EXPECT_EQ(ConnectHttpStatus(17), 500);
}

TEST(ConnectCodecTest, AQueryHoldsAMessage) {
  const auto plain = ReadConnectQuery("connect=v1&encoding=json&message=%7B%22a%22%3A1%7D");
  ASSERT_TRUE(plain.ok()) << plain.status();
  EXPECT_EQ(plain->message, "{\"a\":1}");
  const auto base64 = ReadConnectQuery("message=CgFh&base64=1&encoding=proto&compression=identity");
  ASSERT_TRUE(base64.ok()) << base64.status();
  EXPECT_EQ(base64->message,
            "\n\x01"
            "a");
  EXPECT_EQ(base64->encoding, ConnectEncoding::kProto);
  EXPECT_EQ(FieldOf(ReadConnectQuery("encoding=xml").status()), "encoding");
  EXPECT_EQ(FieldOf(ReadConnectQuery("").status()), "encoding");
  EXPECT_EQ(FieldOf(ReadConnectQuery("encoding=json&message=%7").status()), "message");
  EXPECT_EQ(FieldOf(ReadConnectQuery("\xFF=%").status()), "???") << "no byte that is not UTF-8";
  EXPECT_EQ(FieldOf(ReadConnectQuery("encoding=json&base64=1&message=***").status()), "message");
  EXPECT_TRUE(absl::IsUnimplemented(ReadConnectQuery("encoding=json&compression=gzip").status()));
}

}  // namespace
}  // namespace ruvd::api
