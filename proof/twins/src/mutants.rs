//! Scripts with one place broken, to show that the comparison would notice. Each text stands in some script, or the run fails.

/// One changed place.
#[derive(Clone, Copy, Debug)]
pub struct Mutant {
    /// The text as it ships, without indentation.
    pub shipped: &'static str,
    /// The same, broken.
    pub broken: &'static str,
}

const fn mutant(shipped: &'static str, broken: &'static str) -> Mutant {
    Mutant { shipped, broken }
}

/// Every mutant.
pub const MUTANTS: &[Mutant] = &[
    // Drivers: one hit, a few keys, any hits, other verbs.
    mutant("if cost > 0 then\nif owed", "if cost >= 0 then\nif owed"),
    mutant("if cost > 0 then\nif used", "if cost >= 0 then\nif used"),
    mutant("local asked = cost\n", "local asked = cost + 1\n"),
    mutant("call('SET', key2, after2,", "call('SET', key1, after2,"),
    mutant("local amount = cost2\n", "local amount = cost1\n"),
    mutant("if granted then\nif after1 then", "if true then\nif after1 then"),
    mutant("#told1, #told2", "#told2, #told1"),
    mutant("told1 .. told2", "told2 .. told1"),
    mutant("rest = since2\n", "rest = since1\n"),
    mutant("amount + shadow <= room", "amount + shadow < room"),
    mutant("asked = amount + shadow", "asked = shadow"),
    mutant("most = capacity * 2", "most = capacity"),
    mutant("is_refused = verb == 1 and room == 0", "is_refused = verb == 1"),
    mutant("if amount > room then\namount = room", "if amount > room then\namount = 0"),
    mutant("local was_there = call('DEL', KEYS[1])", "local was_there = call('EXISTS', KEYS[1])"),
    // Several charges in one call.
    mutant("guarded(decide, KEYS[place], ARGV[place])", "guarded(decide, KEYS[place], ARGV[1])"),
    mutant("guarded(decide, KEYS[place], ARGV[place])", "guarded(decide, KEYS[1], ARGV[place])"),
    mutant("if #ARGV < #KEYS then", "if #ARGV <= #KEYS + 1 then"),
    mutant("ARGV[place] = ARGV[1] end", "ARGV[place] = ARGV[#ARGV] end"),
    mutant("for place = 2, #KEYS do ARGV", "for place = 3, #KEYS do ARGV"),
    mutant("for place = 1, #KEYS do", "for place = #KEYS, 1, -1 do"),
    mutant("for place = 1, #KEYS do", "for place = 1, #KEYS - 1 do"),
    mutant("tells[place] = told\n", "tells[#KEYS + 1 - place] = told\n"),
    mutant("return tells", "return tells[1]"),
    mutant("tells[place] = told\n", "tells[place] = told\nnow = now + 1\n"),
    mutant(
        "tells[place] = told\n",
        "tells[place] = told\nif byte(told, 7) % 2 == 0 then decide = function() return told end end\n",
    ),
    // How states are told apart, written and kept.
    mutant("or (length == 20 and kind >= 17 and kind <= 19)", ""),
    mutant("(length == 22 and kind >= 17 and kind <= 20)", "(length == 22 and kind >= 17 and kind <= 19)"),
    mutant("or (length == 25 and kind == 21)", ""),
    mutant("if cost > room then", "if cost >= room then"),
    mutant("lasts / 1000 + SLACK)", "lasts / 1000000 + SLACK)"),
    mutant("lasts / 1000 + SLACK)", "lasts + SLACK)"),
    mutant("lasts < NEAR and '%d' or '%.0f'", "lasts < NEAR and '1%d' or '%.0f'"),
    mutant("lasts < NEAR and '%d' or '%.0f'", "lasts < NEAR and '%d' or '%.2e'"),
    mutant(
        "call('SET', key, after, 'PX', format(lasts < NEAR and '%d' or '%.0f', lasts / 1000 + SLACK))",
        "call('SET', key, after)",
    ),
    mutant(
        "call('SET', key, after, 'PX', format(lasts < NEAR and '%d' or '%.0f', lasts / 1000 + SLACK))",
        "",
    ),
    mutant("else\ncall('DEL', key)\nend", "end"),
    // Debts.
    mutant("period < 1099511627776 and", "period <= 1099511627776 and"),
    mutant("units = unpack('>BI7I7I7', state)", "units = unpack('>BI7I7I5', state)"),
    mutant("if written - now <= drain then", "if written - now < drain then"),
    mutant("drain then\nat = written\nelse", "drain then\nelse"),
    mutant("written, debt = now, 0", "debt = 0"),
    mutant("if owed + cost * period > capacity * period", "if owed + cost * period >= capacity * period"),
    mutant("if part_of_cell > 0 then cells = cells + 1 end", ""),
    mutant("local cells = (owed - part_of_cell) / period", "local cells = owed / period"),
    mutant("if drained < debt then owed = debt - drained end", "owed = debt - drained"),
    mutant("if is_more then low = low + 1 end", ""),
    mutant(
        "local high, low, is_more = scaled(debt, period, units)",
        "local high, low, is_more = 0, debt * period / units, false",
    ),
    mutant("if high > 1 then\nowed = BEYOND", "if high > 1 then\nowed = 0"),
    mutant("low + whole_of_b, left + rest_of_b", "low + whole_of_b, left"),
    mutant("if receipt_at <= at and units == period then", "if units == period then"),
    mutant("if receipt_at <= at and units == period then", "if receipt_at <= at then"),
    mutant("if weighs > owed then weighs = owed end", ""),
    mutant("receipt_cost * period - (at - receipt_at) * count", "receipt_cost * period"),
    // Fixed windows and the calendar.
    mutant("is_over = at >= finish or at - now > length", "is_over = at > finish or at - now > length"),
    mutant("is_over = at >= finish or at - now > length", "is_over = at >= finish or at - now >= length"),
    mutant("if over <= now and over > start then start = over end", ""),
    mutant("if first == start then after = false end", "after = false"),
    mutant("start <= receipt_at and receipt_at < finish and back > 0", "start <= receipt_at and back > 0"),
    mutant("divided(day + 3, 7)", "divided(day + 4, 7)"),
    mutant(
        "elseif first_day_of_month(month + 1) <= day then",
        "elseif first_day_of_month(month + 1) < day then",
    ),
    mutant("if left < 0 then left = left + b end", ""),
    // Two counts.
    mutant(
        "elseif current > 0 and at < finish + window then",
        "elseif current > 0 and at <= finish + window then",
    ),
    mutant("if at - now <= length then", "if at - now < length then"),
    mutant("room = room - (weighted - short) / steps", "room = room - weighted / steps"),
    mutant("if short > 0 then room = room - 1 end", ""),
    mutant("elapsed = (elapsed - fmod(elapsed, step)) / step", "elapsed = elapsed / step"),
    mutant("elseif start - window <= receipt_at and", "elseif start - window < receipt_at and"),
    mutant("if current > 0 then lasts = lasts + window end", ""),
    // Lists.
    mutant("if length == 292 or length == 2056 then", "if length == 2056 then"),
    mutant("if length == 292 or length == 2056 then", "if length == 292 then"),
    mutant("if newest - now > window then", "if newest - now >= window then"),
    mutant("if newest > now then at = newest end", ""),
    mutant("return time + window > at end)", "return time + window >= at end)"),
    mutant("if used < 0 then used = used + BEYOND end", ""),
    mutant("if time + window > at then\n", "if time + window >= at then\n"),
    mutant("if gone == 0 then expired, total = 1, sum_to_eldest end", "if gone == 0 then expired = 1 end"),
    mutant("if sum >= excess then position = expired end", "position = expired"),
    mutant("eldest, sum, newest, used - sum)", "eldest, sum, newest, used)"),
    mutant("return sum >= excess", "return sum > excess"),
    mutant("if used + cost > capacity then", "if used + cost >= capacity then"),
    mutant("slots - expired >= entries_max", "slots - expired > entries_max"),
    mutant("newest - fmod(newest, bucket) == at - fmod(at, bucket)", "newest == at"),
    mutant("added = through - (BEYOND - amount)\n", "added = -1\n"),
    mutant("call('SETRANGE', key, '0', pack('>BI4I7', tag, expired, total))", ""),
    mutant("local place = merges and length - 14 or length", "local place = length"),
    mutant("elseif expired * 2 > slots then", "elseif false then"),
    mutant("merges and '-15' or '-1'", "'-1'"),
    mutant("if length > #state then all = call('GET', key) end", ""),
    mutant("if position > found or back < weighs then", "if true then"),
    mutant("after = used > back and table.concat(pieces)", "after = table.concat(pieces)"),
];
