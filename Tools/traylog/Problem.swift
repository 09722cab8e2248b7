import Traylog

/// The exit status and the message of an error. No other place decides them.
struct Problem {
    let status: ExitStatus
    /// Without the program's name in front.
    let message: String
    let refusal: Refusal?
    /// The line of the input that was refused.
    let line: Int?

    init(refusal: Refusal, line: Int? = nil) {
        status = .refused
        message = (line.map { "line \($0): " } ?? "") + refusal.description
        self.refusal = refusal
        self.line = line
    }

    init(failure: StoreFailure) {
        status = ExitStatus(failure.code)
        var message = failure.message
        if let holder = failure.holder, !message.contains(String(holder)) {
            message += " (process \(holder))"
        }
        self.message = message
        refusal = nil
        line = nil
    }

    init(system: SystemFailure) {
        status = .inputOutput
        message = system.message
        refusal = nil
        line = nil
    }

    /// The problem of an error; nil for errors that the argument parser reports.
    init?(_ error: any Error) {
        switch error {
        case TraylogError.refused(let refusal): self.init(refusal: refusal)
        case TraylogError.failed(let failure): self.init(failure: failure)
        case let failure as SystemFailure: self.init(system: failure)
        default: return nil
        }
    }

    /// One line on standard error: JSON for a refusal when JSON was asked for, else text.
    func report(json: Bool) {
        let output = Output(.standardError)
        // Nothing is left to report to when this fails.
        if json, let refusal {
            try? output.json { $0.write(refusal, line: line) }
        } else {
            try? output.line("traylog: \(VisibleText(message).text)")
        }
        try? output.flush()
    }
}
