//! Dates of the Gregorian calendar.

/// Seconds of a day.
pub const DAY_S: i64 = 86_400;
/// Days from 0000-03-01, where the years of the calculation begin, to 1970-01-01; and days of 400
/// years.
const EPOCH_DAYS: i64 = 719_468;
const ERA_DAYS: i64 = 146_097;

/// Year, month and day of a day since 1970-01-01, in the Gregorian calendar. Years begin in March,
/// so that the day that only some years have is their last.
pub fn date(days: i64) -> (u64, u64, u64) {
    let days = days + EPOCH_DAYS;
    let (era, day) = (days.div_euclid(ERA_DAYS), days.rem_euclid(ERA_DAYS));
    let year = (day - day / 1_460 + day / 36_524 - day / (ERA_DAYS - 1)) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    // months from March: 153 days in five of them
    let month = (5 * day + 2) / 153;
    let calendar_month = if month < 10 { month + 3 } else { month - 9 };
    let year = year + era * 400 + i64::from(calendar_month <= 2);
    (year as u64, calendar_month as u64, (day - (153 * month + 2) / 5 + 1) as u64)
}
