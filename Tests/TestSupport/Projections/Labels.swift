package enum Main: DigestLabel {
    package static let name = "digest"
    package static let version: UInt32 = 1
}

/// The same projection after its fold was changed.
package enum MainLater: DigestLabel {
    package static let name = "digest"
    package static let version: UInt32 = 2
}

package enum Second: DigestLabel {
    package static let name = "Ωther"
    package static let version: UInt32 = 7
}

package enum Third: DigestLabel {
    package static let name = "digest2"
    package static let version: UInt32 = .max
}

package typealias MainDigest = LogDigest<Main>
package typealias LaterDigest = LogDigest<MainLater>
package typealias SecondDigest = LogDigest<Second>
package typealias ThirdDigest = LogDigest<Third>
