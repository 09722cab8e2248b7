@testable import TraylogDomain
@testable import TraylogJSON

/// Parses a line given as text.
func command(_ line: String) throws(Refusal) -> Command {
    try Command(line: line.utf8Span.span)
}

/// The field named in a line's refusal; nil when it is not refused.
func refusedField(_ line: [UInt8]) -> String? {
    do {
        _ = try Command(line: line.span)
        return nil
    } catch {
        guard case .invalid(let field, _) = error else { return "not invalid: \(error)" }
        return field
    }
}

func refusedField(_ line: String) -> String? { refusedField(Array(line.utf8)) }

func refusedField(_ command: Command) -> String? {
    do {
        try command.validate()
        return nil
    } catch {
        guard case .invalid(let field, _) = error else { return "not invalid: \(error)" }
        return field
    }
}

/// The writer's output, as text.
func json(_ write: (inout JSONWriter) -> Void) -> String {
    var writer = JSONWriter()
    write(&writer)
    return String(decoding: writer.bytes, as: UTF8.self)
}

/// A reproducible random generator (SplitMix64).
struct SeededGenerator: RandomNumberGenerator {
    private var state: UInt64

    init(seed: UInt64) { state = seed }

    mutating func next() -> UInt64 {
        state &+= 0x9e37_79b9_7f4a_7c15
        var mixed = state
        mixed = (mixed ^ (mixed &>> 30)) &* 0xbf58_476d_1ce4_e5b9
        mixed = (mixed ^ (mixed &>> 27)) &* 0x94d0_49bb_1331_11eb
        return mixed ^ (mixed &>> 31)
    }
}
