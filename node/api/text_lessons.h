// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <atomic>
#include <cstddef>

#include "absl/status/status.h"
#include "node/api/services.h"
#include "node/transport/grpc_types.h"
#include "ruvd/learning/v1/learning.pb.h"

// The methods of LearningService for lessons from texts.
namespace ruvd::api {

// Starts to receive a file, and cuts and stores its lessons once it is there. `uploads` counts the
// files that arrive or are being stored; it and `dependencies` must outlive the call. The call ends
// with RESOURCE_EXHAUSTED above limits::kMaxLessonUploads, with INVALID_ARGUMENT for messages out
// of order or another number of bytes than was said, and with the errors of CutLessons and
// LessonStore::Add.
grpc::ServerReadReactor<learning::v1::AddLessonsRequest>* ReceiveLessons(
    const ServiceDependencies& dependencies, std::atomic<size_t>& uploads,
    grpc::CallbackServerContext* context, learning::v1::AddLessonsResponse* response);

// Answer the other methods. They read or write the store, so call them on an executor. An id that
// is not hexadecimal is INVALID_ARGUMENT; other errors are those of the store.
absl::Status ListLessonSources(const storage::LessonStore& lessons,
                               const learning::v1::ListLessonSourcesRequest& request,
                               learning::v1::ListLessonSourcesResponse* response);
absl::Status ListTextLessons(const storage::LessonStore& lessons,
                             const learning::v1::ListTextLessonsRequest& request,
                             learning::v1::ListTextLessonsResponse* response);
absl::Status WithdrawLessons(storage::LessonStore& lessons,
                             const learning::v1::WithdrawLessonsRequest& request,
                             learning::v1::WithdrawLessonsResponse* response);

}  // namespace ruvd::api
