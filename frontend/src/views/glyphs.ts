/**
 * Words of one face and size, as how much of each pixel they cover: made once, outside of the document. Text that is drawn on a
 * canvas in the document has the style of all of it brought up to date first, and each word is shaped anew.
 */

/** How much of each pixel of a rectangle is covered, 0 to 255, and where the rectangle lies: from where the word begins, on its base line. */
export interface Mask {
  readonly left: number;
  readonly top: number;
  readonly width: number;
  readonly height: number;
  readonly cover: Uint8Array;
}

/** A digit begins at a quarter of a pixel. */
const PHASES = 4;
/** Words that are kept. */
const MOST = 500;

export class Glyphs {
  /** Device pixels of a digit; all are of one width. */
  readonly digit: number;
  private readonly context: OffscreenCanvasRenderingContext2D;
  private readonly masks = new Map<string, Mask>();
  private readonly digits: Mask[] = [];

  /** `size`: device pixels. */
  constructor(
    private readonly size: number,
    family: string,
  ) {
    const canvas = new OffscreenCanvas(1, 1);
    this.context = canvas.getContext('2d', { willReadFrequently: true })!;
    this.font = `${size}px ${family}`;
    this.context.font = this.font;
    this.digit = this.context.measureText('0').width;
    for (let phase = 0; phase < PHASES; phase++)
      for (let digit = 0; digit < 10; digit++) this.digits.push(this.drawn(String(digit), phase / PHASES));
  }

  private readonly font: string;

  /** The digit that begins at a place, and where its pixels begin. */
  digitAt(digit: number, x: number): { mask: Mask; x: number } {
    const quarters = Math.round(x * PHASES);
    const whole = Math.floor(quarters / PHASES);
    return { mask: this.digits[(quarters - whole * PHASES) * 10 + digit]!, x: whole };
  }

  /** Any other word. */
  wordOf(word: string): Mask {
    let mask = this.masks.get(word);
    if (mask === undefined) {
      mask = this.drawn(word, 0);
      if (this.masks.size >= MOST) this.masks.clear();
      this.masks.set(word, mask);
    }
    return mask;
  }

  private drawn(word: string, phase: number): Mask {
    const { context, font, size } = this;
    context.font = font;
    // What leans out of its place is not cut off.
    const [left, base] = [2, Math.ceil(1.2 * size)];
    const width = Math.ceil(context.measureText(word).width) + 2 * left + 1;
    const height = base + Math.ceil(0.5 * size);
    // A canvas that is sized anew is empty, and has forgotten its face.
    context.canvas.width = width;
    context.canvas.height = height;
    context.font = font;
    context.fillText(word, left + phase, base);
    const { data } = context.getImageData(0, 0, width, height);
    const cover = Uint8Array.from({ length: width * height }, (_, i) => data[4 * i + 3]!);
    return { left: -left, top: -base, width, height, cover };
  }
}
