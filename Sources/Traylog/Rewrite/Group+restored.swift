import TraylogDomain

extension Group {
    /// Notes what a deleted item that is being restored needs of the events below the floor-to-be.
    mutating func noteRestored(_ body: Event.Body, _ slot: UserSlot, core: inout Core) throws {
        guard case .marked(.restored, let items) = body else { return }
        let (state, stored) = try settled(slot, core: &core)
        for item in items where item.rawValue < core.keptFloor {
            guard let entry = try state.entry(of: item.rawValue, stored: stored) else { continue }
            core.capture?.needed.append(entry.seq)
            core.capture?.needed += try state.shown(entry, stored: stored).overrides.map(\.event)
            core.capture?.restored.append((entry.seq, slot.stream))
        }
    }
}
