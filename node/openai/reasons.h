// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// The error reasons of the HTTP API, beside those of gRPC.
namespace ruvd::reasons {

inline constexpr char kJsonInvalid[] = "JSON_INVALID";
inline constexpr char kUnsupportedParameter[] = "UNSUPPORTED_PARAMETER";
inline constexpr char kModelUnknown[] = "MODEL_UNKNOWN";
inline constexpr char kRouteUnknown[] = "ROUTE_UNKNOWN";
inline constexpr char kMethodNotAllowed[] = "METHOD_NOT_ALLOWED";
inline constexpr char kMediaTypeUnsupported[] = "MEDIA_TYPE_UNSUPPORTED";
inline constexpr char kHostNotAllowed[] = "HOST_NOT_ALLOWED";

}  // namespace ruvd::reasons
