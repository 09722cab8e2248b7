@_spi(Operations) import Traylog
import TraylogDomain

/// Comparisons that every torture makes.
enum TorturedStore {
    /// Compares answers with that model, of those that may be right, whose log is as long as the store's.
    ///
    /// - Parameter models: the first one holds what was acknowledged.
    /// - Throws: ``LostEvents``, or a ``Difference``.
    static func read(
        _ store: any AnswersQueries, _ models: [NaiveStore], _ random: inout SeededRandom
    ) throws -> NaiveStore {
        let head = try store.head()
        if let acknowledged = models.first?.head, head < acknowledged {
            throw LostEvents(acknowledged: acknowledged.rawValue, found: head.rawValue)
        }
        guard let model = models.first(where: { $0.head == head }) else {
            let heads = models.map { "\($0.head)" }.joined(separator: " or ")
            throw Difference(path: ["head"], expected: heads, found: "\(head)")
        }
        var comparison = try Comparison(store, model, seed: random.next())
        try comparison.check(users: [random.pick(model.users() + ["nobody"])], depth: .sample(1))
        return model
    }

    /// The store opens and goes on as if nothing had happened, and everything in it is in order.
    static func verify(_ path: String, _ model: inout NaiveStore, _ random: inout SeededRandom) throws {
        let store = try Store.open(path, options: .tiny(tailEvents: random.pick([8, 800_000]), isRelaxed: false))
        defer { store.close() }
        _ = try read(store, [model], &random)
        for user in model.users() { try expectSame(model.tray(of: user).total, try store.tray(of: user).total, user) }
        let time = Timestamp(milliseconds: 1_800_000_000_000)
        let command = Command(user: "afterwards", .notify(Content(title: "Hi")))
        try expectSame(model.perform(command, now: time), .success(try store.perform(command)), "an append")
        store.close()
        let report = try Verification.run(directory: path) { _, _ in }
        try expectSame([], report.findings, "findings")
        try expectSame(model.head.rawValue, report.events, "verified events")
        try expectSame(nil, try Replay.run(directory: path) { _, _ in }.difference, "replay")
    }
}
