// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "privacy/seal/aead.h"

#include <sodium.h>

#include "base/bytes.h"
#include "base/reasons.h"
#include "base/status.h"

namespace ruvd::privacy::seal {
namespace {

constexpr size_t kNonceBytes = crypto_aead_xchacha20poly1305_ietf_NPUBBYTES;
constexpr size_t kTagBytes = crypto_aead_xchacha20poly1305_ietf_ABYTES;

static_assert(kSealKeyBytes == crypto_aead_xchacha20poly1305_ietf_KEYBYTES);
static_assert(kSealOverheadBytes == kNonceBytes + kTagBytes);

// The row's key has a length prefix and the data key's number comes last, so two different contexts
// never give the same bytes.
std::string AssociatedData(const SealContext& context) {
  ByteWriter data;
  data.Write(context.column_family)
      .Write(static_cast<uint32_t>(context.key.size()))
      .WriteText(context.key)
      .Write(context.schema)
      .Write(context.generation);
  if (context.key_id != 0) {
    data.Write(context.key_id);
  }
  return data.Take();
}

absl::Status Broken(const SealContext& context) {
  return Error(
      absl::StatusCode::kDataLoss, reasons::kSealBroken,
      "the sealed value of column family {}, key {} does not open: it is damaged, was moved, or "
      "belongs to another seal key; restore the key file or the store from a backup",
      context.column_family, ToHex(AsBytes(context.key)));
}

}  // namespace

void AppendSealed(const uint8_t* key, const SealContext& context, std::string_view plaintext,
                  std::string* out) {
  const std::string data = AssociatedData(context);
  const size_t start = out->size();
  out->resize(start + kSealOverheadBytes + plaintext.size());
  auto* bytes = reinterpret_cast<uint8_t*>(out->data() + start);
  randombytes_buf(bytes, kNonceBytes);
  crypto_aead_xchacha20poly1305_ietf_encrypt(
      bytes + kNonceBytes, nullptr, AsBytes(plaintext).data(), plaintext.size(),
      AsBytes(data).data(), data.size(), nullptr, bytes, key);
}

absl::StatusOr<std::string> OpenSealed(const uint8_t* key, const SealContext& context,
                                       std::string_view sealed) {
  if (sealed.size() < kSealOverheadBytes) {
    return Broken(context);
  }
  const std::string data = AssociatedData(context);
  const uint8_t* bytes = AsBytes(sealed).data();
  std::string out(sealed.size() - kSealOverheadBytes, '\0');
  if (crypto_aead_xchacha20poly1305_ietf_decrypt(
          reinterpret_cast<uint8_t*>(out.data()), nullptr, nullptr, bytes + kNonceBytes,
          sealed.size() - kNonceBytes, AsBytes(data).data(), data.size(), bytes, key) != 0) {
    return Broken(context);
  }
  return out;
}

}  // namespace ruvd::privacy::seal
