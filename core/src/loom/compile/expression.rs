//! From an expression to code for the engine's stack machine ([`plan::code`]), at one slot.
//!
//! What an expression may do (Wu 5.2.3): constants, variables, sums, addresses of variables, elements and fields. What the
//! engine may read is the slot's frame, variables that live in memory of the frame's function, and the program's
//! global variables: never anything through a pointer, which nobody can promise to be valid.

use super::names::{listed, similar};
use super::types::{Form, Global, LocalVariable, TypeId, Types};
use crate::loom::filter::tree::{Expression, Node};
use crate::loom::filter::Span;
use crate::loom::graph::{FunctionId, Graph, PointId};
use crate::loom::plan::code;
use crate::loom::table::{Line, PointKind, Variable};

/// An instruction of [`code`]; units are still numbered as in the program.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) enum Instruction {
    Constant(i64),
    Variable { word: u32, bytes: u8, signed: bool },
    InMemory { word: u32, bytes: u8, signed: bool },
    Global { unit: usize, address: u64 },
    Load { bytes: u8, signed: bool },
    Add,
    Scale(i64),
}

impl Instruction {
    /// Appends its bytes; `unit` numbers units as the plan does.
    pub(super) fn encode(&self, out: &mut Vec<u8>, unit: &dyn Fn(usize) -> u32) {
        match *self {
            Instruction::Constant(value) => {
                out.push(code::CONSTANT);
                out.extend(value.to_le_bytes());
            }
            Instruction::Variable { word, bytes, signed } => {
                out.push(code::VARIABLE);
                out.extend(word.to_le_bytes());
                out.extend([bytes, u8::from(signed)]);
            }
            Instruction::InMemory { word, bytes, signed } => {
                out.push(code::IN_MEMORY);
                out.extend(word.to_le_bytes());
                out.extend([bytes, u8::from(signed)]);
            }
            Instruction::Global { unit: at, address } => {
                out.push(code::GLOBAL);
                out.extend(unit(at).to_le_bytes());
                out.extend(address.to_le_bytes());
            }
            Instruction::Load { bytes, signed } => out.extend([code::LOAD, bytes, u8::from(signed)]),
            Instruction::Add => out.push(code::ADD),
            Instruction::Scale(by) => {
                out.push(code::SCALE);
                out.extend(by.to_le_bytes());
            }
        }
    }
}

/// How deep the stack gets.
fn depth(code: &[Instruction]) -> usize {
    let (mut now, mut most) = (0usize, 0);
    for instruction in code {
        match instruction {
            Instruction::Constant(_)
            | Instruction::Variable { .. }
            | Instruction::InMemory { .. }
            | Instruction::Global { .. } => now += 1,
            Instruction::Add => now = now.saturating_sub(1),
            Instruction::Load { .. } | Instruction::Scale(_) => {}
        }
        most = most.max(now);
    }
    most
}

/// Where an expression is evaluated.
#[derive(Clone, Copy)]
pub(super) struct Where {
    /// The slot.
    pub(super) point: PointId,
    /// The line that it is for: its function and copy say whose variables are meant.
    pub(super) line: Line,
    /// Parameters are meant, not variables of inner blocks.
    pub(super) at_entry: bool,
}

/// What is wrong with an expression.
#[derive(Debug)]
pub(super) struct Wrong {
    pub(super) span: Span,
    pub(super) message: String,
    pub(super) help: Option<String>,
}

fn wrong<T>(span: Span, message: impl Into<String>) -> Result<T, Wrong> {
    Err(Wrong { span, message: message.into(), help: None })
}

fn wrong_with<T>(span: Span, message: impl Into<String>, help: impl Into<String>) -> Result<T, Wrong> {
    Err(Wrong { span, message: message.into(), help: Some(help.into()) })
}

/// Something that has a type and maybe an address.
enum Object {
    /// The frame's word is its value.
    Register { word: u32, of: TypeId },
    /// The frame's word is its address.
    Frame { word: u32, of: TypeId },
    /// It has an address that does not change.
    Fixed { unit: usize, address: u64, of: TypeId },
    /// Its address is computed; it cannot be read.
    Computed { code: Vec<Instruction>, of: TypeId },
}

impl Object {
    fn of(&self) -> TypeId {
        match self {
            Object::Register { of, .. }
            | Object::Frame { of, .. }
            | Object::Fixed { of, .. }
            | Object::Computed { of, .. } => *of,
        }
    }

    /// Code for its address; `None` if it has none.
    fn address(self) -> Option<Vec<Instruction>> {
        match self {
            Object::Register { .. } => None,
            Object::Frame { word, .. } => Some(vec![Instruction::Variable { word, bytes: 8, signed: false }]),
            Object::Fixed { unit, address, .. } => Some(vec![Instruction::Global { unit, address }]),
            Object::Computed { code, .. } => Some(code),
        }
    }
}

/// A value on the stack: what it points to, if it is a pointer.
struct Value {
    code: Vec<Instruction>,
    pointer: Option<Option<TypeId>>,
}

/// Compiles the expressions of a key, or one count.
pub(super) fn compile(
    graph: &Graph<'_>,
    types: &dyn Types,
    at: Where,
    expressions: &[Expression],
) -> Result<Vec<Instruction>, Wrong> {
    let function = graph.function_of(at.point);
    let compiler = Compiler { graph, types, at, function, unit: graph.place(function).unit };
    let mut code = Vec::new();
    for expression in expressions {
        code.extend(compiler.value(expression)?.code);
        if depth(&code) > code::DEPTH {
            return wrong(expression.span, "the expression is too long for the engine");
        }
    }
    Ok(code)
}

struct Compiler<'g, 'a> {
    graph: &'g Graph<'a>,
    types: &'g dyn Types,
    at: Where,
    function: FunctionId,
    unit: usize,
}

impl<'a> Compiler<'_, 'a> {
    fn value(&self, expression: &Expression) -> Result<Value, Wrong> {
        match &expression.node {
            Node::Constant(value) => Ok(Value { code: vec![Instruction::Constant(*value)], pointer: None }),
            Node::Negative(of) => {
                let mut value = self.number(of)?;
                value.code.push(Instruction::Scale(-1));
                Ok(value)
            }
            Node::Sum(left, right) => self.sum(left, right, 1),
            Node::Difference(left, right) => self.sum(left, right, -1),
            Node::Address(of) => {
                let object = self.object(of)?;
                let to = object.of();
                match object.address() {
                    Some(code) => Ok(Value { code, pointer: Some(Some(to)) }),
                    None => wrong_with(
                        expression.span,
                        format!("`{of}` has no address here: optimization keeps it in a register"),
                        "use its value, or compile with --loom=precise",
                    ),
                }
            }
            Node::Variable(_) | Node::Field { .. } | Node::Element { .. } => {
                let object = self.object(expression)?;
                self.read(expression, object)
            }
        }
    }

    /// A value that is no pointer.
    fn number(&self, expression: &Expression) -> Result<Value, Wrong> {
        let value = self.value(expression)?;
        match value.pointer {
            None => Ok(value),
            Some(_) => {
                wrong(expression.span, format!("`{expression}` is a pointer; a number is needed here"))
            }
        }
    }

    fn sum(&self, left: &Expression, right: &Expression, sign: i64) -> Result<Value, Wrong> {
        let (mut left_value, mut right_value) = (self.value(left)?, self.value(right)?);
        let pointer = match (left_value.pointer, right_value.pointer) {
            (Some(_), Some(_)) => {
                return wrong(left.span.to(right.span), "two pointers are neither added nor subtracted")
            }
            (None, Some(_)) if sign < 0 => {
                return wrong(right.span, format!("`{right}` is a pointer; a number is needed here"))
            }
            (Some(to), None) => {
                self.scale(&mut right_value.code, left, to, sign)?;
                Some(to)
            }
            (None, Some(to)) => {
                self.scale(&mut left_value.code, right, to, 1)?;
                Some(to)
            }
            (None, None) => {
                if sign < 0 {
                    right_value.code.push(Instruction::Scale(-1));
                }
                None
            }
        };
        left_value.code.extend(right_value.code);
        left_value.code.push(Instruction::Add);
        Ok(Value { code: left_value.code, pointer })
    }

    /// Makes a number of elements one of bytes, as C does.
    fn scale(
        &self,
        code: &mut Vec<Instruction>,
        pointer: &Expression,
        to: Option<TypeId>,
        sign: i64,
    ) -> Result<(), Wrong> {
        // As GNU C: `void *` counts bytes.
        let size = match to {
            None => 1,
            Some(of) => self.size(pointer, of)?,
        };
        let by = size * sign;
        if by != 1 {
            code.push(Instruction::Scale(by));
        }
        Ok(())
    }

    fn size(&self, expression: &Expression, of: TypeId) -> Result<i64, Wrong> {
        match self.types.size(of).and_then(|size| i64::try_from(size).ok()) {
            Some(size) => Ok(size),
            None => wrong(
                expression.span,
                format!(
                    "the size of `{}`, which `{expression}` points to, is not known",
                    self.types.name(of)
                ),
            ),
        }
    }

    /// What an object holds: a number, a pointer, or an array's first element's address.
    fn read(&self, expression: &Expression, object: Object) -> Result<Value, Wrong> {
        let (bytes, signed, pointer) = match self.types.form(object.of()) {
            Form::Integer { bytes: bytes @ (1 | 2 | 4 | 8), signed } => (bytes, signed, None),
            Form::Pointer(to) => (8, false, Some(to)),
            Form::Array(element) => {
                return match object.address() {
                    Some(code) => Ok(Value { code, pointer: Some(Some(element)) }),
                    None => wrong(expression.span, format!("`{expression}` has no address here")),
                }
            }
            Form::Record => {
                return wrong_with(
                    expression.span,
                    format!(
                        "`{expression}` is a `{}`, not a number or a pointer",
                        self.types.name(object.of())
                    ),
                    format!("use its address `&{expression}`, or that of one of its fields"),
                )
            }
            Form::Integer { .. } | Form::Reference(_) | Form::Other(_) => {
                return wrong(
                    expression.span,
                    format!(
                        "`{expression}` is a `{}`, not a number or a pointer",
                        self.types.name(object.of())
                    ),
                )
            }
        };
        let code = match object {
            Object::Register { word, .. } => vec![Instruction::Variable { word, bytes, signed }],
            Object::Frame { word, .. } => vec![Instruction::InMemory { word, bytes, signed }],
            Object::Fixed { unit, address, .. } => {
                vec![Instruction::Global { unit, address }, Instruction::Load { bytes, signed }]
            }
            Object::Computed { .. } => {
                return wrong_with(
                    expression.span,
                    format!(
                    "`{expression}` is read through a pointer, which may be freed by then: filters do not"
                ),
                    format!("use the address `&{expression}`"),
                )
            }
        };
        Ok(Value { code, pointer })
    }

    fn object(&self, expression: &Expression) -> Result<Object, Wrong> {
        match &expression.node {
            Node::Variable(name) => self.variable(expression, name),
            Node::Field { of, field, arrow: true } => {
                let base = self.value(of)?;
                let Some(Some(record)) = base.pointer else {
                    return wrong(of.span, format!("`{of}` is no pointer to a record"));
                };
                self.field(expression, Object::Computed { code: base.code, of: record }, field)
            }
            Node::Field { of, field, arrow: false } => {
                let base = self.object(of)?;
                if let Form::Pointer(_) = self.types.form(base.of()) {
                    return wrong_with(
                        expression.span,
                        format!("`{of}` is a pointer"),
                        format!("`{of}->{field}`"),
                    );
                }
                self.field(expression, base, field)
            }
            Node::Element { of, index } => self.element(of, index),
            _ => wrong(expression.span, format!("`{expression}` has no address")),
        }
    }

    fn field(&self, expression: &Expression, base: Object, name: &str) -> Result<Object, Wrong> {
        let record = base.of();
        let Some(field) = self.types.field(record, name) else {
            let fields = self.types.fields(record);
            let message = format!("`{}` has no field `{name}`", self.types.name(record));
            let close = similar(name, fields.iter().map(String::as_str));
            return match (close.is_empty(), fields.is_empty()) {
                (false, _) => {
                    wrong_with(expression.span, message, format!("did you mean {}?", listed(close)))
                }
                (true, false) => wrong_with(
                    expression.span,
                    message,
                    format!("its fields are {}", listed(fields.iter().map(String::as_str).take(12))),
                ),
                (true, true) => wrong(expression.span, message),
            };
        };
        if field.bits {
            return wrong(
                expression.span,
                format!("`{expression}` is some bits of a word: it has no address"),
            );
        }
        let of = field.of;
        let object = match base {
            Object::Register { .. } => {
                return wrong(
                    expression.span,
                    format!("`{expression}` has no address here: optimization keeps it in registers"),
                )
            }
            Object::Fixed { unit, address, .. } => {
                Object::Fixed { unit, address: address.wrapping_add(field.offset), of }
            }
            base @ (Object::Frame { .. } | Object::Computed { .. }) => {
                let mut code = base.address().unwrap_or_default();
                if field.offset != 0 {
                    code.extend([Instruction::Constant(field.offset as i64), Instruction::Add]);
                }
                Object::Computed { code, of }
            }
        };
        Ok(object)
    }

    fn element(&self, of: &Expression, index: &Expression) -> Result<Object, Wrong> {
        let index_value = self.number(index)?;
        if let Node::Variable(_) | Node::Field { .. } | Node::Element { .. } = of.node {
            let base = self.object(of)?;
            if let (Object::Fixed { unit, address, .. }, Form::Array(element), Node::Constant(at)) =
                (&base, self.types.form(base.of()), &index.node)
            {
                let bytes = self.size(of, element)?.wrapping_mul(*at);
                return Ok(Object::Fixed {
                    unit: *unit,
                    address: address.wrapping_add(bytes as u64),
                    of: element,
                });
            }
        }
        let base = self.value(of)?;
        let Some(Some(element)) = base.pointer else {
            return wrong(of.span, format!("`{of}` is neither an array nor a pointer to elements"));
        };
        let mut code = base.code;
        let size = self.size(of, element)?;
        code.extend(index_value.code);
        if size != 1 {
            code.push(Instruction::Scale(size));
        }
        code.push(Instruction::Add);
        Ok(Object::Computed { code, of: element })
    }

    fn variable(&self, expression: &Expression, name: &str) -> Result<Object, Wrong> {
        let local = self.local(expression, name)?;
        let object = match local {
            Some((variable, of)) if variable.in_memory => Object::Frame { word: variable.index, of },
            Some((variable, of)) => Object::Register { word: variable.index, of },
            None => self.global(expression, name)?,
        };
        // A reference stands for what it refers to.
        let Form::Reference(to) = self.types.form(object.of()) else { return Ok(object) };
        let code = match object {
            Object::Register { word, .. } => vec![Instruction::Variable { word, bytes: 8, signed: false }],
            Object::Frame { word, .. } => vec![Instruction::InMemory { word, bytes: 8, signed: false }],
            Object::Fixed { unit, address, .. } => {
                vec![Instruction::Global { unit, address }, Instruction::Load { bytes: 8, signed: false }]
            }
            Object::Computed { code, .. } => code,
        };
        Ok(Object::Computed { code, of: to })
    }

    /// The variables of the line's function and copy, and which of them have a value at the slot.
    fn locals(&self) -> Vec<(&'a Variable, bool)> {
        let function = self.graph.function(self.function);
        let available: &[u32] = match &self.graph.point(self.at.point).kind {
            PointKind::Slot { available, .. } => available,
            _ => &[],
        };
        let line = self.at.line;
        let own = |variable: &Variable| variable.function == line.function && variable.copy == line.copy;
        let variables = function.variables.iter().enumerate().filter(|(_, variable)| own(variable));
        variables.map(|(index, variable)| (variable, available.contains(&(index as u32)))).collect()
    }

    fn local(&self, expression: &Expression, name: &str) -> Result<Option<(&'a Variable, TypeId)>, Wrong> {
        let mut named: Vec<(&Variable, bool)> =
            self.locals().into_iter().filter(|(variable, _)| variable.name == name).collect();
        // Of several blocks' variables of one name: the nearest declaration before the line; at a function's entry the first.
        let line = self.at.line;
        if !self.at.at_entry && named.iter().any(|(variable, _)| variable.line <= line.line) {
            named.retain(|(variable, _)| variable.line <= line.line);
            named.sort_by_key(|(variable, _)| std::cmp::Reverse(variable.line));
        } else {
            named.sort_by_key(|(variable, _)| variable.line);
        }
        let Some(&(variable, available)) = named.first() else { return Ok(None) };
        if !available {
            let place = self.slot_place();
            return wrong_with(
                expression.span,
                format!("`{name}` has no value {place}"),
                self.what_is_available().unwrap_or_else(|| "no variable has one there".to_owned()),
            );
        }
        let local = LocalVariable {
            unit: self.unit,
            name,
            function: self.graph.text(self.unit, variable.function),
            file: self.graph.text(self.unit, variable.file),
            line: variable.line,
        };
        match self.types.local(&local) {
            Some(of) => Ok(Some((variable, of))),
            None => wrong_with(
                expression.span,
                format!("the type of `{name}` is not known"),
                "the program needs debug info of types: compile with -g",
            ),
        }
    }

    /// Where the slot is, for messages.
    fn slot_place(&self) -> String {
        let within = self.graph.text(self.unit, self.graph.function(self.function).name);
        let file = super::names::last_component(self.graph.text(self.unit, self.at.line.file));
        let side = match &self.graph.point(self.at.point).kind {
            PointKind::Slot { from, .. } => {
                let chains = &self.graph.program.units[self.unit].table.chains;
                let left = chains[*from as usize].contains(&self.at.line);
                if left {
                    "after"
                } else {
                    "before"
                }
            }
            _ => "at",
        };
        format!("{side} {file}:{} in `{within}`", self.at.line.line)
    }

    fn what_is_available(&self) -> Option<String> {
        let mut names: Vec<&str> = self
            .locals()
            .into_iter()
            .filter(|(_, available)| *available)
            .map(|(v, _)| v.name.as_str())
            .collect();
        names.sort_unstable();
        names.dedup();
        names.truncate(12);
        (!names.is_empty()).then(|| {
            format!(
                "these have one there: {}",
                names.iter().map(|n| format!("`{n}`")).collect::<Vec<_>>().join(", ")
            )
        })
    }

    fn global(&self, expression: &Expression, name: &str) -> Result<Object, Wrong> {
        let all = self.types.globals(name);
        let unit = self.unit;
        let here = self.graph.text(unit, self.at.line.function);
        let of_function = |global: &&Global| global.function.as_deref() == Some(here);
        let of_unit = |global: &&Global| global.function.is_none() && global.internal && global.unit == unit;
        let of_all = |global: &&Global| global.function.is_none() && !global.internal;
        let found = all.iter().find(of_function).or_else(|| all.iter().find(of_unit)).or_else(|| {
            let units = &self.graph.program.units;
            let near = |global: &&Global| {
                of_all(global) && units.get(global.unit).map(|u| u.file) == Some(units[unit].file)
            };
            all.iter().find(near).or_else(|| all.iter().find(of_all))
        });
        let Some(global) = found else {
            let message = format!("no variable `{name}` {}", self.slot_place());
            let locals: Vec<String> = self
                .locals()
                .iter()
                .filter(|(_, available)| *available)
                .map(|(v, _)| v.name.clone())
                .collect();
            let close = similar(name, locals.iter().map(String::as_str));
            let help = if close.is_empty() {
                self.what_is_available()
            } else {
                Some(format!("did you mean {}?", listed(close)))
            };
            return Err(Wrong { span: expression.span, message, help });
        };
        let Some(address) = global.address else {
            return wrong(
                expression.span,
                format!("`{name}` has no fixed address: it is thread-local, or gone"),
            );
        };
        let units = &self.graph.program.units;
        let Some(owner) = units.get(global.unit) else {
            return wrong(expression.span, format!("`{name}` is in a file that is not part of the program"));
        };
        let unit = if owner.file == units[unit].file { unit } else { global.unit };
        Ok(Object::Fixed { unit, address, of: global.of })
    }
}
