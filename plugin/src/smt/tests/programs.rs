//! Random expressions, built as terms and computed with plain arithmetic side by side.

use super::super::bits::{apply, mask, signed, Binary};
use super::super::terms::{Term, Terms};

/// One step: an operation on two earlier results, brought to one width.
pub type Step = (u8, u8, u8, u64);

/// Widths that the tests use.
pub const WIDTHS: [u32; 7] = [1, 4, 7, 8, 16, 32, 64];

/// A term and its value under each of the assignments.
#[derive(Clone)]
pub struct Sample {
    pub term: Term,
    pub values: Vec<u64>,
}

/// Variables of several widths, with their values under each assignment.
pub fn variables(terms: &mut Terms, widths: &[u32], assignments: &[Vec<u64>]) -> Vec<Sample> {
    widths
        .iter()
        .enumerate()
        .map(|(at, &width)| {
            let values = assignments.iter().map(|values| values[at] & mask(width)).collect();
            Sample { term: terms.variable(width), values }
        })
        .collect()
}

fn resized(terms: &mut Terms, sample: &Sample, width: u32, by_sign: bool) -> Sample {
    let from = terms.width(sample.term);
    let term = match width.cmp(&from) {
        std::cmp::Ordering::Less => terms.trunc(sample.term, width),
        std::cmp::Ordering::Equal => sample.term,
        std::cmp::Ordering::Greater if by_sign => terms.sext(sample.term, width),
        std::cmp::Ordering::Greater => terms.zext(sample.term, width),
    };
    let values = sample.values.iter().map(|&value| {
        let value = if by_sign { signed(from, value) as u64 } else { value };
        value & mask(width)
    });
    Sample { term, values: values.collect() }
}

/// Runs the steps and returns all results, the variables first.
pub fn run(terms: &mut Terms, start: Vec<Sample>, steps: &[Step], widths: &[u32]) -> Vec<Sample> {
    let mut pool = start;
    for &(op, left, right, constant) in steps {
        let one = pool[usize::from(left) % pool.len()].clone();
        let width = terms.width(one.term);
        let other = if right % 4 == 0 {
            // Interesting constants: small, near the ends, powers of two.
            let value = match (right >> 2) % 5 {
                0 => constant,
                1 => constant % 9,
                2 => u64::MAX - constant % 5,
                3 => 1 << (constant % 64),
                _ => (1u64 << (constant % 64)).wrapping_sub(1),
            } & mask(width);
            Sample { term: terms.constant(width, value), values: vec![value; one.values.len()] }
        } else {
            let other = pool[usize::from(right) % pool.len()].clone();
            resized(terms, &other, width, constant & 1 == 1)
        };
        pool.push(step(terms, op, &one, &other, constant, &pool, widths));
    }
    pool
}

fn step(
    terms: &mut Terms,
    op: u8,
    a: &Sample,
    b: &Sample,
    constant: u64,
    pool: &[Sample],
    widths: &[u32],
) -> Sample {
    let width = terms.width(a.term);
    let zip = |f: &dyn Fn(u64, u64) -> u64| -> Vec<u64> {
        a.values.iter().zip(&b.values).map(|(&a, &b)| f(a, b)).collect()
    };
    let binary = |op| zip(&|a, b| apply(op, width, a, b));
    let all = mask(width);
    let (x, y) = (a.term, b.term);
    let compare = |f: &dyn Fn(u64, u64) -> bool| zip(&|a, b| u64::from(f(a, b)));
    let by_sign =
        |f: &dyn Fn(i64, i64) -> bool| zip(&|a, b| u64::from(f(signed(width, a), signed(width, b))));
    let (term, values) = match op % 29 {
        0 | 25 | 26 => (terms.add(x, y), zip(&|a, b| a.wrapping_add(b) & all)),
        1 | 27 => (terms.sub(x, y), zip(&|a, b| a.wrapping_sub(b) & all)),
        2 => (terms.mul(x, y), zip(&|a, b| a.wrapping_mul(b) & all)),
        3 => (terms.udiv(x, y), binary(Binary::Udiv)),
        4 => (terms.sdiv(x, y), binary(Binary::Sdiv)),
        5 => (terms.urem(x, y), binary(Binary::Urem)),
        6 => (terms.srem(x, y), binary(Binary::Srem)),
        7 => (terms.shl(x, y), binary(Binary::Shl)),
        8 => (terms.lshr(x, y), binary(Binary::Lshr)),
        9 => (terms.ashr(x, y), binary(Binary::Ashr)),
        10 => (terms.and(x, y), zip(&|a, b| a & b)),
        11 => (terms.or(x, y), zip(&|a, b| a | b)),
        12 => (terms.xor(x, y), zip(&|a, b| a ^ b)),
        13 => (terms.eq(x, y), compare(&|a, b| a == b)),
        14 => (terms.ne(x, y), compare(&|a, b| a != b)),
        15 => (terms.ult(x, y), compare(&|a, b| a < b)),
        16 => (terms.ule(x, y), compare(&|a, b| a <= b)),
        17 => (terms.ugt(x, y), compare(&|a, b| a > b)),
        18 => (terms.uge(x, y), compare(&|a, b| a >= b)),
        19 => (terms.slt(x, y), by_sign(&|a, b| a < b)),
        20 => (terms.sle(x, y), by_sign(&|a, b| a <= b)),
        21 => (terms.sgt(x, y), by_sign(&|a, b| a > b)),
        22 => (terms.sge(x, y), by_sign(&|a, b| a >= b)),
        23 => (terms.not(x), zip(&|a, _| !a & all)),
        24 => {
            let low = (constant % u64::from(width)) as u32;
            let bits = 1 + (constant >> 8) as u32 % (width - low);
            (terms.extract(x, low, bits), zip(&|a, _| a >> low & mask(bits)))
        }
        _ => {
            let flag = pool.iter().rev().find(|sample| terms.width(sample.term) == 1).cloned();
            let flag = flag.unwrap_or_else(|| resized(terms, a, 1, false));
            let values = flag.values.iter().zip(a.values.iter().zip(&b.values));
            let values = values.map(|(&flag, (&a, &b))| if flag == 1 { a } else { b }).collect();
            (terms.ite(flag.term, x, y), values)
        }
    };
    // Now and then to another width.
    let sample = Sample { term, values };
    if constant % 7 == 0 {
        return resized(terms, &sample, widths[(constant >> 16) as usize % widths.len()], constant & 32 == 0);
    }
    sample
}
