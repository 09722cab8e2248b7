/// What a user is called who was erased: by the number of the stream, which says nothing about a person.
package enum Pseudonym {
    private static let start = "erased-"

    package static func name(ofStream stream: UInt32) -> String { "\(start)\(stream)" }

    /// The stream that a pseudonym names; nil for any other name.
    package static func stream(of name: String) -> UInt32? {
        guard name.hasPrefix(start), let stream = UInt32(name.dropFirst(start.count)),
            self.name(ofStream: stream) == name
        else { return nil }
        return stream
    }
}
