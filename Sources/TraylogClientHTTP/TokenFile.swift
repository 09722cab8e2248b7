public import Foundation
public import TraylogClient

/// The user's token in a file, which is read again whenever a token is wanted.
public struct TokenFile: TokenSource {
    private let url: URL

    /// Reads the token from a file at each use.
    public init(_ url: URL) { self.url = url }

    /// The file's content without spaces and line ends.
    public func token() async throws -> String {
        try String(contentsOf: url, encoding: .utf8).trimmingCharacters(in: .whitespacesAndNewlines)
    }
}
