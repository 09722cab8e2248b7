import CTraylogZstd
import TraylogLog

/// Makes zstd frames, one for each call; keeps its memory (about 2 MB) between them.
@safe final class ZstdCompressor {
    // Made once, given to nobody, and freed with the object.
    // Of the levels the one after which more time brings little; see Docs/decisions/0086.
    static let level: Int32 = 3

    private let context: OpaquePointer

    init() {
        guard let context = unsafe ZSTD_createCCtx() else { preconditionFailure("no memory for a zstd context") }
        unsafe self.context = context
    }

    deinit {
        unsafe _ = ZSTD_freeCCtx(context)
    }

    /// Replaces `output` by the frame of `input`.
    func compress(_ input: RawSpan, into output: inout [UInt8]) throws(ZstdFailure) {
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
    init(code: Int) { reason = unsafe String(cString: ZSTD_getErrorName(code)) }
}
