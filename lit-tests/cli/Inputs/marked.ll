; Appended to a program: a loop with a marker.
declare void @covsched_epoch_marker(i64)

define void @marked() {
  br label %again

again:
  call void @covsched_epoch_marker(i64 7)
  br label %again
}
