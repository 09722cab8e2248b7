import ArgumentParser
@_spi(Operations) import Traylog

extension Age: @retroactive ExpressibleByArgument {
    /// The age that somebody typed: `12h`, `1d`, `2w`.
    public init?(argument text: String) { self.init(text) }
}
