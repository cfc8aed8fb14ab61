//! Writes replies in the protocol that the client chose.

/// The version of the protocol. A connection begins with RESP2 and changes by `HELLO`.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum Protocol {
    /// RESP2: maps are arrays, booleans are integers.
    #[default]
    Resp2,
    /// RESP3.
    Resp3,
}

/// Appends replies to a buffer.
#[derive(Debug)]
pub struct Writer<'a> {
    out: &'a mut Vec<u8>,
    protocol: Protocol,
}

impl<'a> Writer<'a> {
    /// Creates a writer that appends.
    pub const fn new(out: &'a mut Vec<u8>, protocol: Protocol) -> Self {
        Self { out, protocol }
    }

    /// A simple string. Line ends in it become spaces.
    pub fn simple(&mut self, text: &str) {
        self.line(b'+', text);
    }

    /// An error, whose first word is its code. Line ends in it become spaces.
    pub fn error(&mut self, message: &str) {
        self.line(b'-', message);
    }

    /// An integer.
    #[inline]
    pub fn integer(&mut self, number: i64) {
        self.out.push(b':');
        self.digits(number);
        self.end();
    }

    /// A bulk string.
    pub fn bulk(&mut self, bytes: impl AsRef<[u8]>) {
        let bytes = bytes.as_ref();
        self.head(b'$', bytes.len());
        self.out.extend_from_slice(bytes);
        self.end();
    }

    /// A text for people: verbatim in RESP3, so that `redis-cli` shows it as it is.
    pub fn text(&mut self, text: &str) {
        if self.protocol == Protocol::Resp2 {
            return self.bulk(text);
        }
        self.head(b'=', text.len().saturating_add(4));
        self.out.extend_from_slice(b"txt:");
        self.out.extend_from_slice(text.as_bytes());
        self.end();
    }

    /// No value.
    pub fn null(&mut self) {
        self.out.extend_from_slice(match self.protocol {
            Protocol::Resp2 => b"$-1\r\n",
            Protocol::Resp3 => b"_\r\n",
        });
    }

    /// True or false; 1 or 0 in RESP2.
    pub fn boolean(&mut self, value: bool) {
        match self.protocol {
            Protocol::Resp2 => self.integer(value.into()),
            Protocol::Resp3 => self.out.extend_from_slice(if value { b"#t\r\n" } else { b"#f\r\n" }),
        }
    }

    /// The head of an array, to be followed by so many values.
    #[inline]
    pub fn array(&mut self, length: usize) {
        self.head(b'*', length);
    }

    /// The head of a map, to be followed by so many pairs of values; an array of twice as many in RESP2.
    pub fn map(&mut self, pairs: usize) {
        match self.protocol {
            Protocol::Resp2 => self.head(b'*', pairs.saturating_mul(2)),
            Protocol::Resp3 => self.head(b'%', pairs),
        }
    }

    /// The head of a set, to be followed by so many values; an array in RESP2.
    pub fn set(&mut self, length: usize) {
        self.head(if self.protocol == Protocol::Resp2 { b'*' } else { b'~' }, length);
    }

    /// The protocol that it writes.
    #[must_use]
    pub const fn protocol(&self) -> Protocol {
        self.protocol
    }

    fn line(&mut self, kind: u8, text: &str) {
        self.out.push(kind);
        let plain = |byte: u8| if matches!(byte, b'\r' | b'\n') { b' ' } else { byte };
        self.out.extend(text.bytes().map(plain));
        self.end();
    }

    #[inline]
    fn head(&mut self, kind: u8, length: usize) {
        self.out.push(kind);
        self.digits(i64::try_from(length).unwrap_or(i64::MAX));
        self.end();
    }

    #[inline]
    fn end(&mut self) {
        self.out.extend_from_slice(b"\r\n");
    }

    /// Decimal digits.
    #[inline]
    fn digits(&mut self, number: i64) {
        if let Ok(digit) = u8::try_from(number)
            && digit < 10
        {
            self.out.push(digit.saturating_add(b'0'));
            return;
        }
        if number < 0 {
            self.out.push(b'-');
        }
        let mut rest = number.unsigned_abs();
        let mut digits = [0_u8; 20];
        let mut count = 0;
        for place in digits.iter_mut().rev() {
            // Below 10.
            *place = u8::try_from(rest % 10).unwrap_or(0).saturating_add(b'0');
            count = usize::saturating_add(count, 1);
            rest /= 10;
            if rest == 0 {
                break;
            }
        }
        let begin = digits.len().saturating_sub(count);
        self.out.extend_from_slice(digits.get(begin..).unwrap_or_default());
    }
}
