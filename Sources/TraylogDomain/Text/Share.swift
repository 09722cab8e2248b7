/// A part of a whole as people read it: `34 %`.
///
/// Only nothing is `0 %` and only all is `100 %`: what would round to them is `under 1 %` or `over 99 %`.
@_spi(Operations) public struct Share: Hashable, Sendable, CustomStringConvertible {
    private let part, whole: UInt64

    /// - Parameter part: at most `whole`.
    /// - Returns: nil where there is no whole.
    public init?(of part: some BinaryInteger, in whole: some BinaryInteger) {
        (self.part, self.whole) = (UInt64(clamping: part), UInt64(clamping: whole))
        guard self.whole > 0, self.part <= self.whole else { return nil }
    }

    /// To the nearest percent.
    public var description: String {
        if part == 0 { return "0 %" }
        if part == whole { return "100 %" }
        let (percent, rest) = whole.dividingFullWidth(part.multipliedFullWidth(by: 100))
        return switch rest >= whole - rest ? percent + 1 : percent {
        case 0: "under 1 %"
        case 100: "over 99 %"
        case let nearest: "\(nearest) %"
        }
    }
}
