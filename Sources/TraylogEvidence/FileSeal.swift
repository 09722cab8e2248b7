import TraylogAudit
import TraylogDomain
import TraylogJSON

/// The last member of an object that is handed out: a hash of all before it.
///
/// Whoever changes or leaves out a byte must make it anew.
package enum FileSeal {
    /// The bytes of `,"seal":"…"}`.
    private static let byteCount = 75

    /// In hexadecimal digits.
    package static func hash(_ bytes: [UInt8]) -> String {
        MerkleHash.sha256(RawSpan(_elements: bytes.span), RawSpan()).hex
    }

    /// What the seal is of.
    ///
    /// - Throws: ``Refusal/invalid(field:reason:)`` where it does not fit.
    package static func body(of line: [UInt8]) throws(Refusal) -> [UInt8] {
        let body = Array(line.dropLast(byteCount))
        guard line == body + Array(",\"seal\":\"\(hash(body))\"}".utf8) else {
            throw .invalid(
                field: "seal", reason: "does not fit the file: a byte of it was changed, or a part of it left out")
        }
        return body
    }
}

/// The elements of a JSON array, as texts.
package enum JSONElements {
    /// - Throws: ``Refusal/invalid(field:reason:)`` of the member `name`.
    package static func split(_ text: [UInt8], _ name: String) throws(Refusal) -> [[UInt8]] {
        var (scanner, elements) = (JSONScanner(), [[UInt8]]())
        let span = text.span
        do throws(JSONFault) {
            guard scanner.skip(UInt8(ascii: "["), in: span) else { throw scanner.fault(.noSeparator, in: span) }
            guard !scanner.skip(UInt8(ascii: "]"), in: span) else { return [] }
            repeat {
                elements.append(Array(text[try scanner.rawValue(in: span)]))
            } while scanner.skip(
                UInt8(ascii: ","), in: span)
            guard scanner.skip(UInt8(ascii: "]"), in: span) else { throw scanner.fault(.noSeparator, in: span) }
        } catch {
            throw .invalid(field: name, reason: error.description)
        }
        return elements
    }
}
