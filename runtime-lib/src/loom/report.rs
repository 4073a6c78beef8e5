//! Texts without formatting or memory: what does not fit is cut off.

/// A text of up to N bytes.
pub struct Line<const N: usize> {
    bytes: [u8; N],
    length: usize,
}

impl<const N: usize> Line<N> {
    /// An empty one.
    pub const fn new() -> Self {
        Line { bytes: [0; N], length: 0 }
    }

    /// The text.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes[..self.length]
    }

    /// With a zero byte after it, which is not cut off.
    pub fn zero_ended(&mut self) -> &[u8] {
        let length = self.length.min(N - 1);
        self.bytes[length] = 0;
        &self.bytes[..=length]
    }

    /// Forgets what comes after `length` bytes.
    pub fn cut(&mut self, length: usize) {
        self.length = self.length.min(length);
    }

    /// Adds a text.
    pub fn push(&mut self, text: &str) -> &mut Self {
        self.push_bytes(text.as_bytes())
    }

    /// Adds bytes.
    pub fn push_bytes(&mut self, bytes: &[u8]) -> &mut Self {
        for &byte in bytes.iter().take(N - self.length) {
            self.bytes[self.length] = byte;
            self.length += 1;
        }
        self
    }

    /// Adds a number.
    pub fn number(&mut self, number: u64) -> &mut Self {
        self.digits(number, 10, 1)
    }

    /// Adds a hash: 16 digits.
    pub fn hex(&mut self, number: u64) -> &mut Self {
        self.digits(number, 16, 16)
    }

    fn digits(&mut self, mut rest: u64, base: u64, least: usize) -> &mut Self {
        let mut digits = [b'0'; 20];
        let mut at = digits.len();
        while rest > 0 || digits.len() - at < least {
            at -= 1;
            digits[at] = b"0123456789abcdef"[(rest % base) as usize];
            rest /= base;
        }
        self.push_bytes(&digits[at..])
    }
}

#[cfg(test)]
mod tests {
    use super::Line;

    #[test]
    fn numbers_and_the_end_of_the_room() {
        let mut line = Line::<24>::new();
        line.push("a ").number(0).push(" ").number(120).push(" ").hex(0xbeef);
        assert_eq!(line.bytes(), b"a 0 120 000000000000beef");
        line.push("more");
        assert_eq!(line.zero_ended().len(), 24);
    }
}
