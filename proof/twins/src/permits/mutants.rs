//! Broken places of the scripts about permits and queues.

use crate::mutants::Mutant;

const fn mutant(shipped: &'static str, broken: &'static str) -> Mutant {
    Mutant { shipped, broken }
}

/// Broken places of these scripts.
pub const MUTANTS: &[Mutant] = &[
    mutant("since <= now and now - since < lease", "now - since < lease"),
    mutant("since <= now and now - since < lease", "since <= now and now - since <= lease"),
    mutant("recovers = not marker", "recovers = false"),
    mutant("if not marker then call('SET'", "if true then call('SET'"),
    mutant("ends > now + 2 * lease", "ends > now + 3 * lease"),
    mutant("if is_late then ends = now + lease end", ""),
    mutant("if ends > now then", "if ends >= now then"),
    mutant("levels = levels + has", "levels = has"),
    mutant("if not least or has < least", "if not least or has > least"),
    mutant("if ends > last then last = ends end\nend\nend", "end\nend"),
    mutant("if wish > 0 then", "if wish > 1 then"),
    mutant("local contenders = wanting + 1", "local contenders = wanting"),
    mutant("least * contenders < most", "least * contenders <= most"),
    mutant("local free = most - levels", "local free = most"),
    mutant("own_seq and seq <= own_seq", "own_seq and seq < own_seq"),
    mutant("own_seq and seq <= own_seq", "false"),
    mutant("not (recovers and keep <= free)", "true"),
    mutant("not (recovers and keep <= free)", "not recovers"),
    mutant("count >= 256", "count >= 257"),
    mutant("if not recovers then", "if true then"),
    mutant("local cap = most\nif short", "local cap = most - 1\nif short"),
    mutant("if cap < 1 then cap = 1 end", ""),
    mutant("level = keep + want\n", "level = want\n"),
    mutant("if level > free then level = free end", ""),
    mutant("if level > cap then level = cap end", ""),
    mutant("if level < keep then level = keep end", ""),
    mutant("fence = fence + level - keep", "fence = fence + level"),
    mutant("local unmet = keep + want - level", "local unmet = want"),
    mutant("if level > 0 or unmet > 0 then", "if level > 0 then"),
    mutant("local ends = now + lease", "local ends = now + lease + 1"),
    mutant(
        "pack('>c16I6I3I3I7', id, seq, level, unmet, ends)",
        "pack('>c16I6I3I3I7', id, seq, level, want, ends)",
    ),
    mutant("elseif state then\nvalues[place] = ''", "elseif false then\nvalues[place] = ''"),
    mutant("lasts[place] / 1000 + SLACK", "lasts[place] + SLACK"),
    mutant("wanting + 1, short", "wanting, short"),
    // Queues.
    mutant("fraction > 0 and at + 1 or at\nlocal longest", "at\nlocal longest"),
    mutant("if burst > 0 then", "if burst > 1 then"),
    mutant("burst * period - 1", "burst * period"),
    mutant("/ count + 1\n", "/ count\n"),
    mutant("if instant <= now or", "if instant < now - 1 or"),
    mutant("+ 3600000000 then", "then"),
    mutant("elseif units ~= count then", "elseif false then"),
    mutant("if wait > longest then", "if wait >= longest then"),
    mutant("now, 1, wait - longest", "now, 1, wait"),
    mutant("if wait > most then", "if wait >= most then"),
    mutant("at, fraction = at + interval, fraction + rest", "at, fraction = at + interval, fraction"),
    mutant("if fraction >= count then at", "if fraction > count then at"),
    mutant("at == was_at and fraction == was_fraction", "true"),
    mutant("if lasts > 0 then", "if true then"),
    mutant("55, given, given_part, count", "55, at, fraction, count"),
];
