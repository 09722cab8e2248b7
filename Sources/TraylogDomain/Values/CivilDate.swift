/// A day of the proleptic Gregorian calendar, which RFC 3339 uses.
struct CivilDate: Hashable, Sendable {
    var year: Int64
    var month: Int64
    var day: Int64
}

extension CivilDate {
    /// The date `days` after 1970-01-01, for any count that milliseconds in 64 bits can reach.
    ///
    /// Years are counted from March, so that the leap day comes last; eras have 400 years. After
    /// "chrono-Compatible Low-Level Date Algorithms" (Hinnant).
    init(daysSinceEpoch days: Int64) {
        let shifted = days &+ 719_468
        let era = (shifted >= 0 ? shifted : shifted &- 146_096) / 146_097
        let dayOfEra = shifted &- era &* 146_097
        let yearOfEra =
            (dayOfEra &- dayOfEra / 1_460 &+ dayOfEra / 36_524 &- dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra &- (365 &* yearOfEra &+ yearOfEra / 4 &- yearOfEra / 100)
        let monthFromMarch = (5 &* dayOfYear &+ 2) / 153
        day = dayOfYear &- (153 &* monthFromMarch &+ 2) / 5 &+ 1
        month = monthFromMarch < 10 ? monthFromMarch &+ 3 : monthFromMarch &- 9
        year = yearOfEra &+ era &* 400 &+ (month <= 2 ? 1 : 0)
    }

    /// Days after 1970-01-01; negative before.
    ///
    /// - Precondition: the date is valid and its year is 0 or later.
    var daysSinceEpoch: Int64 {
        // From March on, in years from 0 to 400 of the era; January of year 0 lies in the era before.
        let shiftedYear = (month <= 2 ? year &- 1 : year) &+ 400
        let era = shiftedYear / 400
        let yearOfEra = shiftedYear &- era &* 400
        let monthFromMarch = month > 2 ? month &- 3 : month &+ 9
        let dayOfYear = (153 &* monthFromMarch &+ 2) / 5 &+ day &- 1
        let dayOfEra = yearOfEra &* 365 &+ yearOfEra / 4 &- yearOfEra / 100 &+ dayOfYear
        return (era &- 1) &* 146_097 &+ dayOfEra &- 719_468
    }

    /// Whether the calendar has this date.
    var isValid: Bool {
        month >= 1 && month <= 12 && day >= 1 && (day <= 28 || day <= daysInMonth)
    }

    private var daysInMonth: Int64 {
        switch month {
        case 4, 6, 9, 11: 30
        case 2: isLeapYear ? 29 : 28
        default: 31
        }
    }

    private var isLeapYear: Bool {
        year & 3 == 0 && (year % 100 != 0 || year % 400 == 0)
    }
}
