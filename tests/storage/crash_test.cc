// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0
//
// Tests with real processes: kill -9 at random moments, and a file system that is really full.

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <string>
#include <vector>

#include "base/reasons.h"
#include "tests/paths.h"
#include "tests/storage/crash_pattern.h"

namespace ruvd::storage {
namespace {

const std::string kWriter = test::BinaryDir() + "/tests/storage/storage_crash_writer";
constexpr int kKills = 10;

// A child with its stdout in a pipe. As with posix_spawn, the child calls nothing but exec.
class Child {
 public:
  explicit Child(std::vector<std::string> arguments) {
    int ends[2];
    EXPECT_EQ(::pipe2(ends, O_CLOEXEC), 0);
    std::vector<char*> argv;
    for (std::string& argument : arguments) {
      argv.push_back(argument.data());
    }
    argv.push_back(nullptr);
    pid_ = ::fork();
    if (pid_ == 0) {
      ::dup2(ends[1], STDOUT_FILENO);
      ::execv(argv[0], argv.data());
      ::_exit(127);
    }
    ::close(ends[1]);
    output_ = ::fdopen(ends[0], "r");
  }
  ~Child() {
    if (pid_ > 0) {
      Kill();
      Wait();
    }
    std::fclose(output_);
  }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  // Returns false at the end of the child's output.
  bool ReadLine(std::string* line) {
    line->clear();
    for (int c; (c = std::fgetc(output_)) != EOF;) {
      if (c == '\n') {
        return true;
      }
      line->push_back(static_cast<char>(c));
    }
    return false;
  }
  void Kill() { ::kill(pid_, SIGKILL); }
  int Wait() {
    int status = 0;
    ::waitpid(pid_, &status, 0);
    pid_ = -1;
    return status;
  }

 private:
  pid_t pid_ = -1;
  std::FILE* output_ = nullptr;
};

class CrashTest : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = std::filesystem::path(testing::TempDir()) /
              ("crash_" + std::to_string(::getpid()) + "_" +
               testing::UnitTest::GetInstance()->current_test_info()->name());
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::string store() const { return (folder_ / "store").string(); }
  std::string key_file() const { return (folder_ / "seal.key").string(); }

  // Checks that every pattern below `count` is there with every byte; returns how many there are.
  size_t CheckPatterns(uint32_t count, size_t payload_bytes) const {
    auto database = Database::Open({.path = store(),
                                    .seal_key = privacy::SealKey::LoadOrCreate(key_file()).value(),
                                    .soft_reserve_bytes = 0,
                                    .hard_reserve_bytes = 0});
    EXPECT_TRUE(database.ok()) << database.status();
    auto patterns = PatternStore::Open(**database, CrashPatternOptions());
    EXPECT_TRUE(patterns.ok()) << patterns.status();
    for (uint32_t n = 0; n < count; ++n) {
      const Pattern expected = CrashPattern(n, payload_bytes);
      const auto pattern = (*patterns)->Get(expected.id);
      EXPECT_TRUE(pattern.ok()) << n << ": " << pattern.status();
      if (pattern.ok()) {
        EXPECT_EQ(pattern->payload, expected.payload) << n;
        EXPECT_EQ(pattern->embedding, expected.embedding) << n;
      }
    }
    return (*patterns)->size();
  }

  std::filesystem::path folder_;
};

TEST_F(CrashTest, NothingAcknowledgedIsLostToKill9) {
  Random random(2026);
  uint32_t acknowledged = 0;
  for (int kill = 0; kill < kKills; ++kill) {
    const auto wanted = static_cast<uint32_t>(1 + random.Below(120));
    std::string line;
    {
      Child child({kWriter, "patterns", store(), key_file(), std::to_string(acknowledged)});
      for (uint32_t seen = 0; seen < wanted && child.ReadLine(&line);) {
        seen += line.starts_with("ack ") ? 1 : 0;
        ASSERT_FALSE(line.starts_with("error")) << line;
      }
      child.Kill();  // while it still writes
      do {
        if (line.starts_with("ack ")) {
          acknowledged = static_cast<uint32_t>(std::stoul(line.substr(4))) + 1;
        }
      } while (child.ReadLine(&line));
      ASSERT_TRUE(WIFSIGNALED(child.Wait()));
    }
    const size_t present = CheckPatterns(acknowledged, 200);
    // The write that was running may be there as a whole, but not more than that one.
    ASSERT_GE(present, acknowledged);
    ASSERT_LE(present, acknowledged + 1);
    acknowledged = static_cast<uint32_t>(present);
  }
  EXPECT_GE(acknowledged, static_cast<uint32_t>(kKills));
}

// Mounts a tmpfs of 64 MiB over the test's folder.
class FullDiskTest : public CrashTest {
 protected:
  void SetUp() override {
    CrashTest::SetUp();
    if (::mount("tmpfs", folder_.c_str(), "tmpfs", 0, "size=64m") != 0) {
      GTEST_SKIP() << "cannot mount a tmpfs here (needs root): " << std::strerror(errno);
    }
    mounted_ = true;
  }
  void TearDown() override {
    if (mounted_) {
      EXPECT_EQ(::umount2(folder_.c_str(), MNT_DETACH), 0);
    }
    CrashTest::TearDown();
  }

  struct Outcome {
    uint32_t acknowledged = 0;
    std::vector<std::string> lines;  // after the last acknowledgement
    int status = 0;
  };
  Outcome Fill(uint64_t reserve) const {
    Child child({kWriter, "fill", store(), key_file(), std::to_string(reserve)});
    Outcome outcome;
    for (std::string line; child.ReadLine(&line);) {
      if (line.starts_with("ack ")) {
        outcome.acknowledged = static_cast<uint32_t>(std::stoul(line.substr(4))) + 1;
      } else if (line != "ready") {
        outcome.lines.push_back(line);
      }
    }
    outcome.status = child.Wait();
    return outcome;
  }
  bool mounted_ = false;
};

TEST_F(FullDiskTest, TheReserveStopsPatternsBeforeTheDiskIsFull) {
  const Outcome outcome = Fill(24 << 20);
  EXPECT_TRUE(WIFEXITED(outcome.status) && WEXITSTATUS(outcome.status) == 0);
  // A flush that ends meanwhile frees log space, so the store may accept writes again at once.
  EXPECT_THAT(outcome.lines,
              testing::ElementsAre("refused DISK_FULL",
                                   testing::AnyOf("health patterns_stopped", "health ok"),
                                   "reads served", testing::AnyOf("again DISK_FULL", "again ")));
  EXPECT_GT(outcome.acknowledged, 20U);
  EXPECT_GE(CheckPatterns(outcome.acknowledged, 60'000), outcome.acknowledged);
}

// Without a reserve RocksDB gets ENOSPC, and its version 7.8 may abort (an assertion of Debian's
// build). Then the supervisor restarts the node; what counts is that nothing acknowledged is lost.
TEST_F(FullDiskTest, ARealEnospcLosesNothingAcknowledged) {
  const std::filesystem::path ballast = folder_ / "ballast";
  {
    std::FILE* file = std::fopen(ballast.c_str(), "w");
    ASSERT_NE(file, nullptr);
    const std::string block(48 << 20, 'b');
    EXPECT_EQ(std::fwrite(block.data(), 1, block.size(), file), block.size());
    std::fclose(file);
  }
  const Outcome outcome = Fill(0);
  if (WIFSIGNALED(outcome.status)) {
    EXPECT_EQ(WTERMSIG(outcome.status), SIGABRT);
    RecordProperty("aborted_by_rocksdb", "yes");
  } else {
    EXPECT_EQ(WEXITSTATUS(outcome.status), 0);
    EXPECT_THAT(outcome.lines, testing::ElementsAre("refused DISK_FULL", "health failed",
                                                    "reads served", "again DISK_FULL"));
  }
  EXPECT_GT(outcome.acknowledged, 20U);
  std::filesystem::remove(ballast);
  const size_t present = CheckPatterns(outcome.acknowledged, 60'000);
  EXPECT_GE(present, outcome.acknowledged);
  EXPECT_LE(present, outcome.acknowledged + 1);
}

}  // namespace
}  // namespace ruvd::storage
