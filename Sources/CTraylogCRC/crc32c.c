#include "CTraylogCRC.h"

#include <string.h>

// The Castagnoli polynomial 0x1EDC6F41, bit-reversed.
#define POLYNOMIAL 0x82F63B78u

static uint32_t tables[8][256];

__attribute__((constructor)) static void fill_tables(void) {
    for (uint32_t byte = 0; byte < 256; byte++) {
        uint32_t crc = byte;
        for (int bit = 0; bit < 8; bit++) crc = (crc >> 1) ^ ((crc & 1) ? POLYNOMIAL : 0);
        tables[0][byte] = crc;
    }
    for (uint32_t byte = 0; byte < 256; byte++)
        for (int slice = 1; slice < 8; slice++)
            tables[slice][byte] =
                (tables[slice - 1][byte] >> 8) ^ tables[0][tables[slice - 1][byte] & 0xFF];
}

uint32_t traylog_crc32c_portable(uint32_t crc, const void *bytes, size_t length) {
    const unsigned char *next = bytes;
    crc = ~crc;
    while (length >= 8) {
        uint32_t low = crc ^ ((uint32_t)next[0] | (uint32_t)next[1] << 8 | (uint32_t)next[2] << 16 |
                              (uint32_t)next[3] << 24);
        crc = tables[7][low & 0xFF] ^ tables[6][(low >> 8) & 0xFF] ^ tables[5][(low >> 16) & 0xFF] ^
              tables[4][low >> 24] ^ tables[3][next[4]] ^ tables[2][next[5]] ^ tables[1][next[6]] ^
              tables[0][next[7]];
        next += 8;
        length -= 8;
    }
    while (length--) crc = (crc >> 8) ^ tables[0][(crc ^ *next++) & 0xFF];
    return ~crc;
}

#if defined(__x86_64__)
#include <cpuid.h>
#include <nmmintrin.h>
#include <wmmintrin.h>

#define ACCELERATED __attribute__((target("sse4.2,pclmul"))) static

// Bytes of each of the three parts that are summed side by side: the instruction can start anew in each cycle, and
// takes three.
enum { part = 64 };

ACCELERATED inline uint64_t word_at(const unsigned char *bytes) {
    uint64_t word;
    memcpy(&word, bytes, 8);
    return word;
}

// The state after as many zero bytes as `factor` stands for: x to the power of 8 times their number, less 33, modulo the
// polynomial, bit-reversed. The product lacks one power of x, and the instruction multiplies by 32 of them.
ACCELERATED inline uint64_t after_zeros(uint64_t state, uint32_t factor) {
    __m128i product = _mm_clmulepi64_si128(_mm_cvtsi64_si128((long long)state), _mm_cvtsi64_si128(factor), 0);
    return _mm_crc32_u64(0, (uint64_t)_mm_cvtsi128_si64(product));
}

ACCELERATED uint32_t accelerated(uint32_t crc, const void *bytes, size_t length) {
    const unsigned char *next = bytes;
    uint64_t state = (uint32_t)~crc;
    for (; length >= 3 * part; length -= 3 * part, next += 3 * part) {
        uint64_t second = 0, third = 0;
        for (int offset = 0; offset < part; offset += 8) {
            state = _mm_crc32_u64(state, word_at(next + offset));
            second = _mm_crc32_u64(second, word_at(next + part + offset));
            third = _mm_crc32_u64(third, word_at(next + 2 * part + offset));
        }
        // x^(8 * 128 - 33) and x^(8 * 64 - 33).
        state = after_zeros(state, 0x0D3B6092u) ^ after_zeros(second, 0x9E4ADDF8u) ^ third;
    }
    for (; length >= 8; length -= 8, next += 8) state = _mm_crc32_u64(state, word_at(next));
    uint32_t narrow = (uint32_t)state;
    while (length--) narrow = _mm_crc32_u8(narrow, *next++);
    return ~narrow;
}

static int has_instruction;
__attribute__((constructor)) static void detect(void) {
    unsigned a, b, c = 0, d;
    has_instruction = __get_cpuid(1, &a, &b, &c, &d) && (c & bit_SSE4_2) && (c & bit_PCLMUL);
}
#elif defined(__ARM_FEATURE_CRC32)
#include <arm_acle.h>

static uint32_t accelerated(uint32_t crc, const void *bytes, size_t length) {
    const unsigned char *next = bytes;
    uint32_t state = ~crc;
    for (; length >= 8; length -= 8, next += 8) {
        uint64_t word;
        memcpy(&word, next, 8);
        state = __crc32cd(state, word);
    }
    while (length--) state = __crc32cb(state, *next++);
    return ~state;
}
static const int has_instruction = 1;
#else
static uint32_t accelerated(uint32_t crc, const void *bytes, size_t length) {
    return traylog_crc32c_portable(crc, bytes, length);
}
static const int has_instruction = 0;
#endif

uint32_t traylog_crc32c(uint32_t crc, const void *bytes, size_t length) {
    return has_instruction ? accelerated(crc, bytes, length) : traylog_crc32c_portable(crc, bytes, length);
}
