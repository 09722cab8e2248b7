import TraylogClient

/// The simulated service at an address.
struct NamedService: ServiceTransport {
    let service: SimulatedService
    let origin: String

    func perform(_ request: ServiceRequest) async throws(ServiceFailure) -> ServiceResponse {
        try await service.perform(request)
    }
    func open(_ request: ServiceRequest) async throws(ServiceFailure) -> ServiceStream {
        try await service.open(request)
    }
    func upload(
        file path: String, as name: String, progress: @escaping @Sendable (Double) -> Void
    ) async throws(ServiceFailure) -> (response: ServiceResponse, address: String) {
        try await service.upload(file: path, as: name, progress: progress)
    }
    func isReachable() async -> Bool { await service.isReachable() }
}
