/** Rows of pixels of a large pool in which several cells lie in a pixel (crowd.wat): two pixels at once, of four cells each. */

import { LARGE } from '../../ledger/kernels';
import { compiled, PAGE } from '../../wasm';
import code from './crowd.wat';

interface Exports {
  row(
    upper: number,
    lower: number,
    cells: number,
    sums: number,
    places: number,
    n: number,
    out: number,
  ): void;
}

/** Where what lies in the memory: the states' pixels at its beginning. */
const WORDS = 16;

export class Crowd {
  readonly pixels: Uint32Array<ArrayBuffer>;
  private readonly states: Uint32Array;
  private readonly words: Uint32Array;
  /** Two a pixel of a row: where the sums of its left and its right cells are. */
  private readonly places: Int32Array;
  private readonly sums: number;

  private constructor(
    memory: WebAssembly.Memory,
    private readonly exports: Exports,
    private readonly width: number,
    height: number,
    size: number,
    at: { readonly sums: number; readonly places: number; readonly pixels: number },
  ) {
    const { buffer } = memory;
    this.states = new Uint32Array(buffer, 0, 4);
    this.words = new Uint32Array(buffer, WORDS, size);
    this.places = new Int32Array(buffer, at.places, 2 * width);
    this.pixels = new Uint32Array(buffer, at.pixels, width * height);
    this.sums = at.sums;
  }

  /** Of a canvas and a pool; null: plain loops will do, or have to. */
  static of(width: number, height: number, size: number): Crowd | null {
    const module = size < LARGE ? null : compiled(code);
    if (module === null) return null;
    let end = WORDS;
    const place = (bytes: number): number => {
      const from = end;
      // More than what is read and written behind the ends.
      end += Math.ceil(bytes / 16) * 16 + 32;
      return from;
    };
    place(4 * size);
    const at = { sums: place(8 * size), places: place(8 * width), pixels: place(4 * width * height) };
    const pages = Math.ceil(end / PAGE);
    try {
      const memory = new WebAssembly.Memory({ initial: pages, maximum: pages });
      const { exports } = new WebAssembly.Instance(module, { map: { memory } });
      return new Crowd(memory, exports as unknown as Exports, width, height, size, at);
    } catch (error) {
      if (error instanceof RangeError) return null;
      throw error;
    }
  }

  /** The pixels of the four states, and for each column of pixels the grid's columns on its left and right. */
  look(states: Uint32Array, near: Int32Array, far: Int32Array): void {
    this.states.set(states);
    for (let x = 0; x < this.width; x++) {
      this.places[2 * x] = 8 * near[x]!;
      this.places[2 * x + 1] = 8 * far[x]!;
    }
  }

  /** Take the words of all blocks, for the rows that follow. */
  take(words: Uint32Array): void {
    this.words.set(words);
  }

  /** Draw an even number of pixels from one on, of two rows of cells that begin at these blocks. */
  row(from: number, x: number, n: number, upper: number, lower: number, cells: number): void {
    const { words, places, pixels } = this;
    const wordsAt = (block: number): number => words.byteOffset + 4 * block;
    this.exports.row(
      wordsAt(upper),
      wordsAt(lower),
      cells,
      this.sums,
      places.byteOffset + 8 * x,
      n,
      pixels.byteOffset + 4 * (from + x),
    );
  }
}
