@_spi(Witness) import TraylogAudit

extension OutboxOptions {
    /// Refuses a setting that is out of its range.
    func validate() throws(DeviceFailure) {
        try DeviceFailure.check(entryLimit, in: 0...Int.max, "entryLimit")
        try DeviceFailure.check(attachmentByteLimit, in: 0...Int.max, "attachmentByteLimit")
        try DeviceFailure.check(retries, in: 0...1_000_000, "retries")
        try DeviceFailure.check(retryMilliseconds, in: 0...86_400_000, "retryMilliseconds")
        try DeviceFailure.check(reconnectMilliseconds.count, in: 1...1_000, "reconnectMilliseconds.count")
        for step in reconnectMilliseconds { try DeviceFailure.check(step, in: 0...86_400_000, "reconnectMilliseconds") }
        try DeviceFailure.check(compactionEvents, in: 1...1_000_000_000, "compactionEvents")
    }
}

extension TrayClientOptions {
    /// Refuses a setting that is out of its range.
    func validate() throws(DeviceFailure) {
        try DeviceFailure.check(itemLimit, in: 0...Int.max, "itemLimit")
        try DeviceFailure.check(shortestPollSeconds, in: 1...86_400, "shortestPollSeconds")
        if let witnessAgeLimit { try DeviceFailure.check(witnessAgeLimit, in: 1...Int.max, "witnessAgeLimit") }
        try outbox.validate()
    }

    /// The witnesses that are asked for.
    func policy() throws(DeviceFailure) -> WitnessPolicy? {
        guard let witnessPolicy else { return nil }
        do throws(NoteError) {
            let policy = try WitnessPolicy(parsing: Array(witnessPolicy.utf8))
            guard !policy.logs.isEmpty else { throw .malformedPolicy("it names no log: add a line 'log KEY'") }
            return policy
        } catch {
            throw DeviceFailure(.invalidOption, "witnessPolicy: \(error.description)")
        }
    }
}

extension DeviceFailure {
    fileprivate static func check<Number: Comparable>(
        _ number: Number, in range: ClosedRange<Number>, _ name: String
    ) throws(DeviceFailure) {
        guard !range.contains(number) else { return }
        throw DeviceFailure(
            .invalidOption, "\(name): must be \(range.lowerBound) to \(range.upperBound), not \(number)")
    }
}
