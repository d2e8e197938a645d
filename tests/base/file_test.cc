// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "base/file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <filesystem>
#include <string>

#include "base/bytes.h"
#include "base/reasons.h"
#include "base/status.h"

namespace ruvd {
namespace {

using ::testing::HasSubstr;

class FileTest : public ::testing::Test {
 protected:
  FileTest() {
    std::string pattern = (std::filesystem::temp_directory_path() / "ruvd_file_XXXXXX").string();
    folder_ = mkdtemp(pattern.data());
  }
  ~FileTest() override { std::filesystem::remove_all(folder_); }
  std::string Path(const std::string& name) const { return folder_ + "/" + name; }
  size_t FilesInFolder() const {
    return static_cast<size_t>(std::distance(std::filesystem::directory_iterator(folder_), {}));
  }

 private:
  std::string folder_;
};

TEST_F(FileTest, WritesReplaceTheWholeFileAndLeaveNoOther) {
  ASSERT_TRUE(WriteFileAtomically(Path("a"), "a long first version").ok());
  ASSERT_TRUE(WriteFileAtomically(Path("a"), "second").ok());
  EXPECT_EQ(ReadFile(Path("a"), 100).value(), "second");
  EXPECT_EQ(FilesInFolder(), 1u);
}

TEST_F(FileTest, WritesSetTheMode) {
  ASSERT_TRUE(WriteFileAtomically(Path("key"), "secret", 0600).ok());
  struct stat info = {};
  ASSERT_EQ(stat(Path("key").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0600u);
}

TEST_F(FileTest, ReadsUpToTheLimitAndNotBeyond) {
  ASSERT_TRUE(WriteFileAtomically(Path("a"), "12345").ok());
  EXPECT_EQ(ReadFile(Path("a"), 5).value(), "12345");
  const absl::Status status = ReadFile(Path("a"), 4).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kOutOfRange);
  EXPECT_EQ(ReasonOf(status), reasons::kLimitExceeded);
  EXPECT_THAT(MessageOf(status), HasSubstr("has 5 bytes, more than the limit of 4"));
}

TEST_F(FileTest, MissingFilesAreNotFound) {
  EXPECT_EQ(ReasonOf(ReadFile(Path("none"), 10).status()), reasons::kFileNotFound);
  EXPECT_EQ(ReasonOf(MappedFile::Open(Path("none")).status()), reasons::kFileNotFound);
  EXPECT_EQ(ReasonOf(WriteFileAtomically(Path("no/folder"), "x")), reasons::kFileUnwritable);
}

TEST_F(FileTest, AFolderIsNotAFile) {
  std::filesystem::create_directory(Path("d"));
  EXPECT_EQ(ReasonOf(ReadFile(Path("d"), 10).status()), reasons::kFileUnreadable);
  EXPECT_EQ(ReasonOf(MappedFile::Open(Path("d")).status()), reasons::kFileUnreadable);
  EXPECT_EQ(ReasonOf(WriteFileAtomically(Path("d"), "x")), reasons::kFileUnwritable);
  EXPECT_EQ(FilesInFolder(), 1u) << "the temporary file must be removed";
}

// Root may read everything, so a test that runs as root takes the rights of the unprivileged system
// user.
class WithoutRootRights {
 public:
  WithoutRootRights() : before_(geteuid()) {
    if (before_ == 0) {
      changed_ = seteuid(65534) == 0;
    }
  }
  ~WithoutRootRights() {
    if (changed_ && seteuid(before_) != 0) {
      std::abort();
    }
  }
  WithoutRootRights(const WithoutRootRights&) = delete;
  WithoutRootRights& operator=(const WithoutRootRights&) = delete;

 private:
  uid_t before_;
  bool changed_ = false;
};

TEST_F(FileTest, ForbiddenFilesNameTheRemedy) {
  ASSERT_TRUE(WriteFileAtomically(Path("a"), "x", 0).ok());
  const WithoutRootRights rights;
  if (geteuid() == 0) {
    GTEST_SKIP() << "cannot give up root's rights here";
  }
  const absl::Status status = ReadFile(Path("a"), 10).status();
  EXPECT_EQ(ReasonOf(status), reasons::kFileUnreadable);
  EXPECT_THAT(MessageOf(status), HasSubstr("check its permissions"));
}

TEST_F(FileTest, AFailedWriteKeepsTheOldFile) {
  ASSERT_TRUE(WriteFileAtomically(Path("a"), "old").ok());
  // A file size limit makes write(2) fail half-way, as a full disk does.
  rlimit before = {};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
  const auto old_handler = std::signal(SIGXFSZ, SIG_IGN);
  const rlimit small = {.rlim_cur = 4096, .rlim_max = before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &small), 0);
  const absl::Status status = WriteFileAtomically(Path("a"), std::string(10'000, 'n'));
  setrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, old_handler);
  EXPECT_EQ(ReasonOf(status), reasons::kFileUnwritable);
  EXPECT_EQ(ReadFile(Path("a"), 100).value(), "old");
  EXPECT_EQ(FilesInFolder(), 1u);
}

TEST_F(FileTest, AFullDiskIsATypedError) {
  const absl::Status status = FileWriteError("a", ENOSPC);
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(ReasonOf(status), reasons::kDiskFull);
  EXPECT_EQ(ReasonOf(FileWriteError("a", EIO)), reasons::kFileUnwritable);
}

// A rename would put a file where a device or a pipe was.
TEST_F(FileTest, WhatIsNoRegularFileIsNotReplaced) {
  ASSERT_EQ(mkfifo(Path("pipe").c_str(), 0600), 0);
  std::filesystem::create_symlink("pipe", Path("link"));
  for (const char* name : {"pipe", "link"}) {
    const absl::Status status = WriteFileAtomically(Path(name), "x");
    EXPECT_EQ(ReasonOf(status), reasons::kFileUnwritable);
    EXPECT_THAT(MessageOf(status), HasSubstr("not a regular file"));
  }
  EXPECT_TRUE(std::filesystem::is_fifo(Path("pipe")));
  EXPECT_TRUE(std::filesystem::is_symlink(Path("link")));
  EXPECT_EQ(FilesInFolder(), 2u);
}

// Found by a hostile review: four calls that named a pipe hung a pool of threads for good.
TEST_F(FileTest, APipeIsRefusedAtOnce) {
  ASSERT_EQ(mkfifo(Path("pipe").c_str(), 0600), 0);
  for (const absl::Status& status :
       {ReadFile(Path("pipe"), 100).status(), MappedFile::Open(Path("pipe")).status()}) {
    EXPECT_EQ(ReasonOf(status), reasons::kFileUnreadable);
    EXPECT_THAT(MessageOf(status), HasSubstr("not a regular file"));
  }
}

TEST_F(FileTest, ALinkStaysAndItsFileIsReplaced) {
  std::filesystem::create_directory(Path("d"));
  ASSERT_TRUE(WriteFileAtomically(Path("d/file"), "old").ok());
  std::filesystem::create_symlink("file", Path("d/inner"));
  std::filesystem::create_symlink("d/inner", Path("outer"));
  ASSERT_TRUE(WriteFileAtomically(Path("outer"), "new").ok());
  EXPECT_EQ(ReadFile(Path("d/file"), 10).value(), "new");
  EXPECT_TRUE(std::filesystem::is_symlink(Path("outer")));
  EXPECT_TRUE(std::filesystem::is_symlink(Path("d/inner")));
  std::filesystem::create_symlink("d/later", Path("dangling"));
  ASSERT_TRUE(WriteFileAtomically(Path("dangling"), "made").ok());
  EXPECT_EQ(ReadFile(Path("d/later"), 10).value(), "made");
  std::filesystem::create_symlink("loop", Path("loop"));
  EXPECT_EQ(ReasonOf(WriteFileAtomically(Path("loop"), "x")), reasons::kFileUnwritable);
}

TEST_F(FileTest, TheTemporaryFileIsAlwaysANewOne) {
  ASSERT_TRUE(WriteFileAtomically(Path("victim"), "precious").ok());
  const auto first = AtomicFile::Create(Path("a"));
  ASSERT_TRUE(first.ok());
  // Links in the way of the next names lead to another file, which must stay as it is.
  const std::string used = [&] {
    for (const auto& entry : std::filesystem::directory_iterator(Path(""))) {
      if (entry.path().string().find(".tmp.") != std::string::npos) {
        return entry.path().string();
      }
    }
    return std::string();
  }();
  const size_t dot = used.rfind('.') + 1;
  const int number = std::stoi(used.substr(dot));
  for (int next = number + 1; next < number + 4; ++next) {
    std::filesystem::create_symlink("victim", used.substr(0, dot) + std::to_string(next));
  }
  const auto second = AtomicFile::Create(Path("a"));
  ASSERT_TRUE(second.ok());
  ASSERT_TRUE((*first)->Append(AsBytes("1")).ok());
  ASSERT_TRUE((*second)->Append(AsBytes("2")).ok());
  ASSERT_TRUE((*first)->Commit().ok());
  EXPECT_EQ(ReadFile(Path("a"), 10).value(), "1");
  ASSERT_TRUE((*second)->Commit().ok());
  EXPECT_EQ(ReadFile(Path("a"), 10).value(), "2");
  EXPECT_EQ(ReadFile(Path("victim"), 10).value(), "precious");
}

TEST_F(FileTest, MapsTheBytesOfAFile) {
  ASSERT_TRUE(WriteFileAtomically(Path("a"), "mapped").ok());
  const auto file = MappedFile::Open(Path("a"));
  ASSERT_TRUE(file.ok());
  EXPECT_EQ(AsText((*file)->bytes()), "mapped");
  ASSERT_TRUE(WriteFileAtomically(Path("a"), "other").ok());
  EXPECT_EQ(AsText((*file)->bytes()), "mapped") << "a replaced file stays mapped";
}

TEST_F(FileTest, MapsAnEmptyFile) {
  ASSERT_TRUE(WriteFileAtomically(Path("a"), "").ok());
  EXPECT_TRUE((*MappedFile::Open(Path("a")))->bytes().empty());
}

}  // namespace
}  // namespace ruvd
