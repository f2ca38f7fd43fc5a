;; A row of pixels of the map where several cells lie in a pixel: the twin of `drawWhole` in raster.ts, without glow.
;;
;; At the memory's beginning are the pixels of the four states, RGBA. Two rows of cells become one of their sums, four numbers of
;; 16 bits a cell; a pixel is the mean of two of those.
(module
  (import "map" "memory" (memory 1))

  ;; `upper` and `lower`: the words of `cells` blocks. `places`: for each of `n` pixels (an even number) two offsets into `sums`.
  ;; What lies up to 12 bytes behind the words is read, and up to 24 behind the sums written.
  (func (export "row")
    (param $upper i32) (param $lower i32) (param $cells i32) (param $sums i32) (param $places i32) (param $n i32)
    (param $out i32)
    (local $at i32) (local $end i32) (local $states v128) (local $a v128) (local $b v128) (local $bytes v128)
    (local.set $states (v128.load (i32.const 0)))
    (local.set $bytes (v128.const i32x4 0x03020100 0x03020100 0x03020100 0x03020100))
    (local.set $at (local.get $sums))
    (local.set $end (i32.add (local.get $sums) (i32.shl (local.get $cells) (i32.const 3))))
    (block $done
      (loop $more
        (br_if $done (i32.ge_u (local.get $at) (local.get $end)))
        (local.set $a (call $pixels (v128.load (local.get $upper)) (local.get $states) (local.get $bytes)))
        (local.set $b (call $pixels (v128.load (local.get $lower)) (local.get $states) (local.get $bytes)))
        (v128.store (local.get $at)
          (i16x8.add (i16x8.extend_low_i8x16_u (local.get $a)) (i16x8.extend_low_i8x16_u (local.get $b))))
        (v128.store offset=16 (local.get $at)
          (i16x8.add (i16x8.extend_high_i8x16_u (local.get $a)) (i16x8.extend_high_i8x16_u (local.get $b))))
        (local.set $upper (i32.add (local.get $upper) (i32.const 16)))
        (local.set $lower (i32.add (local.get $lower) (i32.const 16)))
        (local.set $at (i32.add (local.get $at) (i32.const 32)))
        (br $more)))
    (local.set $end (i32.add (local.get $out) (i32.shl (local.get $n) (i32.const 2))))
    (block $drawn
      (loop $next
        (br_if $drawn (i32.ge_u (local.get $out) (local.get $end)))
        (local.set $a (v128.load64_lane 1
          (i32.add (local.get $sums) (i32.load offset=8 (local.get $places)))
          (v128.load64_zero (i32.add (local.get $sums) (i32.load (local.get $places))))))
        (local.set $b (v128.load64_lane 1
          (i32.add (local.get $sums) (i32.load offset=12 (local.get $places)))
          (v128.load64_zero (i32.add (local.get $sums) (i32.load offset=4 (local.get $places))))))
        (local.set $a (i16x8.shr_u
          (i16x8.add (i16x8.add (local.get $a) (local.get $b)) (v128.const i16x8 2 2 2 2 2 2 2 2))
          (i32.const 2)))
        (v128.store64_lane 0 (local.get $out) (i8x16.narrow_i16x8_u (local.get $a) (local.get $a)))
        (local.set $places (i32.add (local.get $places) (i32.const 16)))
        (local.set $out (i32.add (local.get $out) (i32.const 8)))
        (br $next))))

  ;; The pixels of the states of four words.
  (func $pixels (param $words v128) (param $states v128) (param $bytes v128) (result v128)
    (i8x16.swizzle (local.get $states)
      (i32x4.add (local.get $bytes)
        (i32x4.mul (v128.and (local.get $words) (v128.const i32x4 3 3 3 3))
                   (v128.const i32x4 0x04040404 0x04040404 0x04040404 0x04040404)))))
)
