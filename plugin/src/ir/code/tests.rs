//! From IR to the view, by its dump.

use super::{Code, Summaries};
use crate::testing::complaints;

fn dump(ir: &str) -> String {
    let mut text = String::new();
    complaints(ir, |module| text = Code::of(module, &Summaries::default()).to_string());
    text
}

#[test]
fn first() {
    println!(
        "{}",
        dump(
            "@g = internal global { i8, i32, ptr } { i8 1, i32 -2, ptr @f }
define i32 @f(i32 %a, ptr %p) {
  %b = add nsw i32 %a, 5
  %q = getelementptr { i8, i32 }, ptr %p, i32 %a, i32 1
  store i32 %b, ptr %q
  call void @g1(ptr getelementptr (i8, ptr @g, i64 8))
  ret i32 %b
}
declare void @g1(ptr)
"
        )
    );
}
