#pragma once
// SHA-256 by the functions that OpenSSL 3 calls deprecated: they keep their state on the stack and allocate nothing,
// where a call through EVP takes a context from the heap and 0.1 us more for a short message.
#define OPENSSL_SUPPRESS_DEPRECATED
#include <openssl/evp.h>
#include <openssl/sha.h>
#include <stddef.h>
#include <stdint.h>

/// The SHA-256 of `first` followed by `second`; either may be empty.
static inline void traylog_sha256(
    const void *first, size_t first_length, const void *second, size_t second_length, uint8_t digest[32]) {
    SHA256_CTX context;
    SHA256_Init(&context);
    if (first_length > 0) SHA256_Update(&context, first, first_length);
    if (second_length > 0) SHA256_Update(&context, second, second_length);
    SHA256_Final(digest, &context);
}

/// The public key of the Ed25519 key whose private half is `seed` (RFC 8032). 1 when it was made.
static inline int traylog_ed25519_public(const uint8_t seed[32], uint8_t key[32]) {
    size_t length = 32;
    EVP_PKEY *pair = EVP_PKEY_new_raw_private_key(EVP_PKEY_ED25519, NULL, seed, 32);
    int made = pair != NULL && EVP_PKEY_get_raw_public_key(pair, key, &length) == 1 && length == 32;
    EVP_PKEY_free(pair);
    return made;
}

/// Signs `length` bytes with the Ed25519 key of `seed`. 1 when `signature` holds the result.
static inline int traylog_ed25519_sign(
    const uint8_t seed[32], const void *message, size_t length, uint8_t signature[64]) {
    size_t written = 64;
    EVP_PKEY *pair = EVP_PKEY_new_raw_private_key(EVP_PKEY_ED25519, NULL, seed, 32);
    EVP_MD_CTX *context = EVP_MD_CTX_new();
    int signed_ = pair != NULL && context != NULL && EVP_DigestSignInit(context, NULL, NULL, NULL, pair) == 1 &&
                  EVP_DigestSign(context, signature, &written, message, length) == 1 && written == 64;
    EVP_MD_CTX_free(context);
    EVP_PKEY_free(pair);
    return signed_;
}

/// Whether `signature` is the one of these bytes by the Ed25519 key `key`: 1, or 0.
static inline int traylog_ed25519_verify(
    const uint8_t key[32], const void *message, size_t length, const uint8_t *signature, size_t signature_length) {
    EVP_PKEY *public_ = EVP_PKEY_new_raw_public_key(EVP_PKEY_ED25519, NULL, key, 32);
    EVP_MD_CTX *context = EVP_MD_CTX_new();
    int valid = public_ != NULL && context != NULL && EVP_DigestVerifyInit(context, NULL, NULL, NULL, public_) == 1 &&
                EVP_DigestVerify(context, signature, signature_length, message, length) == 1;
    EVP_MD_CTX_free(context);
    EVP_PKEY_free(public_);
    return valid;
}
