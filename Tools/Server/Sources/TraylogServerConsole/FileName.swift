import Crypto
@_spi(Operations) import Traylog

/// Names of files that a reader keeps.
enum FileName {
    /// As many bytes of a name as a file's name has room for, beside others.
    private static let longest = 64

    /// A name as a part of a file's name, on any system: letters, digits, `-`, `_` and full stops of ASCII.
    ///
    /// Where others were replaced or left out, a few digits of its hash keep two names apart.
    static func part(_ name: String) -> String {
        let bytes = name.utf8.map { isPlain($0) ? $0 : UInt8(ascii: "_") }
        let plain = String(decoding: bytes.prefix(longest), as: UTF8.self)
        // Two names of the same letters in another case are one file on some systems.
        let isWhole = plain.utf8.elementsEqual(name.utf8) && !name.isEmpty && name == name.lowercased()
        return isWhole ? plain : plain + "~" + Array(SHA256.hash(data: Array(name.utf8)).prefix(4)).hex
    }

    private static func isPlain(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "_"), UInt8(ascii: "."):
            true
        default: false
        }
    }
}
