// What other tools write, and we do not: aliases, locations, resources, branches that take values from around them.
#place = loc("model.py":3:5)
#mode = #tosa.nan_mode<IGNORE>
!image = tensor<3x2xf32>
module @net attributes {torch.debug_module_name = "Net"} {
  ml_program.global private mutable @global_seed(dense<0> : tensor<i64>) : tensor<i64>
  tosa.variable @state = dense<[1, 2]> : tensor<2xi8>
  tosa.variable @other : tensor<2xi8>
  func.func private @helper(tensor<2xi8>) -> tensor<2xi8>
  func.func @main(%x: !image {tosa.tensor_name = "image:0"} loc(#place), %c: tensor<i1>, %n: tensor<i32>,
      %i: tensor<1x2xi64>, %u: tensor<2x!quant.uniform<u8:f32, 0.5:3>>)
      -> (!image {tosa.tensor_name = "twice"}, tensor<2xi8>, tensor<i32>, tensor<1x2x1xf32>) attributes {foo} {
    %0 = tosa.add %x, %x : (!image, !image) -> !image loc(#later)
    %1 = tosa.clamp %0 {min_val = 0.0 : f32, max_val = 0x7F800000 : f32, nan_mode = "IGNORE"} : (!image) -> !image
    %2 = "tosa.clamp"(%1) <{max_val = 6.0 : f32, min_val = -1.0e-3 : f32, nan_mode = #mode}> : (!image) -> !image
    %w = "tosa.const"() <{values = dense_resource<weights> : tensor<2xi8>}> : () -> tensor<2xi8>
    %s = tosa.variable_read @state : tensor<2xi8>
    tosa.variable_write @other, %w : tensor<2xi8>
    %b = tosa.cond_if %c : tensor<i1> -> tensor<2xi8> {
      tosa.yield %w : tensor<2xi8>
    } else {
      %m = tosa.bitwise_xor %s, %w : (tensor<2xi8>, tensor<2xi8>) -> tensor<2xi8>
      tosa.yield %m : tensor<2xi8>
    }
    %zero = "tosa.const"() {values = dense<0> : tensor<i32>} : () -> tensor<i32>
    %end:2 = tosa.while_loop (%k = %zero, %sum = %zero) : (tensor<i32>, tensor<i32>) -> (tensor<i32>, tensor<i32>) {
      %more = tosa.greater %n, %k : (tensor<i32>, tensor<i32>) -> tensor<i1>
      tosa.yield %more : tensor<i1>
    } do {
    ^bb0(%k: tensor<i32>, %sum: tensor<i32>):
      %one = "tosa.const"() <{values = dense<"0x01000000"> : tensor<i32>}> : () -> tensor<i32>
      %next = tosa.add %k, %one : (tensor<i32>, tensor<i32>) -> tensor<i32>
      tosa.yield %next, %n : tensor<i32>, tensor<i32>
    }
    %t = "tosa.const"() <{values = dense<[[[1.5], [0x7FC00000], [-2.0e+1]]]> : tensor<1x3x1xf32>}> : () -> tensor<1x3x1xf32>
    %g = tosa.gather %t, %i : (tensor<1x3x1xf32>, tensor<1x2xi64>) -> tensor<1x2x1xf32>
    %e = "tosa.const"() <{values = dense<1.0e-05> : tensor<1xf64>}> : () -> tensor<1xf64>
    %r = tosa.cast %e : (tensor<1xf64>) -> tensor<1xf32>
    return %2, %b, %end#1, %g : !image, tensor<2xi8>, tensor<i32>, tensor<1x2x1xf32>
  } loc(unknown)
}
#later = loc("layers/add"(callsite("f"("model.py":1:2) at #place)))
{-#
  dialect_resources: {
    builtin: {
      weights: "0x0100000007FE"
    }
  }
#-}
