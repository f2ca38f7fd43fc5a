;; Loops over all blocks of a large pool, four blocks at once. The twins of the loops in blocks.ts, digest.ts and word.ts.
;;
;; The memory is that of one pool; kernels.ts says where its columns lie. At its beginning:
;;
;;     0   the multipliers of the two lanes, u32: a0 … a6 and the salt, b0 … b6 and the salt
;;     64  what `rows` found, i32: the lanes' sums, and the blocks that are cached, active, shared
;;
;; `n` is always a multiple of four; what is left of a pool is its caller's.
(module
  (import "blocks" "memory" (memory 1))

  ;; The digest values of each block's row, its class, the sums of the first and the tally of the second.
  (func (export "rows")
    (param $n i32) (param $generation i32) (param $count i32) (param $ticket i32) (param $content i32)
    (param $filled i32) (param $row_a i32) (param $row_b i32) (param $kind i32)
    (local $at i32) (local $end i32)
    (local $g v128) (local $c v128) (local $k v128) (local $f v128) (local $t v128) (local $u v128)
    (local $low v128) (local $high v128) (local $a v128) (local $b v128) (local $nan v128) (local $one v128)
    (local $a0 v128) (local $a1 v128) (local $a2 v128) (local $a3 v128) (local $a4 v128) (local $a5 v128)
    (local $a6 v128) (local $b0 v128) (local $b1 v128) (local $b2 v128) (local $b3 v128) (local $b4 v128)
    (local $b5 v128) (local $b6 v128) (local $next_a v128) (local $next_b v128)
    (local $sum_a v128) (local $sum_b v128) (local $cached v128) (local $active v128) (local $shared v128)
    (local.set $a0 (v128.load32_splat offset=0 (i32.const 0)))
    (local.set $a1 (v128.load32_splat offset=4 (i32.const 0)))
    (local.set $a2 (v128.load32_splat offset=8 (i32.const 0)))
    (local.set $a3 (v128.load32_splat offset=12 (i32.const 0)))
    (local.set $a4 (v128.load32_splat offset=16 (i32.const 0)))
    (local.set $a5 (v128.load32_splat offset=20 (i32.const 0)))
    (local.set $a6 (v128.load32_splat offset=24 (i32.const 0)))
    (local.set $b0 (v128.load32_splat offset=32 (i32.const 0)))
    (local.set $b1 (v128.load32_splat offset=36 (i32.const 0)))
    (local.set $b2 (v128.load32_splat offset=40 (i32.const 0)))
    (local.set $b3 (v128.load32_splat offset=44 (i32.const 0)))
    (local.set $b4 (v128.load32_splat offset=48 (i32.const 0)))
    (local.set $b5 (v128.load32_splat offset=52 (i32.const 0)))
    (local.set $b6 (v128.load32_splat offset=56 (i32.const 0)))
    ;; Salt and block number, of the four blocks that are next.
    (local.set $next_a (i32x4.add (v128.load32_splat offset=28 (i32.const 0))
                                  (i32x4.mul (v128.const i32x4 0 1 2 3) (local.get $a0))))
    (local.set $next_b (i32x4.add (v128.load32_splat offset=60 (i32.const 0))
                                  (i32x4.mul (v128.const i32x4 0 1 2 3) (local.get $b0))))
    (local.set $a0 (i32x4.shl (local.get $a0) (i32.const 2)))
    (local.set $b0 (i32x4.shl (local.get $b0) (i32.const 2)))
    (local.set $nan (v128.const i32x4 0 0x7ff80000 0 0x7ff80000))
    (local.set $one (v128.const i32x4 1 1 1 1))
    (local.set $end (i32.shl (local.get $n) (i32.const 2)))
    (block $done
      (loop $more
        (br_if $done (i32.ge_u (local.get $at) (local.get $end)))
        (local.set $g (v128.load (i32.add (local.get $generation) (local.get $at))))
        (local.set $c (v128.load (i32.add (local.get $count) (local.get $at))))
        (local.set $k (v128.load (i32.add (local.get $content) (local.get $at))))
        (local.set $f (v128.load (i32.add (local.get $filled) (local.get $at))))
        ;; The words of four tickets: of what is not queued those of one NaN, whatever NaN it is.
        (local.set $t (v128.load (i32.add (local.get $ticket) (i32.shl (local.get $at) (i32.const 1)))))
        (local.set $u (v128.load offset=16 (i32.add (local.get $ticket) (i32.shl (local.get $at) (i32.const 1)))))
        (local.set $t (v128.bitselect (local.get $t) (local.get $nan) (f64x2.eq (local.get $t) (local.get $t))))
        (local.set $u (v128.bitselect (local.get $u) (local.get $nan) (f64x2.eq (local.get $u) (local.get $u))))
        (local.set $low (i8x16.shuffle 0 1 2 3 8 9 10 11 16 17 18 19 24 25 26 27 (local.get $t) (local.get $u)))
        (local.set $high (i8x16.shuffle 4 5 6 7 12 13 14 15 20 21 22 23 28 29 30 31 (local.get $t) (local.get $u)))
        (local.set $a (i32x4.add (local.get $next_a) (i32x4.mul (local.get $g) (local.get $a1))))
        (local.set $a (i32x4.add (local.get $a) (i32x4.mul (local.get $c) (local.get $a2))))
        (local.set $a (i32x4.add (local.get $a) (i32x4.mul (local.get $low) (local.get $a3))))
        (local.set $a (i32x4.add (local.get $a) (i32x4.mul (local.get $high) (local.get $a4))))
        (local.set $a (i32x4.add (local.get $a) (i32x4.mul (local.get $k) (local.get $a5))))
        (local.set $a (i32x4.add (local.get $a) (i32x4.mul (local.get $f) (local.get $a6))))
        (local.set $a (v128.xor (local.get $a) (i32x4.shr_u (local.get $a) (i32.const 16))))
        (local.set $a (i32x4.mul (local.get $a) (v128.const i32x4 0x85ebca6b 0x85ebca6b 0x85ebca6b 0x85ebca6b)))
        (local.set $a (v128.xor (local.get $a) (i32x4.shr_u (local.get $a) (i32.const 13))))
        (local.set $a (i32x4.mul (local.get $a) (v128.const i32x4 0xc2b2ae35 0xc2b2ae35 0xc2b2ae35 0xc2b2ae35)))
        (local.set $a (v128.xor (local.get $a) (i32x4.shr_u (local.get $a) (i32.const 16))))
        (v128.store (i32.add (local.get $row_a) (local.get $at)) (local.get $a))
        (local.set $sum_a (i32x4.add (local.get $sum_a) (local.get $a)))
        (local.set $next_a (i32x4.add (local.get $next_a) (local.get $a0)))
        (local.set $b (i32x4.add (local.get $next_b) (i32x4.mul (local.get $g) (local.get $b1))))
        (local.set $b (i32x4.add (local.get $b) (i32x4.mul (local.get $c) (local.get $b2))))
        (local.set $b (i32x4.add (local.get $b) (i32x4.mul (local.get $low) (local.get $b3))))
        (local.set $b (i32x4.add (local.get $b) (i32x4.mul (local.get $high) (local.get $b4))))
        (local.set $b (i32x4.add (local.get $b) (i32x4.mul (local.get $k) (local.get $b5))))
        (local.set $b (i32x4.add (local.get $b) (i32x4.mul (local.get $f) (local.get $b6))))
        (local.set $b (v128.xor (local.get $b) (i32x4.shr_u (local.get $b) (i32.const 16))))
        (local.set $b (i32x4.mul (local.get $b) (v128.const i32x4 0x85ebca6b 0x85ebca6b 0x85ebca6b 0x85ebca6b)))
        (local.set $b (v128.xor (local.get $b) (i32x4.shr_u (local.get $b) (i32.const 13))))
        (local.set $b (i32x4.mul (local.get $b) (v128.const i32x4 0xc2b2ae35 0xc2b2ae35 0xc2b2ae35 0xc2b2ae35)))
        (local.set $b (v128.xor (local.get $b) (i32x4.shr_u (local.get $b) (i32.const 16))))
        (v128.store (i32.add (local.get $row_b) (local.get $at)) (local.get $b))
        (local.set $sum_b (i32x4.add (local.get $sum_b) (local.get $b)))
        (local.set $next_b (i32x4.add (local.get $next_b) (local.get $b0)))
        ;; The class: of what nobody holds whether it holds content, else one more than its holders, at most 3.
        (local.set $t (i32x4.eq (local.get $c) (v128.const i32x4 0 0 0 0)))
        (local.set $k (v128.bitselect
          (i32x4.add (i32x4.eq (local.get $k) (v128.const i32x4 -1 -1 -1 -1)) (local.get $one))
          (i32x4.add (i32x4.min_u (local.get $c) (v128.const i32x4 2 2 2 2)) (local.get $one))
          (local.get $t)))
        (local.set $cached (i32x4.sub (local.get $cached) (i32x4.eq (local.get $k) (local.get $one))))
        (local.set $active (i32x4.sub (local.get $active) (i32x4.eq (local.get $k) (v128.const i32x4 2 2 2 2))))
        (local.set $shared (i32x4.sub (local.get $shared) (i32x4.eq (local.get $k) (v128.const i32x4 3 3 3 3))))
        (local.set $k (i16x8.narrow_i32x4_u (local.get $k) (local.get $k)))
        (local.set $k (i8x16.narrow_i16x8_u (local.get $k) (local.get $k)))
        (v128.store32_lane 0 (i32.add (local.get $kind) (i32.shr_u (local.get $at) (i32.const 2))) (local.get $k))
        (local.set $at (i32.add (local.get $at) (i32.const 16)))
        (br $more)))
    (i32.store offset=64 (i32.const 0) (call $sum (local.get $sum_a)))
    (i32.store offset=68 (i32.const 0) (call $sum (local.get $sum_b)))
    (i32.store offset=72 (i32.const 0) (call $sum (local.get $cached)))
    (i32.store offset=76 (i32.const 0) (call $sum (local.get $active)))
    (i32.store offset=80 (i32.const 0) (call $sum (local.get $shared))))

  (func $sum (param $four v128) (result i32)
    (i32.add
      (i32.add (i32x4.extract_lane 0 (local.get $four)) (i32x4.extract_lane 1 (local.get $four)))
      (i32.add (i32x4.extract_lane 2 (local.get $four)) (i32x4.extract_lane 3 (local.get $four)))))

  ;; Tickets told as i32 become f64, and those of blocks that are told not to be queued NaN.
  (func (export "tickets") (param $n i32) (param $told i32) (param $ticket i32)
    (local $end i32) (local $t v128) (local $none v128)
    (local.set $end (i32.add (local.get $told) (i32.shl (local.get $n) (i32.const 2))))
    (block $done
      (loop $more
        (br_if $done (i32.ge_u (local.get $told) (local.get $end)))
        (local.set $t (v128.load (local.get $told)))
        (local.set $none (i32x4.eq (local.get $t) (v128.const i32x4 0x80000000 0x80000000 0x80000000 0x80000000)))
        (v128.store (local.get $ticket)
          (v128.or (f64x2.convert_low_i32x4_s (local.get $t)) (i64x2.extend_low_i32x4_s (local.get $none))))
        (v128.store offset=16 (local.get $ticket)
          (v128.or (f64x2.convert_low_i32x4_s (i8x16.shuffle 8 9 10 11 12 13 14 15 8 9 10 11 12 13 14 15
                                                (local.get $t) (local.get $t)))
                   (i64x2.extend_high_i32x4_s (local.get $none))))
        (local.set $told (i32.add (local.get $told) (i32.const 16)))
        (local.set $ticket (i32.add (local.get $ticket) (i32.const 32)))
        (br $more))))

  ;; The words that the map needs, from class, count, filled and content.
  (func (export "words")
    (param $n i32) (param $kind i32) (param $count i32) (param $filled i32) (param $content i32) (param $words i32)
    (param $block_size i32)
    (local $at i32) (local $end i32) (local $most v128) (local $size v128) (local $word v128)
    (local.set $most (i32x4.splat (local.get $block_size)))
    (local.set $size (f32x4.convert_i32x4_u (local.get $most)))
    (local.set $end (i32.shl (local.get $n) (i32.const 2)))
    (block $done
      (loop $more
        (br_if $done (i32.ge_u (local.get $at) (local.get $end)))
        (local.set $word (i32x4.extend_low_i16x8_u (i16x8.extend_low_i8x16_u
          (v128.load32_zero (i32.add (local.get $kind) (i32.shr_u (local.get $at) (i32.const 2)))))))
        (local.set $word (v128.or (local.get $word) (i32x4.shl
          (i32x4.min_u (v128.load (i32.add (local.get $count) (local.get $at))) (v128.const i32x4 1023 1023 1023 1023))
          (i32.const 2))))
        (local.set $word (v128.or (local.get $word) (i32x4.shl
          (i32x4.trunc_sat_f32x4_u (f32x4.add (v128.const f32x4 0.5 0.5 0.5 0.5) (f32x4.div
            (f32x4.mul (v128.const f32x4 127 127 127 127) (f32x4.convert_i32x4_u
              (i32x4.min_u (v128.load (i32.add (local.get $filled) (local.get $at))) (local.get $most))))
            (local.get $size))))
          (i32.const 12))))
        (local.set $word (v128.or (local.get $word) (v128.and (v128.const i32x4 0x80000 0x80000 0x80000 0x80000)
          (i32x4.ne (v128.load (i32.add (local.get $content) (local.get $at))) (v128.const i32x4 -1 -1 -1 -1)))))
        (v128.store (i32.add (local.get $words) (local.get $at)) (local.get $word))
        (local.set $at (i32.add (local.get $at) (i32.const 16)))
        (br $more))))
)
