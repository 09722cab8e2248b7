@_spi(Operations) import Traylog

extension Service {
    /// Runs a check of the whole store, and records what it found: pages, `traylog health`, readiness and metrics say so
    /// until the same check finds nothing.
    ///
    /// A store that is too damaged to be checked counts as one with a finding.
    ///
    /// - Parameter findings: a report's.
    package func check<Report: Sendable>(
        _ check: UpkeepRecord.Check, head: (Report) -> Seq, findings: (Report) -> [String],
        _ run: () async throws -> Report
    ) async throws -> Report {
        do {
            let report = try await run()
            record(check, findings(report), head(report))
            return report
        } catch let error as TraylogError {
            if error.failure?.code == .damaged { record(check, [error.description], .zero) }
            throw error
        }
    }

    /// Records damage that a read met: a store that answers with an error is not healthy, whenever it was last verified.
    ///
    /// - Parameter error: any that a read ended with; the others are left alone.
    package func noteDamage(_ error: any Error) {
        guard case TraylogError.failed(let failure) = error, failure.code == .damaged else { return }
        let finding = withoutPath(failure.message)
        damageNotes.withLock { _ in
            do { try store.noteDamage(finding) } catch { logUnrecorded(UpkeepRecord.Check.reading.rawValue, error) }
        }
    }

    /// A message without the path of the store: where the server keeps its files is the business of operators alone.
    package func withoutPath(_ message: String) -> String {
        StorePath.replace(store.path, in: message, with: "the store")
    }

    /// Records a backup that ended now.
    func noteBackup(head: Seq) {
        do { try store.noteBackup(head: head) } catch { logUnrecorded("backup", error) }
    }

    private func record(_ check: UpkeepRecord.Check, _ findings: [String], _ head: Seq) {
        do { try store.note(check, findings: findings, head: head) } catch { logUnrecorded(check.rawValue, error) }
    }

    private func logUnrecorded(_ what: String, _ error: any Error) {
        log.write([("unrecorded", .string(what)), ("error", .string("\(error)"))])
    }

    /// What readiness says about checks that found something; nil where none did.
    ///
    /// It does not take the store out of service.
    var failedChecks: JSONValue? {
        let failures = store.upkeepRecord.failures
        guard !failures.isEmpty else { return nil }
        return .array(
            failures.map { failure in
                .present([
                    ("check", .string(failure.check.rawValue)), ("at", failure.time.map { .string($0.description) }),
                    ("findings", .int(failure.count)),
                ])
            })
    }
}
