import Foundation
import TraylogDomain

/// A line that `append --ack` answers with.
package struct Acknowledgement: Hashable, Codable, Sendable {
    package var line: Int
    package var result: String
    package var seq: UInt64?
    package var error: String?

    package init(_ json: String) throws {
        self = try JSONDecoder().decode(Acknowledgement.self, from: Data(json.utf8))
    }

    /// The expected answer to a command.
    package init(line: Int, _ result: Result<Receipt, Refusal>) {
        self.line = line
        switch result {
        case .success(.appended(let seq)): (self.result, self.seq) = ("appended", seq.rawValue)
        case .success(.duplicate(let seq)): (self.result, self.seq) = ("duplicate", seq.rawValue)
        case .success(.unchanged): self.result = "unchanged"
        case .failure(let refusal): (self.result, self.error) = ("refused", refusal.code.rawValue)
        }
    }

    package var json: String {
        get throws { String(decoding: try JSONEncoder().encode(self), as: UTF8.self) }
    }
}
