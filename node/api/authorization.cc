// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "node/api/authorization.h"

#include <grpcpp/grpcpp.h>

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <utility>

#include "base/reasons.h"
#include "base/status.h"
#include "node/reasons.h"
#include "privacy/identity/admission.h"

namespace ruvd::api {
namespace {

// A role does not include another role; these sets list the roles of each kind of method. Methods
// that show no user's text and change nothing.
constexpr uint32_t kLook =
    privacy::roles::kObserver | privacy::roles::kContributor | privacy::roles::kAdmin;
// Methods that use the model and the patterns.
constexpr uint32_t kWork = privacy::roles::kContributor | privacy::roles::kAdmin;
// Methods that show other users' text, or change what all users get.
constexpr uint32_t kManage = privacy::roles::kAdmin;

constexpr std::array kRules = {
    RpcRule{"/grpc.health.v1.Health/Check", 0, /*anybody=*/true},
    RpcRule{"/grpc.health.v1.Health/Watch", 0, /*anybody=*/true},
    // The protos are public.
    RpcRule{"/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo", kLook},

    RpcRule{"/ruvd.adapter.v1.AdapterService/DiffAdapters", kLook},
    RpcRule{"/ruvd.adapter.v1.AdapterService/ExportAdapter", kManage},
    RpcRule{"/ruvd.adapter.v1.AdapterService/GetAdapter", kLook},
    RpcRule{"/ruvd.adapter.v1.AdapterService/ImportAdapter", kManage},
    RpcRule{"/ruvd.adapter.v1.AdapterService/ListAdapters", kLook},
    RpcRule{"/ruvd.adapter.v1.AdapterService/LoadAdapter", kManage},
    RpcRule{"/ruvd.adapter.v1.AdapterService/PinAdapter", kManage},
    RpcRule{"/ruvd.adapter.v1.AdapterService/RollbackAdapter", kManage},
    RpcRule{"/ruvd.adapter.v1.AdapterService/UnloadAdapter", kManage},

    RpcRule{"/ruvd.admin.v1.AdminService/BackUpStore", kManage},
    RpcRule{"/ruvd.admin.v1.AdminService/EraseUser", kManage},
    RpcRule{"/ruvd.admin.v1.AdminService/GetConsent", kLook},
    RpcRule{"/ruvd.admin.v1.AdminService/GetStatus", kLook},
    RpcRule{"/ruvd.admin.v1.AdminService/ListMembers", kLook},
    RpcRule{"/ruvd.admin.v1.AdminService/ListUserConsents", kManage},
    RpcRule{"/ruvd.admin.v1.AdminService/PreviewRelease", kManage},
    RpcRule{"/ruvd.admin.v1.AdminService/SetConsent", kManage},
    RpcRule{"/ruvd.admin.v1.AdminService/SetUserConsent", kManage},

    // This is served on the link port of the authority's node only; the token decides who may join.
    RpcRule{"/ruvd.admission.v1.AdmissionService/Join", 0, /*anybody=*/true},
    RpcRule{"/ruvd.admission.v1.AuthorityService/CreateJoinToken", kManage},
    RpcRule{"/ruvd.admission.v1.AuthorityService/RevokeNode", kManage},

    // This is served on the link port only. The link's own handshake checks the admission
    // certificate and the proof of its key.
    RpcRule{"/ruvd.federation.v1.FederationService/Link", 0, /*anybody=*/true},

    RpcRule{"/ruvd.inference.v1.InferenceService/Embed", kWork},
    RpcRule{"/ruvd.inference.v1.InferenceService/Generate", kWork},
    RpcRule{"/ruvd.inference.v1.InferenceService/Score", kWork},
    RpcRule{"/ruvd.inference.v1.InferenceService/Tokenize", kWork},

    RpcRule{"/ruvd.learning.v1.LearningService/AddLessons", kManage},
    RpcRule{"/ruvd.learning.v1.LearningService/GetLearningStatus", kLook},
    RpcRule{"/ruvd.learning.v1.LearningService/ListChanges", kManage},
    RpcRule{"/ruvd.learning.v1.LearningService/ListLessonSources", kManage},
    RpcRule{"/ruvd.learning.v1.LearningService/ListLessons", kManage},
    RpcRule{"/ruvd.learning.v1.LearningService/ListTextLessons", kManage},
    RpcRule{"/ruvd.learning.v1.LearningService/PauseLearning", kManage},
    RpcRule{"/ruvd.learning.v1.LearningService/ResumeLearning", kManage},
    RpcRule{"/ruvd.learning.v1.LearningService/RunBackground", kManage},
    RpcRule{"/ruvd.learning.v1.LearningService/RunDeep", kManage},
    RpcRule{"/ruvd.learning.v1.LearningService/SubmitFeedback", kWork},
    RpcRule{"/ruvd.learning.v1.LearningService/Undo", kManage},
    RpcRule{"/ruvd.learning.v1.LearningService/WithdrawLessons", kManage},

    RpcRule{"/ruvd.pattern.v1.PatternService/DeletePattern", kManage},
    RpcRule{"/ruvd.pattern.v1.PatternService/GetPattern", kWork},
    RpcRule{"/ruvd.pattern.v1.PatternService/ListPatterns", kWork},
    RpcRule{"/ruvd.pattern.v1.PatternService/SearchPatterns", kWork},
    RpcRule{"/ruvd.pattern.v1.PatternService/UpsertPattern", kWork},
    RpcRule{"/ruvd.pattern.v1.PatternService/WatchPatterns", kWork},

    RpcRule{"/ruvd.witness.v1.WitnessService/GetEntry", kManage},
    RpcRule{"/ruvd.witness.v1.WitnessService/GetStats", kLook},
    RpcRule{"/ruvd.witness.v1.WitnessService/ListEntries", kManage},
};
static_assert(std::ranges::is_sorted(kRules, {}, &RpcRule::method));

std::string_view ViewOf(grpc::string_ref text) {
  return {text.data(), text.size()};
}

class TokenProcessor final : public grpc::AuthMetadataProcessor {
 public:
  TokenProcessor(std::shared_ptr<const transport::ApiTokens> tokens, HearCall on_refused)
      : tokens_(std::move(tokens)), on_refused_(std::move(on_refused)) {}

  bool IsBlocking() const override { return false; }

  // Consumes no metadata, because CallerOf reads the token. The AuthContext is that of the whole
  // connection, whose calls may have different tokens.
  grpc::Status Process(const InputMetadata& metadata, grpc::AuthContext*, OutputMetadata*,
                       OutputMetadata*) override {
    const auto path = metadata.find(":path");
    const std::string_view method = path == metadata.end() ? "" : ViewOf(path->second);
    const auto header = metadata.find("authorization");
    std::optional<std::string_view> authorization;
    if (header != metadata.end()) {
      authorization = ViewOf(header->second);
    }
    const absl::Status allowed = Authorize(*tokens_, method, authorization);
    if (!allowed.ok() && on_refused_) {
      on_refused_(EndpointOf(method), allowed, 0);
    }
    return {static_cast<grpc::StatusCode>(allowed.code()), MessageOf(allowed)};
  }

 private:
  const std::shared_ptr<const transport::ApiTokens> tokens_;
  const HearCall on_refused_;
};

}  // namespace

std::span<const RpcRule> RpcRules() {
  return kRules;
}

bool MayCall(std::string_view method, uint32_t roles) {
  const auto rule = std::ranges::lower_bound(kRules, method, {}, &RpcRule::method);
  return rule != kRules.end() && rule->method == method &&
         (rule->anybody || (rule->roles & roles) != 0);
}

absl::Status Authorize(const transport::ApiTokens& tokens, std::string_view method,
                       std::optional<std::string_view> authorization) {
  constexpr std::string_view kScheme = "Bearer ";
  const bool shows_token = authorization && authorization->starts_with(kScheme);
  const uint32_t roles = shows_token ? tokens.RolesOf(authorization->substr(kScheme.size())) : 0;
  if (MayCall(method, roles)) {
    return absl::OkStatus();
  }
  if (roles == 0) {
    return MakeError(absl::StatusCode::kUnauthenticated, reasons::kCallerUnknown,
                     !authorization ? "this node requires a token from its clients; show it as "
                                      "'Authorization: Bearer TOKEN', or name your token file with "
                                      "--token-file where you call ruvd"
                                    : "this node does not know the token, which may have been "
                                      "replaced; ask the node's operator for a valid one");
  }
  return Error(absl::StatusCode::kPermissionDenied, reasons::kRoleMissing,
               "the token's roles do not allow {}; ask the node's operator for a token that does",
               method);
}

std::shared_ptr<grpc::AuthMetadataProcessor> MakeTokenProcessor(
    std::shared_ptr<const transport::ApiTokens> tokens, HearCall on_refused) {
  return std::make_shared<TokenProcessor>(std::move(tokens), std::move(on_refused));
}

}  // namespace ruvd::api
