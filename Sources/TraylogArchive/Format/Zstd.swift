import CTraylogZstd

/// Compresses to zstd frames.
///
/// It keeps its memory, about 2 MB, between calls.
@safe final class ZstdCompressor {
    // The context is created once, never shared, and freed with the object.
    // Higher levels take more time and gain little; see Docs/decisions/0019-archives-and-restores.md.
    static let level: Int32 = 3

    /// Nil where there was no memory for it.
    private let context: OpaquePointer?

    init() {
        unsafe context = ZSTD_createCCtx()
    }

    deinit {
        unsafe _ = ZSTD_freeCCtx(context)
    }

    /// Replaces `output` by the frame of `input`.
    func compress(_ input: RawSpan, into output: inout [UInt8]) throws(ZstdFailure) {
        guard let context = unsafe context else { throw .noMemory }
        output.resize(to: ZSTD_compressBound(input.byteCount))
        // Sound: both buffers are borrowed during the call, with their lengths.
        let count = unsafe input.withUnsafeBytes { source in
            unsafe output.withUnsafeMutableBytes { target in
                unsafe ZSTD_compressCCtx(
                    context, target.baseAddress, target.count, source.baseAddress, source.count, Self.level)
            }
        }
        guard ZSTD_isError(count) == 0 else { throw ZstdFailure(code: count) }
        output.resize(to: count)
    }
}

extension ZstdFailure {
    init(code: Int) { self.init(reason: unsafe String(cString: ZSTD_getErrorName(code))) }
}

/// Decompresses zstd frames.
///
/// Any bytes give a result or an error.
@safe final class ZstdDecompressor {
    // The context is created once, never shared, and freed with the object.
    /// Nil where there was no memory for it.
    private let context: OpaquePointer?

    init() {
        unsafe context = ZSTD_createDCtx()
    }

    deinit {
        unsafe _ = ZSTD_freeDCtx(context)
    }

    /// Replaces `output` by the content of the frame `input`, which must be `count` bytes.
    func decompress(_ input: RawSpan, count: Int, into output: inout [UInt8]) throws(ZstdFailure) {
        guard let context = unsafe context else { throw .noMemory }
        output.resize(to: count)
        // Sound: both buffers are borrowed during the call, and zstd respects their lengths.
        let written = unsafe input.withUnsafeBytes { source in
            unsafe output.withUnsafeMutableBytes { target in
                unsafe ZSTD_decompressDCtx(
                    context, target.baseAddress, target.count, source.baseAddress, source.count)
            }
        }
        guard ZSTD_isError(written) == 0 else { throw ZstdFailure(code: written) }
        guard written == count else { throw ZstdFailure(reason: "\(written) bytes instead of \(count)") }
    }
}

/// An error of zstd, with its message.
struct ZstdFailure: Error {
    let reason: String
    /// Whether the system is to blame, and not the bytes.
    var isOfTheSystem = false

    static let noMemory = ZstdFailure(
        reason: "there is no memory for zstd: raise the process's limit (`ulimit -v`) and try again",
        isOfTheSystem: true)
}
