import TestSupport
@_spi(Operations) import Traylog
import TraylogCluster

/// Some nodes, a log, a lease and clients, led through one history by a seed.
final class Simulation {
    let seed: UInt64
    var random: SeededRandom
    var weather: Weather
    let mutation: Mutation?
    var log = SimulatedLog()
    var lease = SimulatedLease()
    var nodes: [SimulatedNode]
    /// Messages under way.
    var network: [Delivery] = []
    var time = 0
    var clients: Clients
    var planted: Planted?
    /// The divergences that nodes named before they were restarted.
    var said: [(name: String, divergence: Divergence)] = []
    private let mayLosePower: Bool

    init(
        seed: UInt64, mutation: Mutation? = nil, plants: Bool = false,
        store: (Int, UInt64) throws -> any NodeStore = { LedgerStore(seed: $1 &+ UInt64($0) << 32) }
    ) throws {
        self.seed = seed
        self.mutation = mutation
        random = SeededRandom(seed: seed)
        weather = Weather()
        weather.leaseBreaks = random.chance(50)
        mayLosePower = random.chance(50)
        clients = Clients(count: random.between(2, 5), random: SeededRandom(seed: seed &+ 77))
        nodes = []
        for index in 0..<random.pick([2, 3, 3, 5]) {
            nodes.append(SimulatedNode(name: "n\(index)", store: try store(index, seed)))
        }
        if plants { planted = Planted(at: random.between(150, 350)) }
    }

    /// The whole history: bad weather, then good, until every caller has the answers it waits for.
    func run(steps: Int) throws {
        for _ in 0..<steps { step() }
        weather = .calm
        clients.isDone = true
        for node in nodes { (node.pausedUntil, node.cutUntil) = (0, 0) }
        for index in nodes.indices where nodes[index].isDown { restart(index) }
        // A diverged node reports it at the next event at the latest.
        clients.last()
        for _ in 0..<4_000 where !isSettled { step() }
        try check()
        for node in nodes { node.store.close() }
    }

    private var isSettled: Bool {
        clients.areAnswered && network.isEmpty
            && nodes.allSatisfy { $0.node.role == .diverged || ($0.node.position == log.last && $0.node.flight == nil) }
            || nodes.allSatisfy { $0.node.role == .diverged }
    }

    private func step() {
        time += 1
        plant()
        switch random.below(100) {
        case 0..<25: send()
        case 25..<75: act(random.below(nodes.count))
        case 75..<98: deliver()
        default: if weather.isBad { goWrong() }
        }
    }

    private func send() {
        let up = nodes.indices.filter { !nodes[$0].isDown }
        let owners = up.filter { nodes[$0].node.role == .owner }
        let target = random.chance(10) ? up : owners
        guard !target.isEmpty, let request = clients.next(since: log.messages.count) else { return }
        nodes[random.pick(target)].waiting.append(request)
    }

    // MARK: What goes wrong

    private func goWrong() {
        let index = random.below(nodes.count)
        let node = nodes[index]
        switch random.below(weather.leaseBreaks ? 7 : 6) {
        case 0, 1: node.pausedUntil = time + random.pick([5, 40, 150])
        case 2: node.isDown ? restart(index) : kill(index)
        case 3:
            node.cutUntil = time + random.pick([10, 40, 150])
            node.endWhenCut = log.bounds
        case 4: trim()
        case 5: if !node.isDown { kill(index) }
        default: if let holder = lease.current(at: time) { lease.release(holder) }
        }
    }

    func kill(_ index: Int) {
        let node = nodes[index]
        if !node.deciding.isEmpty { node.store.drop() }
        for request in node.deciding + node.waiting { clients.answer(request, .unknown, at: log.messages.count) }
        (node.deciding, node.waiting, node.mail, node.isDown) = ([], [], nil, true)
        if let divergence = node.node.divergence { said.append((node.name, divergence)) }
        node.flights += 1
        node.store.restart(losing: mayLosePower ? random.below(3) : 0)
    }

    func restart(_ index: Int) {
        let node = nodes[index]
        node.isDown = false
        var position = node.store.position
        if mutation == .forgetsThePosition, position > .start {
            position = LogPosition(rawValue: position.rawValue - 1)
        }
        node.node = NodeProtocol(name: node.name, position: position, tree: node.store.tree)
        guard mutation != .comparesNoRoots, position > .start, let message = log.message(at: position) else { return }
        node.node.examine(message)
    }

    private func trim() {
        let owner = nodes.first { $0.node.role == .owner }
        let heard = mutation == .trimsForTheOwnerAlone ? nodes.filter { $0 === owner } : nodes
        let places = heard.map { ($0.name, $0.store.durablePosition) }
        let retention = LogRetention(nodes: Dictionary(uniqueKeysWithValues: places), backup: log.last)
        log.trim(below: retention.firstKept(of: log.bounds))
    }

    // MARK: The network

    private func deliver() {
        guard !network.isEmpty else { return }
        let delivery = network.remove(at: random.below(network.count))
        let isCut = time < nodes[delivery.node].cutUntil
        let draw = random.below(100)
        var limit = weather.lost
        if isCut || draw < limit { return answer(delivery, .unknown(reason: "lost")) }
        limit += weather.rejected
        if draw < limit, delivery.wantsAnswer { return answer(delivery, .rejected(reason: "full")) }
        limit += weather.late
        if draw < limit {
            answer(delivery, .unknown(reason: "late"))
            return later(delivery)
        }
        let outcome = log.publish(delivery.message, expecting: delivery.expecting)
        limit += weather.doubled
        if draw < limit { later(delivery) }
        limit += weather.unanswered
        answer(delivery, draw < limit && draw >= limit - weather.unanswered ? .unknown(reason: "no answer") : outcome)
    }

    private func later(_ delivery: Delivery) {
        var copy = delivery
        copy.wantsAnswer = false
        network.append(copy)
    }

    private func answer(_ delivery: Delivery, _ outcome: PublishOutcome) {
        let node = nodes[delivery.node]
        if delivery.wantsAnswer, node.flights == delivery.flight, !node.isDown { node.mail = outcome }
    }
}
