// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/bytes.h"
#include "node/learning/evaluation_lessons.h"
#include "node/learning/learning_services.h"
#include "node/learning/text_lessons.h"
#include "storage/changes/change_store.h"
#include "storage/consent/consent_book.h"
#include "storage/lessons/lesson_rows.h"
#include "storage/lessons/lesson_store.h"
#include "storage/trajectories/trajectory_rows.h"
#include "storage/trajectories/trajectory_store.h"
#include "tests/federation/fixture.h"
#include "tests/node/database_fixture.h"

namespace ruvd::sharing {

inline const Digest kRoundLessonsPackage = Sha256("package");

// The stores of lessons and consents of a node.
class RoundLessonsTest : public DatabaseTest {
 protected:
  void SetUp() override {
    DatabaseTest::SetUp();
    store_ = std::make_unique<storage::UserConsentStore>(*database_);
    book_ = storage::ConsentBook::Open(*store_, key_).value();
    patterns_ = storage::PatternStore::Open(*database_, {.dimension = 4}).value();
    lessons_ = storage::LessonStore::Open(*database_).value();
    changes_ = storage::ChangeStore::Open(*database_).value();
    OpenTrajectories(1000);
  }
  // `capacity`: of requests with feedback.
  void OpenTrajectories(size_t capacity, size_t without_feedback = 1000) {
    trajectories_.reset();
    trajectories_ = storage::TrajectoryStore::Open(
                        *database_, {.capacity = without_feedback, .feedback_capacity = capacity})
                        .value();
  }
  void Say(const std::string& user, privacy::ConsentTier widest) {
    ASSERT_TRUE(book_
                    ->Record({.subject = {.id = user},
                              .purposes = privacy::consent_purposes::kAll,
                              .widest = widest,
                              .expires_ms = 300 * test::kDayMillis},
                             clock_.WallMillis())
                    .ok());
  }
  // Adds a completion without feedback, and returns its name.
  std::string AddRequest(const std::string& user, bool judges = false,
                         const std::string& text = " counted the ships every evening.") {
    std::string name;
    do {
      name = fmt::format("response {}", ++number_);
    } while (learning::IsEvaluationLesson(name) != judges);
    EXPECT_TRUE(trajectories_
                    ->Put({.response_id = name,
                           .user_id = user,
                           .prompt = "The lighthouse keeper",
                           .completion = text,
                           .embedded_by = std::string(AsText(kRoundLessonsPackage)),
                           .created_ms = clock_.WallMillis()})
                    .ok());
    return name;
  }
  // Adds a completion that a user accepted, and returns its name.
  std::string AddCompletion(const std::string& user, bool judges = false,
                            const std::string& text = " counted the ships every evening.") {
    std::string name = AddRequest(user, judges, text);
    EXPECT_TRUE(trajectories_->SetFeedback(name, {.accepted = true}).ok());
    return name;
  }
  // Adds a source with this many lessons of which something may be learned, and returns its id.
  storage::LessonSourceId AddTexts(const std::string& source, size_t count,
                                   const std::string& user = "", uint32_t tier = 0,
                                   bool with_judges = false) {
    storage::LessonSourceId id{};
    for (size_t added = 0; added < count;) {
      const std::string text =
          fmt::format("In {}, the keeper wrote line {} into the book.", source, ++number_);
      const auto stored =
          lessons_->Add({.name = source,
                         .content_hash = Sha256(source),
                         .bytes = 1,
                         .user_id = user,
                         .tier = tier,
                         .created_ms = clock_.WallMillis()},
                        std::vector<storage::NewLesson>{{.prompt = "", .text = text}});
      EXPECT_TRUE(stored.ok()) << stored.status();
      id = stored->source.value();
      const std::string name = NewestText();
      if (with_judges || !learning::IsEvaluationLesson(name)) {
        ++added;
      } else {
        EXPECT_TRUE(lessons_->WithdrawLesson(*learning::TextLessonOf(name)).ok());
      }
    }
    return id;
  }
  // Damages a lesson's row, so that it cannot be read any more.
  void Damage(const std::string& name) {
    const auto id = learning::TextLessonOf(name);
    storage::Batch batch;
    batch.Put(id ? storage::ColumnFamily::kLesson : storage::ColumnFamily::kTrajectory,
              id ? storage::lessons::LessonKey(*id) : storage::trajectories::IdKey(name),
              "damaged");
    ASSERT_TRUE(database_->Write(std::move(batch), storage::Durability::kProcessCrash).ok());
  }
  std::string NewestText() const {
    std::string name;
    EXPECT_TRUE(lessons_
                    ->ForEachEntry([&](const storage::LessonEntry& entry) {
                      name = learning::NameOfTextLesson(entry.id);
                      return false;
                    })
                    .ok());
    return name;
  }
  learning::LearningServices Services() {
    learning::LearningServices services;
    services.clock = &clock_;
    services.trajectories = trajectories_.get();
    services.lessons = lessons_.get();
    services.changes = changes_.get();
    services.patterns = patterns_.get();
    services.package_id = kRoundLessonsPackage;
    services.consents = book_.get();
    services.origin = key_.id();
    services.cancelled = cancelled_;
    return services;
  }

  const privacy::NodeKey key_ = privacy::NodeKey::FromSeed(test::SeedOf(1));
  std::function<bool()> cancelled_;
  std::unique_ptr<storage::UserConsentStore> store_;
  std::unique_ptr<storage::ConsentBook> book_;
  std::unique_ptr<storage::PatternStore> patterns_;
  std::unique_ptr<storage::LessonStore> lessons_;
  std::unique_ptr<storage::ChangeStore> changes_;
  std::unique_ptr<storage::TrajectoryStore> trajectories_;

 private:
  size_t number_ = 0;
};

}  // namespace ruvd::sharing
