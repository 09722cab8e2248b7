extension BinaryInteger {
    /// With commas between thousands: `1,234,567`.
    var grouped: String {
        var result = ""
        let digits = String(self)
        for (index, digit) in digits.enumerated() {
            if index > 0, (digits.count - index).isMultiple(of: 3) { result.append(",") }
            result.append(digit)
        }
        return result
    }

    /// With the word for it: `1 event`, `1,234 events`.
    func counted(_ noun: String, _ several: String? = nil) -> String {
        "\(grouped) \(self == 1 ? noun : several ?? noun + "s")"
    }

    /// As a size in bytes with a binary unit: `1.5 MiB`.
    var asBytes: String {
        var value = Double(self)
        var unit = "bytes"
        for larger in ["KiB", "MiB", "GiB", "TiB"] where value >= 1_024 {
            value /= 1_024
            unit = larger
        }
        guard unit != "bytes" else { return "\(self) bytes" }
        let tenths = UInt64((value * 10).rounded())
        return "\(tenths / 10).\(tenths % 10) \(unit)"
    }
}
