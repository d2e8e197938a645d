// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include <google/protobuf/util/time_util.h>

#include <functional>
#include <limits>
#include <string>
#include <tuple>
#include <vector>

#include "base/random.h"
#include "ruvd/privacy/v1/privacy.pb.h"
#include "tests/node/import_pattern.h"
#include "tests/node/pattern_service_fixture.h"

namespace ruvd::api {
namespace {

using namespace pattern::v1;  // NOLINT(google-build-using-namespace): all messages of one package
using namespace privacy::v1;  // NOLINT(google-build-using-namespace): the tiers
using google::protobuf::util::TimeUtil;
using testing::HasSubstr;

google::protobuf::Timestamp At(int64_t millis) {
  return TimeUtil::MillisecondsToTimestamp(millis);
}

TEST_F(PatternServiceTest, TheNodeFillsInWhatIsMissing) {
  const auto stored = Upsert(Some());
  ASSERT_TRUE(stored.ok()) << stored.status();
  EXPECT_EQ(stored->outcome(), UpsertPatternResponse::OUTCOME_CREATED);
  ExportPatternRequest request;
  request.set_id(stored->pattern().id());
  grpc::ClientContext context;
  const auto reader = stub_->ExportPattern(&context, request);
  ExportPatternResponse part;
  ASSERT_TRUE(reader->Read(&part));
  const Pattern pattern = part.pattern();
  EXPECT_FALSE(reader->Read(&part)) << "it has no adapter";
  ASSERT_TRUE(reader->Finish().ok());
  EXPECT_EQ(pattern.id().size(), 32u);
  EXPECT_EQ(pattern.tier(), SHARING_TIER_PRIVATE);
  EXPECT_EQ(pattern.standing(), PATTERN_STANDING_OWN);
  EXPECT_EQ(pattern.origin(), ToHex(self_));
  EXPECT_EQ(TimeUtil::TimestampToMilliseconds(pattern.create_time()), clock_.WallMillis());
  EXPECT_EQ(TimeUtil::TimestampToMilliseconds(pattern.update_time()), clock_.WallMillis());
  EXPECT_FALSE(pattern.has_expire_time());
  EXPECT_EQ(pattern.dimension(), kDimension);
  EXPECT_EQ(pattern.embedding().values(0), 1.0F);
  EXPECT_EQ(pattern.adapter_bytes(), 0U);
  EXPECT_NE(Upsert(Some())->pattern().id(), pattern.id());
}

TEST_F(PatternServiceTest, WhatIsStoredAlreadyIsNotWrittenAgain) {
  UpsertPatternRequest request = Some(1, Id(1));
  request.mutable_pattern()->set_task("a");
  EXPECT_EQ(Upsert(request)->outcome(), UpsertPatternResponse::OUTCOME_CREATED);
  const uint64_t sequence = patterns_->Stats().last_sequence;
  clock_.StepWall(1000);
  EXPECT_EQ(Upsert(request)->outcome(), UpsertPatternResponse::OUTCOME_UNCHANGED);
  EXPECT_EQ(patterns_->Stats().last_sequence, sequence);
  request.mutable_pattern()->set_task("b");
  request.mutable_pattern()->set_uses(7);
  EXPECT_EQ(Upsert(request)->outcome(), UpsertPatternResponse::OUTCOME_REPLACED);
  request.mutable_pattern()->set_task("c");
  request.mutable_pattern()->set_uses(3);
  *request.mutable_pattern()->mutable_update_time() = At(clock_.WallMillis());
  request.set_only_if_newer(true);
  const auto kept = Upsert(request);
  EXPECT_EQ(kept->outcome(), UpsertPatternResponse::OUTCOME_KEPT);
  EXPECT_EQ(kept->pattern().task(), "b");
  request.set_only_if_newer(false);
  EXPECT_EQ(Upsert(request)->outcome(), UpsertPatternResponse::OUTCOME_REPLACED);
  EXPECT_EQ(patterns_->Get(patterns_->List(1, "")->patterns[0].id)->uses, 7u) << "never goes back";
}

TEST_F(PatternServiceTest, AWrongFieldIsNamedAndNothingIsStored) {
  using Change = std::function<void(UpsertPatternRequest*)>;
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const auto set = [](float value) {
    return [value](UpsertPatternRequest* r) {
      r->mutable_pattern()->mutable_embedding()->set_values(2, value);
    };
  };
  const std::vector<std::tuple<std::string, std::string, Change>> cases = {
      {reasons::kInvalidArgument, "embedding",
       [](auto* r) { r->mutable_pattern()->clear_embedding(); }},
      {reasons::kWrongDimension, "",
       [](auto* r) { r->mutable_pattern()->mutable_embedding()->add_values(1); }},
      {reasons::kInvalidArgument, "", set(nan)},
      {reasons::kInvalidArgument, "", set(std::numeric_limits<float>::infinity())},
      {reasons::kInvalidArgument, "",
       [](auto* r) {
         for (int i = 0; i < 4; ++i) {
           r->mutable_pattern()->mutable_embedding()->set_values(i, 0);
         }
       }},
      {reasons::kInvalidArgument, "pattern id", [](auto* r) { r->mutable_pattern()->set_id("x"); }},
      {reasons::kInvalidArgument, "bank is 3", [](auto* r) { r->mutable_pattern()->set_bank(3); }},
      {reasons::kInvalidArgument, "quality",
       [](auto* r) { r->mutable_pattern()->set_quality(1.5F); }},
      {reasons::kInvalidArgument, "tier 3",
       [](auto* r) { r->mutable_pattern()->set_tier(SHARING_TIER_DP); }},
      {reasons::kInvalidArgument, "tier 77",
       [](auto* r) { r->mutable_pattern()->set_tier(static_cast<privacy::v1::SharingTier>(77)); }},
      {reasons::kInvalidArgument, "node id",
       [](auto* r) { r->mutable_pattern()->set_origin("00"); }},
      {reasons::kInvalidArgument, "in the future",
       [this](auto* r) {
         *r->mutable_pattern()->mutable_update_time() = At(clock_.WallMillis() + 600'000);
       }},
      {reasons::kInvalidArgument, "create_time",
       [](auto* r) { *r->mutable_pattern()->mutable_create_time() = At(-1); }},
      {reasons::kInvalidArgument, "expire_time is 1970-01-01T00:00:00.005Z",
       [](auto* r) { *r->mutable_pattern()->mutable_expire_time() = At(5); }},
      {reasons::kLimitExceeded, "task",
       [](auto* r) { r->mutable_pattern()->set_task(std::string(257, 'x')); }},
      {reasons::kModelMismatch, "package",
       [](auto* r) { r->set_model_package(std::string(64, '0')); }}};
  for (const auto& [reason, text, change] : cases) {
    UpsertPatternRequest request = Some();
    change(&request);
    const absl::Status status = Upsert(request).status();
    EXPECT_EQ(ReasonOf(status), reason) << text << status;
    EXPECT_THAT(MessageOf(status), HasSubstr(text));
  }
  EXPECT_EQ(ReasonOf(test::ImportPattern(*stub_, Some(), "junk").status()),
            reasons::kAdapterInvalid);
  EXPECT_EQ(patterns_->size(), 0u);
}

TEST_F(PatternServiceTest, AnOriginIsSetOnceAndStays) {
  UpsertPatternRequest request = Some(1, Id(1));
  const std::string other = ToHex(Sha256("other"));
  request.mutable_pattern()->set_origin(other);
  request.set_model_package(ToHex(package_));
  ASSERT_TRUE(Upsert(request).ok());
  EXPECT_EQ(Upsert(request)->pattern().origin(), other);
  request.mutable_pattern()->set_task("new");
  EXPECT_EQ(Upsert(request)->outcome(), UpsertPatternResponse::OUTCOME_REPLACED);
  request.mutable_pattern()->clear_origin();
  const absl::Status status = Upsert(request).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(MessageOf(status), HasSubstr(other));
}

TEST_F(PatternServiceTest, SearchesObeyEveryConditionOfTheFilter) {
  Random random(7);
  std::vector<pattern::v1::Pattern> all;
  for (uint64_t n = 1; n <= 200; ++n) {
    UpsertPatternRequest request = Some(static_cast<float>(random.Normal()), Id(n));
    auto& pattern = *request.mutable_pattern();
    pattern.mutable_embedding()->set_values(2, static_cast<float>(random.Normal()));
    pattern.set_bank(static_cast<uint32_t>(random.Below(3)));
    pattern.set_task(random.Bernoulli(0.5) ? "a" : "b");
    pattern.set_tier(random.Bernoulli(0.5) ? SHARING_TIER_PUBLIC : SHARING_TIER_PRIVATE);
    pattern.set_quality(static_cast<float>(random.Uniform()));
    *pattern.mutable_create_time() = At(static_cast<int64_t>(1 + random.Below(1000)));
    pattern.set_origin(ToHex(random.Bernoulli(0.5) ? self_ : Sha256("other")));
    ASSERT_TRUE(Upsert(request).ok());
    all.push_back(pattern);
  }
  for (int trial = 0; trial < 60; ++trial) {
    pattern::v1::PatternFilter filter;
    if (random.Bernoulli(0.5)) filter.set_bank(static_cast<uint32_t>(random.Below(3)));
    if (random.Bernoulli(0.5)) filter.set_task("a");
    if (random.Bernoulli(0.5)) filter.add_tiers(SHARING_TIER_PUBLIC);
    if (random.Bernoulli(0.5)) filter.set_origin(ToHex(self_));
    if (random.Bernoulli(0.5)) filter.set_min_quality(0.25F);
    if (random.Bernoulli(0.5)) *filter.mutable_created_from() = At(250);
    if (random.Bernoulli(0.5)) *filter.mutable_created_before() = At(750);
    std::vector<std::string> expected;
    for (const auto& pattern : all) {
      if ((!filter.has_bank() || pattern.bank() == filter.bank()) &&
          (filter.task().empty() || pattern.task() == filter.task()) &&
          (filter.tiers().empty() || pattern.tier() == SHARING_TIER_PUBLIC) &&
          (filter.origin().empty() || pattern.origin() == filter.origin()) &&
          (!filter.has_min_quality() || pattern.quality() >= filter.min_quality()) &&
          (!filter.has_created_from() || pattern.create_time() >= At(250)) &&
          (!filter.has_created_before() || pattern.create_time() < At(750))) {
        expected.push_back(pattern.id());
      }
    }
    std::vector<std::string> listed;
    ListPatternsRequest list;
    *list.mutable_filter() = filter;
    list.set_page_size(7);
    list.set_with_embedding(true);
    do {
      ListPatternsResponse page;
      ASSERT_TRUE(Call(&Stub::ListPatterns, list, &page).ok());
      for (const auto& pattern : page.patterns()) {
        EXPECT_EQ(pattern.embedding().values_size(), 4);
        listed.push_back(pattern.id());
      }
      list.set_page_token(page.next_page_token());
    } while (!list.page_token().empty());
    EXPECT_EQ(listed, expected) << filter.ShortDebugString();

    SearchPatternsRequest search;
    *search.mutable_filter() = filter;
    *search.mutable_embedding() = Some().pattern().embedding();
    search.set_k(1000);
    search.set_ef(1000);
    SearchPatternsResponse hits;
    ASSERT_TRUE(Call(&Stub::SearchPatterns, search, &hits).ok());
    std::vector<std::string> found;
    for (const auto& hit : hits.hits()) {
      found.push_back(hit.pattern().id());
    }
    EXPECT_THAT(found, testing::UnorderedElementsAreArray(expected)) << filter.ShortDebugString();
    if (hits.hits_size() > 3) {
      search.set_min_similarity(hits.hits(2).similarity());
      SearchPatternsResponse near;
      ASSERT_TRUE(Call(&Stub::SearchPatterns, search, &near).ok());
      EXPECT_GE(near.hits_size(), 3);
      for (const auto& hit : near.hits()) {
        EXPECT_GE(hit.similarity(), search.min_similarity());
      }
    }
  }
}

TEST_F(PatternServiceTest, QuestionsThatMakeNoSenseAreRefusedByName) {
  const auto error = [this](const std::function<void(SearchPatternsRequest*)>& change) {
    SearchPatternsRequest request;
    request.mutable_embedding()->add_values(1);
    change(&request);
    SearchPatternsResponse response;
    const absl::Status status = Call(&Stub::SearchPatterns, request, &response);
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    return MessageOf(status);
  };
  EXPECT_THAT(error([](auto* r) { r->set_k(1001); }), HasSubstr("k is 1001"));
  EXPECT_THAT(error([](auto* r) { r->set_ef(5000); }), HasSubstr("ef is 5000"));
  EXPECT_THAT(error([](auto* r) { r->set_min_similarity(2); }), HasSubstr("min_similarity is 2"));
  EXPECT_THAT(error([](auto* r) {
                r->set_bank(1);
                r->mutable_filter()->set_bank(2);
              }),
              HasSubstr("bank is 1 and filter.bank is 2"));
  EXPECT_THAT(error([](auto* r) {
                r->mutable_filter()->set_min_quality(std::numeric_limits<float>::quiet_NaN());
              }),
              HasSubstr("min_quality"));
  EXPECT_THAT(error([](auto* r) { r->mutable_filter()->add_tiers(SHARING_TIER_UNSPECIFIED); }),
              HasSubstr("tiers has 0"));
  EXPECT_THAT(error([](auto* r) { *r->mutable_filter()->mutable_created_from() = At(-1); }),
              HasSubstr("filter.created_from"));
  EXPECT_THAT(error([](auto* r) { r->mutable_filter()->set_origin("me"); }), HasSubstr("node id"));
  EXPECT_THAT(error([](auto* r) { r->mutable_filter()->set_task(std::string(257, 'x')); }),
              HasSubstr("filter.task"));
  // Regression test: each of these was answered with what is near to nothing, or with all banks.
  EXPECT_THAT(error([](auto* r) { r->clear_query(); }), HasSubstr("nothing to search for"));
  EXPECT_THAT(error([](auto* r) { r->set_text(""); }), HasSubstr("nothing to search for"));
  EXPECT_THAT(error([](auto* r) {
                r->set_bank(0);
                r->mutable_filter()->set_bank(2);
              }),
              HasSubstr("bank is 0 and filter.bank is 2"));
  EXPECT_THAT(error([](auto* r) { r->set_k(0); }), HasSubstr("k is 0"));
  EXPECT_THAT(error([](auto* r) { r->set_ef(0); }), HasSubstr("ef is 0"));
  ListPatternsRequest list;
  list.set_page_token("nonsense");
  ListPatternsResponse page;
  const absl::Status stale = Call(&Stub::ListPatterns, list, &page);
  EXPECT_EQ(ReasonOf(stale), reasons::kInvalidArgument);
  EXPECT_THAT(MessageOf(stale), HasSubstr("page_token"));
}

}  // namespace
}  // namespace ruvd::api
