//! Instructions.

use super::{expect, expect_body};

#[test]
fn integers_are_computed_with_their_widths() {
    expect_body(
        "i32 %a, i32 %b, i8 %c, i1 %d",
        "%add = add nsw i32 %a, %b
         %sub = sub nuw i32 %a, 1
         %mul = mul nuw nsw i8 %c, -1
         %udiv = udiv i32 %a, %b
         %sdiv = sdiv i32 %a, %b
         %urem = urem i32 %a, %b
         %srem = srem i32 %a, %b
         %shl = shl i8 %c, 2
         %lshr = lshr exact i8 %c, 2
         %ashr = ashr i8 %c, 2
         %and = and i1 %d, true
         %or = or i8 %c, 64
         %xor = xor i1 %d, true",
        "%4: i32 = add nsw %0, %1
         %5: i32 = sub nuw %0, 1:i32
         %6: i8 = mul nsw nuw %2, 255:i8
         %7: i32 = udiv %0, %1
         %8: i32 = sdiv %0, %1
         %9: i32 = urem %0, %1
         %10: i32 = srem %0, %1
         %11: i8 = shl %2, 2:i8
         %12: i8 = lshr %2, 2:i8
         %13: i8 = ashr %2, 2:i8
         %14: i1 = and %3, 1:i1
         %15: i8 = or %2, 64:i8
         %16: i1 = xor %3, 1:i1",
    );
}

#[test]
fn comparisons_are_of_integers_and_pointers() {
    expect_body(
        "i32 %a, i32 %b, ptr %p",
        "%1 = icmp eq i32 %a, %b
         %2 = icmp ne ptr %p, null
         %3 = icmp ult i32 %a, %b
         %4 = icmp ule i32 %a, %b
         %5 = icmp ugt i32 %a, %b
         %6 = icmp uge i32 %a, %b
         %7 = icmp slt i32 %a, %b
         %8 = icmp sle i32 %a, %b
         %9 = icmp sgt i32 %a, %b
         %10 = icmp sge i32 %a, -3",
        "%3: i1 = eq %0, %1
         %4: i1 = ne %2, null
         %5: i1 = ult %0, %1
         %6: i1 = ule %0, %1
         %7: i1 = ugt %0, %1
         %8: i1 = uge %0, %1
         %9: i1 = slt %0, %1
         %10: i1 = sle %0, %1
         %11: i1 = sgt %0, %1
         %12: i1 = sge %0, 4294967293:i32",
    );
}

#[test]
fn casts_between_pointers_and_integers_are_extensions() {
    expect_body(
        "i32 %a, i64 %b, ptr %p",
        "%1 = trunc i32 %a to i7
         %2 = zext i7 %1 to i64
         %3 = sext i32 %a to i64
         %4 = ptrtoint ptr %p to i64
         %5 = ptrtoint ptr %p to i16
         %6 = inttoptr i64 %b to ptr
         %7 = inttoptr i32 %a to ptr
         %8 = bitcast ptr %p to ptr
         %9 = bitcast i32 %a to float
         %10 = freeze i32 %a
         %11 = sitofp i32 %a to double",
        "%3: i7 = trunc %0
         %4: i64 = zext %3
         %5: i64 = sext %0
         %6: i64 = same %2
         %7: i16 = trunc %2
         %8: ptr = same %1
         %9: ptr = zext %0
         %10: ptr = same %2
         %11: other = other [%0]
         %12: i32 = freeze %0
         %13: other = other [%0]",
    );
}

#[test]
fn geps_count_padding_and_signed_indices() {
    // { i8, i32, [3 x i16] } has 16 bytes: 1, 3 of padding, 4, 6, 2 of padding.
    expect_body(
        "ptr %p, i32 %i, i64 %j",
        "%1 = getelementptr inbounds { i8, i32, [3 x i16] }, ptr %p, i32 %i, i32 2, i64 %j
         %2 = getelementptr { i8, i32, [3 x i16] }, ptr %p, i64 -1, i32 1
         %3 = getelementptr i8, ptr %p, i32 -3
         %4 = getelementptr [4 x [4 x i32]], ptr %p, i64 0, i64 %j, i64 %j
         %5 = getelementptr <{ i8, i32 }>, ptr %p, i64 2, i32 1
         %6 = getelementptr {}, ptr %p, i64 %j
         %7 = getelementptr i8, ptr @g, i64 %j",
        "%3: ptr = gep inbounds %0 + 8 + %1 * 16 + %2 * 2
         %4: ptr = gep %0 + -12
         %5: ptr = gep %0 + -3
         %6: ptr = gep %0 + 0 + %2 * 20
         %7: ptr = gep %0 + 11
         %8: ptr = gep %0 + 0
         %9: ptr = gep @g + 0 + %2 * 1",
    );
}

#[test]
fn memory_is_accessed_by_bytes() {
    expect_body(
        "ptr %p, i32 %n, i17 %odd, double %d, <2 x ptr> %v",
        "%1 = alloca i32
         %2 = alloca { i8, i64 }, i32 3
         %3 = alloca i8, i32 %n
         %4 = load i32, ptr %p
         %5 = load volatile ptr, ptr %p
         %6 = load atomic i64, ptr %p monotonic, align 8
         store i17 %odd, ptr %p
         store double %d, ptr %p
         store volatile i1 true, ptr %p
         store atomic i64 7, ptr %p unordered, align 8
         store <2 x ptr> %v, ptr %p
         store { ptr, i8 } zeroinitializer, ptr %p
         %7 = load float, ptr %p
         fence seq_cst",
        "%5: ptr = alloca 4
         %6: ptr = alloca 48
         %7: ptr = alloca ?
         %8: i32 = load 4 %0
         %9: ptr = load special 8 %0
         %10: i64 = load special 8 %0
         store 3 %0, %2
         store 8 %0, %3
         store special 1 %0, 1:i1
         store special 8 %0, 7:i64
         store 16 %0, %4
         store 16 %0, opaque()
         %11: other = load 4 %0
         other []",
    );
}

#[test]
fn exchanges_read_and_write() {
    expect_body(
        "ptr %p, i32 %a, i32 %b",
        "%1 = atomicrmw add ptr %p, i32 %a seq_cst
         %2 = cmpxchg ptr %p, i32 %a, i32 %b seq_cst monotonic
         %3 = extractvalue { i32, i1 } %2, 1",
        "%3: i32 = exchange 4 %0, %1
         %4: other = exchange 4 %0, %1, %2
         %5: i1 = other [%4]",
    );
}

#[test]
fn vectors_wide_integers_and_other_address_spaces_are_other() {
    expect_body(
        "<2 x i32> %v, i128 %w, i64 %a, ptr %p, i1 %c, ptr addrspace(256) %s",
        "%1 = add <2 x i32> %v, <i32 1, i32 2>
         %2 = extractelement <2 x i32> %1, i32 0
         %3 = add i128 %w, 1
         %4 = trunc i128 %3 to i64
         %5 = zext i64 %a to i128
         %6 = icmp eq i128 %w, 0
         %7 = select i1 %c, i128 %w, i128 %3
         %8 = load i128, ptr %p
         store i128 %w, ptr %p
         %9 = getelementptr i8, ptr %p, i128 %w
         %10 = load i32, ptr addrspace(256) %s
         %11 = load i32, ptr addrspace(256) null
         %12 = atomicrmw xchg ptr %p, i128 %w seq_cst",
        "%6: other = other [%0, opaque()]
         %7: i32 = other [%6, 0:i32]
         %8: i128 = other [%1, opaque()]
         %9: i64 = other [%8]
         %10: i128 = other [%2]
         %11: i1 = other [%1, opaque()]
         %12: i128 = other [%4, %1, %8]
         %13: i128 = other reads [%3]
         other writes [%1, %3]
         %14: ptr = other [%3, %1]
         %15: i32 = other reads [%5]
         %16: i32 = other reads [opaque()]
         %17: i128 = other reads writes [%3, %1]",
    );
}

#[test]
fn calls_keep_what_attributes_say() {
    expect(
        "declare void @plain(i32, ...)
         declare void @ends() noreturn
         declare i64 @length(ptr) memory(read)
         declare double @sine(double) memory(none)
         declare ptr @allocate(i64) memory(inaccessiblemem: readwrite)
         declare void @gets(ptr, ptr byval(i64))
         declare void @llvm.assume(i1)
         declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)
         define void @f(ptr %p, double %d, i1 %c) {
           call void (i32, ...) @plain(i32 1, double %d), !covsched.item !0
           %1 = call i64 @length(ptr %p)
           %2 = call double @sine(double %d)
           %3 = call ptr @allocate(i64 8)
           call void @gets(ptr byval(i64) %3, ptr byval(i64) %p)
           call void %p(i32 2)
           call void asm sideeffect \"nop\", \"r\"(i32 3)
           call void @llvm.assume(i1 %c) [\"align\"(ptr %p, i64 8)]
           call void @llvm.memcpy.p0.p0.i64(ptr %p, ptr %3, i64 8, i1 false)
           call void @ends()
           unreachable
         }
         !0 = !{i32 7}",
        "func @f(%0: ptr, %1: other, %2: i1)
         b0 ->
         call @plain(1:i32, %1) item 7
         %3: i64 = call @length(%0) readonly
         %4: other = call @sine(%1) pure
         %5: ptr = call @allocate(8:i64) pure
         call @gets(byval %5, byval %0)
         call *%0(2:i32)
         call asm(3:i32)
         call @llvm.assume(%2) pure
         call @llvm.memcpy.p0.p0.i64(%0, %5, 8:i64, 0:i1)
         call @ends() noreturn
         unreachable",
    );
}

#[test]
fn intrinsics_that_give_what_they_get_are_casts_and_debug_info_is_left_out() {
    expect(
        "@t = thread_local global i32 0
         declare ptr @llvm.threadlocal.address.p0(ptr)
         declare i64 @llvm.expect.i64(i64, i64)
         declare i32 @llvm.smax.i32(i32, i32)
         declare void @llvm.dbg.value(metadata, metadata, metadata)
         declare void @llvm.pseudoprobe(i64, i64, i32, i64)
         define i32 @f(i64 %a) {
           %p = call ptr @llvm.threadlocal.address.p0(ptr @t)
           %e = call i64 @llvm.expect.i64(i64 %a, i64 1)
           call void @llvm.dbg.value(metadata i64 %e, metadata !3, metadata !DIExpression()), !dbg !6
           call void @llvm.pseudoprobe(i64 1, i64 1, i32 0, i64 -1)
           %m = call i32 @llvm.smax.i32(i32 1, i32 2)
           ret i32 %m
         }
         !llvm.dbg.cu = !{!0}
         !llvm.module.flags = !{!7}
         !0 = distinct !DICompileUnit(language: DW_LANG_C99, file: !1, emissionKind: FullDebug)
         !1 = !DIFile(filename: \"a.c\", directory: \"/\")
         !2 = distinct !DISubprogram(name: \"f\", file: !1, unit: !0, type: !5, spFlags: DISPFlagDefinition)
         !3 = !DILocalVariable(name: \"e\", scope: !2, type: !4)
         !4 = !DIBasicType(name: \"long\", size: 64, encoding: DW_ATE_signed)
         !5 = !DISubroutineType(types: !{})
         !6 = !DILocation(line: 1, scope: !2)
         !7 = !{i32 2, !\"Debug Info Version\", i32 3}",
        "global @t 4 thread_local zero
         func @f(%0: i64)
         b0 ->
         %1: ptr = same @t
         %2: i64 = same %0
         %3: i32 = call @llvm.smax.i32(1:i32, 2:i32) pure
         return %3",
    );
}
