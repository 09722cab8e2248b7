import TraylogDomain

extension Core {
    /// Keeps the tray of the slot's state, which is not behind.
    mutating func keep(_ tray: Tray, of slot: UserSlot) {
        guard let current = slot.current, !slot.isTopic, !slot.name.isErased else { return }
        let hearsTopics = !current.state.topics.isEmpty
        cachedBytes -= answers.byteCount
        answers.keep(tray, identity: slot.identity, topicsThrough: hearsTopics ? current.topicsThrough : nil)
        cachedBytes += answers.byteCount
        slot.mayBeAnswered = true
    }

    /// The user's tray is about to change.
    func forgetTray(of slot: UserSlot) {
        guard slot.mayBeAnswered else { return }
        answers.forget(slot.user, identity: slot.identity)
        slot.mayBeAnswered = false
    }

    /// Forgets all trays, and whose they were.
    mutating func forgetTrays() {
        cachedBytes -= answers.byteCount
        answers.removeAll()
    }
}
