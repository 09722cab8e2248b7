/// Names an erased user by the number of the stream, which tells nothing about the person.
package enum Pseudonym {
    private static let start = "erased-"

    package static func name(ofStream stream: StreamID) -> String { "\(start)\(stream)" }

    /// The stream of a pseudonym; nil for any other name.
    package static func stream(of name: String) -> StreamID? {
        guard name.hasPrefix(start), let number = UInt32(name.dropFirst(start.count)) else { return nil }
        let stream = StreamID(rawValue: number)
        return self.name(ofStream: stream) == name ? stream : nil
    }
}
