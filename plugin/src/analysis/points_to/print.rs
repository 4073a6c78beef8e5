//! `print<covsched-points-to>`: what the analysis was like, on standard error like LLVM's own printers; with `sets` also
//! where each register may point, and what each call may come to.

use super::{Location, ObjectId, ObjectKind, Offset, PointsTo, PointsToStats};
use crate::ir::code::{Code, Def, InstId, Op, Operand, Summaries, ValueId};
use crate::ir::Module;
use std::fmt;
use std::fmt::Write;

/// Prints; changes nothing.
pub fn print_points_to(module: Module<'_>, with_sets: bool) {
    let code = Code::of(module, &Summaries::default());
    let points_to = PointsTo::of(&code);
    if with_sets {
        eprint!("{}", Printer { code: &code, points_to: &points_to }.sets());
    }
    eprintln!("covsched: points-to: {}", points_to.stats());
}

impl fmt::Display for PointsToStats {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} functions, {} instructions, {} objects, {} locations, {} nodes, {} constraints, {} iterations, \
             {} accesses ({} external), mean set {:.2}, largest {}, {:.2} s",
            self.functions,
            self.instructions,
            self.objects,
            self.locations,
            self.nodes,
            self.constraints,
            self.iterations,
            self.accesses,
            self.external_accesses,
            self.mean,
            self.largest,
            self.seconds
        )
    }
}

/// Turns ids into names.
pub(super) struct Printer<'p, 'm> {
    pub(super) code: &'p Code<'m>,
    pub(super) points_to: &'p PointsTo,
}

impl Printer<'_, '_> {
    /// `FILE:LINE FUNCTION REGISTER -> LOCATIONS` a register that points somewhere, `FILE:LINE FUNCTION calls FUNCTIONS` a
    /// call through a pointer or with callbacks.
    pub(super) fn sets(&self) -> String {
        let mut text = String::new();
        let all = (0..self.code.values.len() as u32).map(ValueId);
        for value in all {
            let places: Vec<String> =
                self.points_to.pointees(Operand::Value(value)).map(|place| self.location(place)).collect();
            if places.is_empty() {
                continue;
            }
            let function = match self.code.value(value).def {
                Def::Parameter(function, _) => function,
                Def::Inst(inst) => self.code.function_of(inst),
            };
            let place = match self.code.value(value).def {
                Def::Parameter(..) => "-".to_owned(),
                Def::Inst(inst) => self.place(inst),
            };
            let function = &self.code.function(function).name;
            // Writing to a string cannot fail.
            let _ = writeln!(text, "{place} {function} {} -> {}", self.register(value), places.join(", "));
        }
        for inst in (0..self.code.insts.len() as u32).map(InstId) {
            if !matches!(self.code.inst(inst).op, Op::Call(_)) {
                continue;
            }
            let callees = self.points_to.callees(inst);
            let name = |function| format!("@{}", self.code.function(function).name);
            let mut names: Vec<String> = callees.functions.iter().map(|&function| name(function)).collect();
            names.extend(self.points_to.starts(inst).iter().map(|&function| name(function) + " in a thread"));
            names.extend(callees.is_unknown.then(|| "unknown code".to_owned()));
            if !names.is_empty() {
                let function = &self.code.function(self.code.function_of(inst)).name;
                let _ = writeln!(text, "{} {function} calls {}", self.place(inst), names.join(", "));
            }
        }
        text
    }

    fn place(&self, inst: InstId) -> String {
        let place = self.code.inst(inst).inst.location();
        if place.file.is_empty() {
            "-".to_owned()
        } else {
            format!("{}:{}", place.file, place.line)
        }
    }

    fn register(&self, value: ValueId) -> String {
        let name = self.code.value(value).raw.name();
        if name.is_empty() {
            format!("%#{}", value.0)
        } else {
            format!("%{name}")
        }
    }

    fn location(&self, Location { object, offset }: Location) -> String {
        let name = self.object(object);
        match offset {
            Offset::At(0) => name,
            Offset::At(at) => format!("{name}+{at}"),
            Offset::Any if object <= ObjectId::ENVIRONMENT => name,
            Offset::Any => format!("{name}+?"),
        }
    }

    pub(super) fn object(&self, object: ObjectId) -> String {
        let made_at = |inst| {
            let function = &self.code.function(self.code.function_of(inst)).name;
            match self.code.inst(inst).result {
                Some(result) => format!("{function} {}", self.register(result)),
                None => format!("{function} {}", self.place(inst)),
            }
        };
        match self.points_to.object(object).kind {
            ObjectKind::External => "external".to_owned(),
            ObjectKind::Library => "library".to_owned(),
            ObjectKind::Environment => "environment".to_owned(),
            ObjectKind::Global(global) => format!("@{}", self.code.globals[global.index()].name),
            ObjectKind::Function(function) => format!("@{}", self.code.function(function).name),
            ObjectKind::Stack(inst) => format!("stack({})", made_at(inst)),
            ObjectKind::Heap(inst) => format!("heap({})", made_at(inst)),
            ObjectKind::ByValue(function, index) => {
                format!("copy({} {index})", self.code.function(function).name)
            }
            ObjectKind::Buffer => "buffer".to_owned(),
            ObjectKind::Variadic(function) => format!("variadic({})", self.code.function(function).name),
        }
    }
}
