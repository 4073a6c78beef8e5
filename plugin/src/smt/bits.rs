//! Machine integers of 1 to 64 bits as Rust numbers: the one place that says what each operation computes. The
//! semantics are SMT-LIB's, in which every operation is total: a division by zero gives all ones, a remainder by
//! zero the dividend, a shift by the width or more gives zero (or copies of the sign).

/// Operations with two operands that are terms of their own. Sums, products and the other comparisons are written
/// with these and with sums and products (`simplify.rs`).
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub(super) enum Binary {
    /// Unsigned quotient.
    Udiv,
    /// Signed quotient, rounded towards zero.
    Sdiv,
    /// Unsigned remainder.
    Urem,
    /// Signed remainder, with the dividend's sign.
    Srem,
    /// Left shift.
    Shl,
    /// Right shift that brings in zeros.
    Lshr,
    /// Right shift that brings in the sign.
    Ashr,
    /// Bitwise and.
    And,
    /// Bitwise or.
    Or,
    /// Bitwise exclusive or.
    Xor,
    /// Equality: width 1.
    Eq,
    /// Unsigned less-than: width 1.
    Ult,
    /// Signed less-than: width 1.
    Slt,
}

impl Binary {
    /// The result is a boolean whatever the operands' width.
    pub fn is_comparison(self) -> bool {
        matches!(self, Binary::Eq | Binary::Ult | Binary::Slt)
    }

    /// The name in SMT-LIB's theory of bit-vectors.
    pub fn name(self) -> &'static str {
        match self {
            Binary::Udiv => "udiv",
            Binary::Sdiv => "sdiv",
            Binary::Urem => "urem",
            Binary::Srem => "srem",
            Binary::Shl => "shl",
            Binary::Lshr => "lshr",
            Binary::Ashr => "ashr",
            Binary::And => "and",
            Binary::Or => "or",
            Binary::Xor => "xor",
            Binary::Eq => "=",
            Binary::Ult => "<u",
            Binary::Slt => "<s",
        }
    }
}

/// All bits of a width.
pub(super) fn mask(width: u32) -> u64 {
    u64::MAX >> (64 - width)
}

/// The value as a signed number.
pub(super) fn signed(width: u32, value: u64) -> i64 {
    ((value << (64 - width)) as i64) >> (64 - width)
}

/// The least signed number of a width.
pub(super) fn signed_min(width: u32) -> i64 {
    i64::MIN >> (64 - width)
}

/// The greatest signed number of a width.
pub(super) fn signed_max(width: u32) -> i64 {
    i64::MAX >> (64 - width)
}

/// `a op b` for operands of `width` bits.
pub(super) fn apply(op: Binary, width: u32, a: u64, b: u64) -> u64 {
    let all = mask(width);
    let (sa, sb) = (signed(width, a), signed(width, b));
    let result = match op {
        Binary::Udiv => a.checked_div(b).unwrap_or(all),
        Binary::Sdiv if b == 0 => {
            if sa < 0 {
                1
            } else {
                all
            }
        }
        Binary::Sdiv => sa.wrapping_div(sb) as u64,
        Binary::Urem => a.checked_rem(b).unwrap_or(a),
        Binary::Srem if b == 0 => a,
        Binary::Srem => sa.wrapping_rem(sb) as u64,
        Binary::Shl if b >= u64::from(width) => 0,
        Binary::Shl => a << b,
        Binary::Lshr if b >= u64::from(width) => 0,
        Binary::Lshr => a >> b,
        Binary::Ashr => (sa >> b.min(u64::from(width - 1))) as u64,
        Binary::And => a & b,
        Binary::Or => a | b,
        Binary::Xor => a ^ b,
        Binary::Eq => u64::from(a == b),
        Binary::Ult => u64::from(a < b),
        Binary::Slt => u64::from(sa < sb),
    };
    result & all
}

/// The inverse of an odd number modulo 2^64; its low bits are the inverse modulo any smaller power (Newton).
pub(super) fn inverse_of_odd(value: u64) -> u64 {
    let mut inverse = value;
    for _ in 0..6 {
        inverse = inverse.wrapping_mul(2u64.wrapping_sub(value.wrapping_mul(inverse)));
    }
    inverse
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn divisions_are_total() {
        assert_eq!(apply(Binary::Udiv, 8, 7, 0), 255);
        assert_eq!(apply(Binary::Sdiv, 8, 7, 0), 255);
        assert_eq!(apply(Binary::Sdiv, 8, 0xf9, 0), 1);
        assert_eq!(apply(Binary::Sdiv, 8, 0x80, 0xff), 0x80);
        assert_eq!(apply(Binary::Sdiv, 64, 1 << 63, u64::MAX), 1 << 63);
        assert_eq!(apply(Binary::Srem, 64, 1 << 63, u64::MAX), 0);
        assert_eq!(apply(Binary::Srem, 8, 0xf9, 0), 0xf9);
        assert_eq!(apply(Binary::Ashr, 8, 0x80, 200), 0xff);
        assert_eq!(apply(Binary::Shl, 64, 1, 64), 0);
    }

    #[test]
    fn odd_numbers_have_inverses() {
        for value in [1, 3, 5, 7, 0xffff_ffff, u64::MAX, 0x1234_5679] {
            assert_eq!(value.wrapping_mul(inverse_of_odd(value)), 1);
        }
    }
}
