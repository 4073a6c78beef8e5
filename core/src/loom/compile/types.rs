//! What debug info must say about variables. The controller answers from DWARF; [`NoTypes`] is for programs without.

/// A type: a number that only the [`Types`] that gave it understands.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct TypeId(pub u64);

/// What a type is, without names and qualifiers.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Form {
    /// An integer, a character, a boolean, an enumeration.
    Integer {
        /// 1, 2, 4 or 8.
        bytes: u8,
        /// Whether it can be negative.
        signed: bool,
    },
    /// A pointer; what it points to, if debug info says so (not for `void *`).
    Pointer(Option<TypeId>),
    /// A reference of C++.
    Reference(TypeId),
    /// A struct, class or union.
    Record,
    /// An array of elements.
    Array(TypeId),
    /// Anything else: in words.
    Other(String),
}

/// A variable of [`crate::loom::table::Function::variables`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LocalVariable<'a> {
    /// Index in [`super::Program::units`] of the unit whose table has it.
    pub unit: usize,
    /// Its name; `this` too.
    pub name: &'a str,
    /// Linkage name of the function that declares it.
    pub function: &'a str,
    /// The file of its declaration, as in the table.
    pub file: &'a str,
    /// The line of its declaration.
    pub line: u32,
}

/// A variable with a fixed address.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Global {
    /// Index in [`super::Program::units`] of the unit that defines it, or of any unit of the same linked file.
    pub unit: usize,
    /// Its address in the linked file's own address space; `None` if it has none, such as thread-local ones.
    pub address: Option<u64>,
    /// Its type.
    pub of: TypeId,
    /// Only its unit sees it.
    pub internal: bool,
    /// For a static variable of a function: that function's linkage name.
    pub function: Option<String>,
}

/// A member of a record.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Field {
    /// Bytes from the record's start; those of base classes and nameless members are included.
    pub offset: u64,
    /// Its type.
    pub of: TypeId,
    /// It is some bits of a word: it has no address.
    pub bits: bool,
}

/// Answers from debug info.
pub trait Types {
    /// The type of a local variable or parameter.
    fn local(&self, variable: &LocalVariable<'_>) -> Option<TypeId>;
    /// All definitions of global and static variables of this name. The name may be qualified, `a::b`.
    fn globals(&self, name: &str) -> Vec<Global>;
    /// What a type is, without names and qualifiers.
    fn form(&self, of: TypeId) -> Form;
    /// Bytes of a value; `None` if not known, such as for an incomplete type.
    fn size(&self, of: TypeId) -> Option<u64>;
    /// A field of a record by its name, its base classes' and nameless members' too.
    fn field(&self, record: TypeId, name: &str) -> Option<Field>;
    /// The names of a record's fields, for suggestions.
    fn fields(&self, record: TypeId) -> Vec<String>;
    /// What the source calls a type.
    fn name(&self, of: TypeId) -> String;
}

/// Knows nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoTypes;

impl Types for NoTypes {
    fn local(&self, _: &LocalVariable<'_>) -> Option<TypeId> {
        None
    }
    fn globals(&self, _: &str) -> Vec<Global> {
        Vec::new()
    }
    fn form(&self, _: TypeId) -> Form {
        Form::Other("a type that is not known".to_owned())
    }
    fn size(&self, _: TypeId) -> Option<u64> {
        None
    }
    fn field(&self, _: TypeId, _: &str) -> Option<Field> {
        None
    }
    fn fields(&self, _: TypeId) -> Vec<String> {
        Vec::new()
    }
    fn name(&self, _: TypeId) -> String {
        "?".to_owned()
    }
}
