//! Keys and counts: the small programs of core's `loom::plan::code`. Checked once, when the plan comes ([`check`]); then
//! [`evaluate`] cannot leave its code or its stack.

use crate::sys;
use core::ops::ControlFlow;
use covsched_core::hash::mix;
use covsched_core::loom::plan::code;

/// More variables than any function keeps.
const MAX_VARIABLE: u32 = 1 << 14;

/// Where the plan's units are: what is added to an address in a unit's linked file.
pub trait Places {
    /// Of the unit with this index; `None` if there is no such.
    fn bias(&self, unit: u32) -> Option<u64>;
}

/// What an expression is worth.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Value {
    /// The words, together: the word itself if there is one.
    pub key: [u64; 2],
    /// The last one.
    pub last: u64,
}

/// "No key".
pub const NOTHING: Value = Value { key: [0, 0], last: 1 };

struct Reader<'a> {
    code: &'a [u8],
    at: usize,
}

impl Reader<'_> {
    fn bytes<const N: usize>(&mut self) -> Option<[u8; N]> {
        let bytes = self.code.get(self.at..self.at.checked_add(N)?)?.try_into().ok()?;
        self.at += N;
        Some(bytes)
    }

    fn u8(&mut self) -> Option<u8> {
        self.bytes().map(|[byte]: [u8; 1]| byte)
    }

    fn u32(&mut self) -> Option<u32> {
        self.bytes().map(u32::from_le_bytes)
    }

    fn u64(&mut self) -> Option<u64> {
        self.bytes().map(u64::from_le_bytes)
    }

    /// How many bytes, and whether they are signed.
    fn width(&mut self) -> Option<(u32, bool)> {
        let (bytes, is_signed) = (self.u8()?, self.u8()?);
        (matches!(bytes, 1 | 2 | 4 | 8) && is_signed <= 1).then_some((bytes.into(), is_signed == 1))
    }
}

/// An instruction.
enum Step {
    Push(u64),
    Variable(u32, (u32, bool)),
    InMemory(u32, (u32, bool)),
    Global(u32, u64),
    Load((u32, bool)),
    Add,
    Scale(u64),
    End,
}

fn next(reader: &mut Reader<'_>) -> Option<Step> {
    Some(match reader.u8()? {
        code::END => Step::End,
        code::CONSTANT => Step::Push(reader.u64()?),
        code::VARIABLE => Step::Variable(reader.u32()?, reader.width()?),
        code::IN_MEMORY => Step::InMemory(reader.u32()?, reader.width()?),
        code::GLOBAL => Step::Global(reader.u32()?, reader.u64()?),
        code::LOAD => Step::Load(reader.width()?),
        code::ADD => Step::Add,
        code::SCALE => Step::Scale(reader.u64()?),
        _ => return None,
    })
}

/// Whether the expression at `at` is well formed. Reads of the program's variables must be of mapped memory.
pub fn check(code: &[u8], at: u32, places: &impl Places) -> Result<(), &'static str> {
    const CUT_OFF: &str = "an expression is cut off or has an unknown instruction";
    const DEPTH: &str = "an expression needs too much of its stack, or too little is on it";
    let mut reader = Reader { code, at: at as usize };
    let (mut depth, mut global) = (0, None);
    loop {
        let last_global = global.take();
        match next(&mut reader).ok_or(CUT_OFF)? {
            Step::End if depth == 0 => return Err(DEPTH),
            Step::End => return Ok(()),
            Step::Push(_) => depth += 1,
            Step::Variable(index, _) | Step::InMemory(index, _) => {
                depth += 1;
                if index >= MAX_VARIABLE {
                    return Err("an expression names a variable that no function keeps");
                }
            }
            Step::Global(unit, address) => {
                depth += 1;
                let bias =
                    places.bias(unit).ok_or("an expression names a unit that the plan does not have")?;
                global = Some(address.wrapping_add(bias));
            }
            Step::Load((bytes, _)) => {
                let address = last_global.ok_or("an expression reads what is no variable of the program")?;
                let is_inside = address.checked_add(8).is_some_and(|end| end < 1 << 47);
                if !is_inside || !sys::is_mapped(address as *const u8, bytes as usize) {
                    return Err("an expression reads a variable where there is none");
                }
            }
            Step::Add if depth < 2 => return Err(DEPTH),
            Step::Add => depth -= 1,
            Step::Scale(_) if depth < 1 => return Err(DEPTH),
            Step::Scale(_) => (),
        }
        if depth > code::DEPTH {
            return Err(DEPTH);
        }
    }
}

fn cut(word: u64, (bytes, is_signed): (u32, bool)) -> u64 {
    let unused = 64 - 8 * bytes;
    if is_signed {
        ((word << unused) as i64 >> unused) as u64
    } else {
        word << unused >> unused
    }
}

/// # Safety
/// So many bytes can be read there.
unsafe fn read(address: u64, width: (u32, bool)) -> u64 {
    // SAFETY: by the contract. The program may be writing: one instruction a read, as its own would be.
    let word = unsafe {
        match width.0 {
            1 => (address as *const u8).read_volatile().into(),
            2 => (address as *const u16).read_unaligned().into(),
            4 => (address as *const u32).read_unaligned().into(),
            _ => (address as *const u64).read_unaligned(),
        }
    };
    cut(word, width)
}

/// Reads what only the plan says is there: 0 if it is not, so that a wrong plan is not the program's end.
fn read_if_there(address: u64, width: (u32, bool)) -> u64 {
    match sys::read_memory(address as usize, width.0 as usize) {
        Ok(word) => cut(word, width),
        Err(libc::EFAULT) => 0,
        // SAFETY: the kernel does not say (seccomp): the plan is trusted.
        Err(_) => unsafe { read(address, width) },
    }
}

/// Variables below this are surely in the stack of whoever has a frame: others are asked for.
const NEAR: u32 = 32;

/// The value of an expression that [`check`] found good.
///
/// # Safety
/// `frame` has the variables that the expression names.
pub unsafe fn evaluate(code: &[u8], at: u32, places: &impl Places, frame: *const u64) -> Value {
    let mut reader = Reader { code, at: at as usize };
    let mut stack = [0u64; code::DEPTH + 1];
    let mut depth = 0usize;
    let mut one = |reader: &mut Reader<'_>| {
        let mut push = |word| {
            stack[depth.min(code::DEPTH)] = word;
            depth = (depth + 1).min(code::DEPTH);
        };
        let variable = |index: u32| {
            let address = frame.wrapping_add(index as usize);
            if frame.is_null() {
                0
            } else if index < NEAR {
                // SAFETY: by the contract.
                unsafe { address.read_volatile() }
            } else {
                read_if_there(address as u64, (8, false))
            }
        };
        match next(reader) {
            None | Some(Step::End) => return ControlFlow::Break(()),
            Some(Step::Push(word)) => push(word),
            Some(Step::Variable(index, width)) => push(cut(variable(index), width)),
            Some(Step::InMemory(index, width)) => match variable(index) {
                0 => push(0),
                address => push(read_if_there(address, width)),
            },
            Some(Step::Global(unit, address)) => push(address.wrapping_add(places.bias(unit).unwrap_or(0))),
            Some(Step::Load(width)) => {
                depth = depth.saturating_sub(1);
                let address = stack[depth];
                // SAFETY: checked: a variable of the program.
                stack[depth] = unsafe { read(address, width) };
                depth += 1;
            }
            Some(Step::Add) if depth >= 2 => {
                depth -= 1;
                stack[depth - 1] = stack[depth - 1].wrapping_add(stack[depth]);
            }
            Some(Step::Scale(factor)) if depth >= 1 => {
                stack[depth - 1] = stack[depth - 1].wrapping_mul(factor)
            }
            Some(_) => return ControlFlow::Break(()),
        }
        ControlFlow::Continue(())
    };
    while one(&mut reader).is_continue() {}
    let words = &stack[..depth];
    let key = match words {
        [word] => [*word, 1],
        // Two words that are mixed independently: keys that differ are the same with a chance of 2^-128.
        words => words.iter().fold([words.len() as u64, 0x9e37_79b9_7f4a_7c15], |[a, b], &word| {
            [mix(a ^ word), mix(b.wrapping_add(word).rotate_left(17)).wrapping_mul(0x0000_0100_0000_01b3)]
        }),
    };
    Value { key, last: words.last().copied().unwrap_or(0) }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct OneUnit(u64);

    impl Places for OneUnit {
        fn bias(&self, unit: u32) -> Option<u64> {
            (unit == 0).then_some(self.0)
        }
    }

    #[test]
    fn arithmetic_widths_and_the_programs_variables() {
        static GLOBAL: u32 = 0xffff_fff0;
        let address = &raw const GLOBAL as u64;
        let mut bytes = vec![code::VARIABLE, 1, 0, 0, 0, 1, 1, code::SCALE];
        bytes.extend((-2i64).to_le_bytes());
        bytes.push(code::GLOBAL);
        bytes.extend(0u32.to_le_bytes());
        bytes.extend((address - 100).to_le_bytes());
        bytes.extend([code::LOAD, 4, 1, code::ADD, code::END]);
        let unit = OneUnit(100);
        check(&bytes, 0, &unit).unwrap();
        let frame = [0, 0x1fd];
        // SAFETY: two variables.
        let value = unsafe { evaluate(&bytes, 0, &unit, frame.as_ptr()) };
        // -3 * -2 + -16
        assert_eq!((value.last as i64, value.key), (-10, [-10i64 as u64, 1]));
        for length in 0..bytes.len() {
            assert!(check(&bytes[..length], 0, &unit).is_err());
        }
    }

    #[test]
    fn several_words_make_one_key() {
        let key = |words: &[i64]| {
            let mut bytes = Vec::new();
            for word in words {
                bytes.push(code::CONSTANT);
                bytes.extend(word.to_le_bytes());
            }
            bytes.push(code::END);
            check(&bytes, 0, &OneUnit(0)).unwrap();
            // SAFETY: no variables.
            unsafe { evaluate(&bytes, 0, &OneUnit(0), core::ptr::null()) }.key
        };
        assert_eq!(key(&[1, 2]), key(&[1, 2]));
        assert_ne!(key(&[1, 2]), key(&[2, 1]));
        assert_ne!(key(&[1, 2]), key(&[1, 2, 0]));
    }

    #[test]
    fn what_is_no_expression_is_refused() {
        let bad: &[&[u8]] = &[
            &[],
            &[code::END],
            &[code::ADD, code::END],
            &[9],
            &[code::VARIABLE, 0, 0, 0, 0, 3, 0, code::END],
            &[code::VARIABLE, 0, 0, 255, 0, 8, 0, code::END],
            &[code::CONSTANT, 0, 0, 0, 0, 0, 0, 0, 0, code::LOAD, 8, 0, code::END],
            &[code::GLOBAL, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, code::END],
            &[code::GLOBAL, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, code::LOAD, 8, 0, code::END],
        ];
        for bytes in bad {
            assert!(check(bytes, 0, &OneUnit(0)).is_err(), "{bytes:?}");
        }
        let deep: Vec<u8> = [code::VARIABLE, 0, 0, 0, 0, 8, 0].repeat(17);
        assert!(check(&deep, 0, &OneUnit(0)).is_err());
        assert!(check(&[code::END], u32::MAX, &OneUnit(0)).is_err());
    }
}
