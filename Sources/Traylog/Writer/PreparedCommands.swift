import TraylogDomain
import TraylogLog

/// Commands with all that can be done for them without the store's state: checked, named by identities and, where
/// the event does not depend on the state, encoded.
///
/// Made on the caller's thread, so that the writer's has less to do.
struct PreparedCommands: Sendable {
    struct Entry: Sendable {
        /// The user's name's.
        var user: UInt64 = 0
        /// Of a command with a key; else 0.
        var fingerprint: UInt64 = 0
        /// What the event will state, but for its seq; nil when that depends on the state.
        var fact: Fact?
        /// Where the event's payload stands in ``payloads``.
        var payload: Range<Int> = 0..<0
        /// When the item that the event brings expires.
        var expiresAt: Timestamp?
    }

    let commands: [Command]
    private(set) var entries: [Entry] = []
    private(set) var payloads: [UInt8] = []
    /// Commands that are refused whatever the state is, by index.
    private(set) var refusals: [Int: Refusal] = [:]

    /// - Parameter areValid: every command was checked before.
    init(_ commands: [Command], hasher: IdentityHasher, areValid: Bool = false) {
        self.commands = commands
        entries.reserveCapacity(commands.count)
        payloads.reserveCapacity(commands.count * 192)
        // Through a span, which lends each command: a copy would touch the count of every string in it, twice.
        let lent = commands.span
        for index in lent.indices {
            do throws(Refusal) {
                if !areValid { try lent[index].validate() }
                entries.append(prepare(lent[index], hasher))
            } catch {
                refusals[index] = error
                entries.append(Entry())
            }
        }
    }

    private mutating func prepare(_ command: borrowing Command, _ hasher: IdentityHasher) -> Entry {
        var entry = Entry()
        if let user = command.user { entry.user = hasher.identity(of: user, as: .user) }
        if command.key != nil { entry.fingerprint = CommandFingerprint.of(command) }
        guard case .notify(let content) = command.action else { return entry }
        entry.expiresAt = content.expiresAt
        let body = Event.Body.notified(content)
        entry.fact = Fact(seq: 0, body: body, key: command.key, hasher: hasher)
        payloads.growGeometrically(for: 4_096)
        let start = payloads.count
        PayloadEncoder.append(
            user: command.user, key: command.key, actor: command.actor, device: command.device,
            commandFingerprint: entry.fingerprint, body: body, unknownFields: [], to: &payloads)
        entry.payload = start..<payloads.count
        return entry
    }
}
