// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "node/transport/header_guard.h"

#include <dlfcn.h>
#include <grpc/slice.h>
#include <grpcpp/version_info.h>

#include "absl/status/status.h"

namespace ruvd::transport {

void HeaderBlocks::Begin(const void* parser, bool is_last) {
  const MutexLock lock(mutex_);
  blocks_[parser].ends = is_last;
}

bool HeaderBlocks::Admit(const void* parser, size_t bytes, bool ends_frame) {
  const MutexLock lock(mutex_);
  const auto found = blocks_.find(parser);
  if (found == blocks_.end()) {
    return true;  // gRPC begins every frame before it reads one
  }
  Block& block = found->second;
  block.bytes += bytes;
  block.reads += block.bytes + kLeastHeaderPart;
  if (block.bytes > kMaxHeaderBlockBytes || block.reads > kMaxHeaderBlockReads) {
    ++refused_;
    return false;
  }
  if (ends_frame && block.ends) {
    blocks_.erase(found);
  }
  return true;
}

void HeaderBlocks::Forget(const void* parser) {
  const MutexLock lock(mutex_);
  blocks_.erase(parser);
}

uint64_t HeaderBlocks::refused() const {
  const MutexLock lock(mutex_);
  return refused_;
}

size_t HeaderBlocks::open() const {
  const MutexLock lock(mutex_);
  return blocks_.size();
}

size_t HeaderBlocks::open_bytes() const {
  size_t bytes = 0;
  const MutexLock lock(mutex_);
  for (const auto& [parser, block] : blocks_) {
    bytes += block.bytes;
  }
  return bytes;
}

HeaderBlocks& ProcessHeaderBlocks() {
  static auto* const blocks = new HeaderBlocks;  // connections end after static objects do
  return *blocks;
}

// The names below are those of member functions of grpc_core::HPackParser in gRPC 1.51, whose first
// argument is the object. Another version may give them other arguments, so nothing is put in front
// of it; version 1.53 and later limit header blocks themselves.
#if GRPC_CPP_VERSION_MAJOR == 1 && GRPC_CPP_VERSION_MINOR == 51

#define RUVD_HPACK_BEGIN_FRAME                                                                   \
  "_ZN9grpc_core11HPackParser10BeginFrameEP19grpc_metadata_batchjNS0_8BoundaryENS0_8PriorityENS" \
  "0_7LogInfoE"
#define RUVD_HPACK_PARSE "_ZN9grpc_core11HPackParser5ParseERK10grpc_sliceb"
#define RUVD_HPACK_DESTROY "_ZN9grpc_core11HPackParserD1Ev"

// HPackParser::LogInfo, which is passed through. In an unnamed namespace it would hide the function
// that takes it from the linker.
struct FrameInfo {
  uint32_t stream = 0;
  uint8_t type = 0;
  bool is_client = false;
};

[[gnu::visibility("default")]] void GuardedBeginFrame(void* parser, void* headers, uint32_t limit,
                                                      uint8_t boundary, uint8_t priority,
                                                      FrameInfo info) asm(RUVD_HPACK_BEGIN_FRAME);
[[gnu::visibility("default")]] absl::Status GuardedParse(void* parser, const grpc_slice& slice,
                                                         bool ends_frame) asm(RUVD_HPACK_PARSE);
[[gnu::visibility("default")]] void GuardedDestroy(void* parser) asm(RUVD_HPACK_DESTROY);

namespace {

// Returns gRPC's own function; null where the shared library has none of this name.
template <typename Function>
Function* OwnOf(Function&, const char* name) {
  return reinterpret_cast<Function*>(::dlsym(RTLD_NEXT, name));
}

bool IsInFront(const void* guard, const char* name) {
  return ::dlsym(RTLD_DEFAULT, name) == guard && ::dlsym(RTLD_NEXT, name) != nullptr;
}

}  // namespace

// `headers` is null for a stream that has ended. gRPC mistakes the end of such a block for its
// middle, and keeps an unfinished string beyond it, so these count as one block until headers of
// another stream come.
void GuardedBeginFrame(void* parser, void* headers, uint32_t limit, uint8_t boundary,
                       uint8_t priority, FrameInfo info) {
  static const auto own = OwnOf(GuardedBeginFrame, RUVD_HPACK_BEGIN_FRAME);
  constexpr uint8_t kNotAtTheEnd = 0;  // HPackParser::Boundary::None
  ProcessHeaderBlocks().Begin(parser, headers != nullptr && boundary != kNotAtTheEnd);
  own(parser, headers, limit, boundary, priority, info);
}

absl::Status GuardedParse(void* parser, const grpc_slice& slice, bool ends_frame) {
  static const auto own = OwnOf(GuardedParse, RUVD_HPACK_PARSE);
  if (!ProcessHeaderBlocks().Admit(parser, GRPC_SLICE_LENGTH(slice), ends_frame)) {
    return absl::ResourceExhaustedError("a header block is too large, or comes in too many parts");
  }
  return own(parser, slice, ends_frame);
}

void GuardedDestroy(void* parser) {
  static const auto own = OwnOf(GuardedDestroy, RUVD_HPACK_DESTROY);
  ProcessHeaderBlocks().Forget(parser);
  own(parser);
}

bool HeadersAreGuarded() {
  static const bool guarded =
      IsInFront(reinterpret_cast<const void*>(&GuardedBeginFrame), RUVD_HPACK_BEGIN_FRAME) &&
      IsInFront(reinterpret_cast<const void*>(&GuardedParse), RUVD_HPACK_PARSE) &&
      IsInFront(reinterpret_cast<const void*>(&GuardedDestroy), RUVD_HPACK_DESTROY);
  return guarded;
}

#else

bool HeadersAreGuarded() {
  return false;
}

#endif

}  // namespace ruvd::transport
