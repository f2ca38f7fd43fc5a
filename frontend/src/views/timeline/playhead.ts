/**
 * Where the view is, and where the pointer is, laid over the lanes: elements that are moved, so that no lane is drawn again.
 *
 *        ┌────┐ flag
 *     ▁▁▂│▂▃▃▄│▅▅▅▅┆▅▅▆▆▆  later: there, and not yet, so it is dimmed
 *           head  pointed
 */

import { integer } from '../../format';
import { bottomOf, type Layout, ROW, type Window, xOf } from './draw';

export interface Place {
  readonly window: Window;
  readonly layout: Layout;
  readonly step: number;
  /** How far the view is within its step: 1 behind all of it. */
  readonly part: number;
  readonly lastStep: number;
  readonly hovered: number | null;
  /** The top of the row under the pointer, or of what is pointed at elsewhere. */
  readonly row: number | null;
  /** From where to where is brushed, in CSS pixels. */
  readonly brushed: readonly [number, number] | null;
}

/** An element that is moved with every view: told only what is new, as the document has each word brought up to date. */
class Part {
  readonly element = document.createElement('span');
  private readonly label = document.createTextNode('');
  private transform = '';
  private isHidden = false;

  constructor(holder: HTMLElement, name: string) {
    this.element.className = name;
    this.element.append(this.label);
    holder.append(this.element);
  }

  lay(css: string): void {
    this.element.style.cssText = css;
    this.transform = '';
  }

  set hidden(hidden: boolean) {
    if (hidden !== this.isHidden) this.element.hidden = hidden;
    this.isHidden = hidden;
  }

  move(transform: string): void {
    if (transform !== this.transform) this.element.style.transform = transform;
    this.transform = transform;
  }

  set text(text: string) {
    if (text !== this.label.data) this.label.data = text;
  }
}

export class Playhead {
  private readonly row: Part;
  private readonly brushed: Part;
  private readonly later: Part;
  private readonly pointed: Part;
  private readonly head: Part;
  private readonly flag: Part;
  private laid: Layout | null = null;
  /** CSS pixels of a number in the flag, by its digits: they are all of one width. */
  private readonly widths: number[] = [];

  constructor(holder: HTMLElement) {
    this.row = new Part(holder, 'row');
    this.brushed = new Part(holder, 'brushed');
    this.later = new Part(holder, 'later');
    this.pointed = new Part(holder, 'pointed');
    this.head = new Part(holder, 'at');
    this.flag = new Part(holder, 'flag');
  }

  private lay(layout: Layout): void {
    if (layout === this.laid) return;
    this.laid = layout;
    const height = bottomOf(layout) - layout.flag;
    this.later.lay(`top:${layout.flag}px;height:${height}px;width:${layout.right - layout.left}px`);
    this.row.lay(`height:${ROW}px;width:${layout.right}px`);
    this.brushed.lay(`top:${layout.flag}px;height:${height}px;width:1px`);
    for (const line of [this.pointed, this.head]) line.lay(`top:${layout.flag - 2}px;height:${height + 4}px`);
  }

  place({ window, layout, step, part, lastStep, hovered, row, brushed }: Place): void {
    this.lay(layout);
    this.row.hidden = row === null;
    if (row !== null) this.row.move(`translateY(${row}px)`);
    this.brushed.hidden = brushed === null;
    if (brushed !== null) {
      const [from, to] = [Math.min(...brushed), Math.max(...brushed)];
      this.brushed.move(`translateX(${from}px) scaleX(${to - from})`);
    }
    const { left, right } = layout;
    const within = (x: number): number => Math.max(left, Math.min(right, x));
    const after = step < lastStep && step >= 0 ? within(xOf(step + 1, window, layout)) : right;
    this.later.move(`translateX(${after}px) scaleX(${(right - after) / Math.max(1, right - left)})`);
    this.pointed.hidden = hovered === null;
    if (hovered !== null)
      this.pointed.move(`translateX(${Math.round(within(xOf(hovered + 0.5, window, layout)) - 0.5)}px)`);
    this.head.hidden = step < 0;
    this.flag.hidden = step < 0;
    if (step < 0) return;
    // Within a step that has some room, the line stands where its operations are.
    const x = within(xOf(step + 0.5 + (part < 1 ? part - 0.5 : 0), window, layout));
    this.head.move(`translateX(${Math.round(x - 1)}px)`);
    const label = integer(step);
    const width = this.widthOf(label);
    this.flag.text = label;
    this.flag.move(`translateX(${Math.max(left, Math.min(right - width, x - width / 2))}px)`);
  }

  private widthOf(label: string): number {
    const { flag, widths } = this;
    const known = widths[label.length];
    if (known !== undefined) return known;
    flag.text = label;
    const width = flag.element.offsetWidth;
    // Not where it is in no document yet.
    if (width > 0) widths[label.length] = width;
    return width;
  }
}
