/**
 * Draws the memory map: one texel a block in a data texture, one triangle over the whole canvas, and a few lines of
 * arithmetic a pixel. A million blocks cost what five hundred do.
 */

import type { Picture } from '../../store/picture';
import { classOf } from '../../worker/word';
import { type Palette, rgb, STATE_COLOURS } from '../palette';
import type { Camera } from './camera';

/** What the map looks like at one moment. */
export interface Scene {
  readonly picture: Picture;
  readonly camera: Camera;
  readonly palette: Palette;
  /** ms, as in {@link Picture.changed}. */
  readonly now: number;
  /** Does glow decay (live), or not at all (frozen for a test, or motion is not wanted)? */
  readonly glow: boolean;
  /** The least glow of the blocks that the present step changed. */
  readonly floor: number;
}

export interface Pixels {
  /** The blocks that lie in the frame. */
  readonly blocks: number[];
  /** RGBA at the centre of each. */
  readonly rgba: number[][];
  /** The palette's colour for the state of each. */
  readonly expected: number[][];
}

export interface Renderer {
  readonly name: 'webgl2' | 'canvas2d';
  draw(scene: Scene): void;
  pixels(scene: Scene): Pixels;
  dispose(): void;
}

/** ms in which glow falls to a third. */
export const GLOW_MS = 520;
/** ms after which nothing of it is left to see. */
export const GLOW_END = 5 * GLOW_MS;

const WIDTH = 1024;

const VERTEX = `#version 300 es
void main() {
  gl_Position = vec4(gl_VertexID == 1 ? 3.0 : -1.0, gl_VertexID == 2 ? 3.0 : -1.0, 0.0, 1.0);
}`;

const FRAGMENT = `#version 300 es
precision highp float;
precision highp int;
precision highp usampler2D;
uniform usampler2D blocks;
uniform vec2 origin;
uniform float height;
uniform float scale;
uniform float gap;
uniform int columns;
uniform int count;
uniform uint now;
uniform float decay;
uniform float least;
uniform vec3 states[4];
uniform vec3 fresh;
uniform vec3 ground;
out vec4 colour;

vec3 cell(ivec2 at, vec2 inside) {
  int block = at.y * columns + at.x;
  if (at.x < 0 || at.x >= columns || at.y < 0 || block >= count) return ground;
  uvec2 texel = texelFetch(blocks, ivec2(block % ${WIDTH}, block / ${WIDTH}), 0).xy;
  float edge = scale - gap;
  if (inside.x >= edge || inside.y >= edge) return ground;
  uint word = texel.x;
  vec3 base = states[word & 3u];
  if (scale >= 14.0 && ((word >> 2u) & 1023u) > 0u) {
    float bar = max(2.0, floor(scale * 0.1));
    float filled = float((word >> 12u) & 127u) / 127.0;
    if (inside.y >= edge - bar) base = mix(base, inside.x < edge * filled ? vec3(1.0) : ground, inside.x < edge * filled ? 0.34 : 0.42);
  }
  if (texel.y > 0u) {
    // A ring, so that the state can still be seen under it; all of a small cell.
    float age = float(now - (texel.y >> 1u));
    float glow = max(decay > 0.0 ? exp(-age / decay) : 0.0, least) * ((texel.y & 1u) == 1u ? 1.0 : 0.3);
    vec2 rim = min(inside, edge - 1.0 - inside);
    float ring = scale >= 9.0 ? clamp(1.0 - (min(rim.x, rim.y) - 0.5) / (scale * 0.16), 0.24, 1.0) : 0.85;
    base = mix(base, fresh, glow * ring);
  }
  return base;
}

void main() {
  vec2 pixel = vec2(gl_FragCoord.x, height - gl_FragCoord.y) - origin;
  if (scale >= 1.0) {
    vec2 at = floor(pixel / scale);
    colour = vec4(cell(ivec2(at), floor(pixel - at * scale)), 1.0);
    return;
  }
  // Several cells a pixel: four of them stand for all.
  vec3 sum = vec3(0.0);
  for (int i = 0; i < 4; i++) {
    vec2 tap = pixel + vec2(float(i & 1), float(i >> 1)) * 0.5 - 0.25;
    sum += cell(ivec2(floor(tap / scale)), vec2(0.0));
  }
  colour = vec4(sum * 0.25, 1.0);
}`;

function compile(gl: WebGL2RenderingContext, type: number, source: string): WebGLShader {
  const shader = gl.createShader(type)!;
  gl.shaderSource(shader, source);
  gl.compileShader(shader);
  if (!gl.getShaderParameter(shader, gl.COMPILE_STATUS)) {
    throw new Error(gl.getShaderInfoLog(shader) ?? 'a shader does not compile');
  }
  return shader;
}

const UNIFORMS = [
  'origin',
  'height',
  'scale',
  'gap',
  'columns',
  'count',
  'now',
  'decay',
  'least',
  'states',
  'fresh',
  'ground',
] as const;

export class WebGlRenderer implements Renderer {
  readonly name = 'webgl2';
  private readonly gl: WebGL2RenderingContext;
  private readonly uniforms: Record<(typeof UNIFORMS)[number], WebGLUniformLocation | null>;
  private readonly texture: WebGLTexture;
  private texels = new Uint32Array(0);
  private rows = 0;

  constructor(readonly canvas: HTMLCanvasElement) {
    const gl = canvas.getContext('webgl2', { alpha: false, antialias: false, depth: false, stencil: false });
    if (gl === null) throw new Error('no WebGL2');
    this.gl = gl;
    const program = gl.createProgram();
    gl.attachShader(program, compile(gl, gl.VERTEX_SHADER, VERTEX));
    gl.attachShader(program, compile(gl, gl.FRAGMENT_SHADER, FRAGMENT));
    gl.linkProgram(program);
    if (!gl.getProgramParameter(program, gl.LINK_STATUS)) {
      throw new Error(gl.getProgramInfoLog(program) ?? 'the program does not link');
    }
    gl.useProgram(program);
    this.uniforms = Object.fromEntries(
      UNIFORMS.map((name) => [name, gl.getUniformLocation(program, name)]),
    ) as typeof this.uniforms;
    this.texture = gl.createTexture();
    gl.bindTexture(gl.TEXTURE_2D, this.texture);
    for (const [key, value] of [
      [gl.TEXTURE_MIN_FILTER, gl.NEAREST],
      [gl.TEXTURE_MAG_FILTER, gl.NEAREST],
      [gl.TEXTURE_WRAP_S, gl.CLAMP_TO_EDGE],
      [gl.TEXTURE_WRAP_T, gl.CLAMP_TO_EDGE],
    ] as const) {
      gl.texParameteri(gl.TEXTURE_2D, key, value);
    }
  }

  private upload(picture: Picture): void {
    const { gl } = this;
    const rows = Math.max(1, Math.ceil(picture.size / WIDTH));
    let dirty = picture.takeDirtyRows(WIDTH);
    if (rows !== this.rows) {
      this.rows = rows;
      this.texels = new Uint32Array(2 * WIDTH * rows);
      gl.texImage2D(gl.TEXTURE_2D, 0, gl.RG32UI, WIDTH, rows, 0, gl.RG_INTEGER, gl.UNSIGNED_INT, null);
      dirty = [0, rows];
    }
    if (dirty === null) return;
    const [from, to] = dirty;
    const end = Math.min(picture.size, to * WIDTH);
    for (let b = from * WIDTH; b < end; b++) {
      this.texels[2 * b] = picture.words[b]!;
      this.texels[2 * b + 1] = picture.changed[b]!;
    }
    const part = this.texels.subarray(2 * WIDTH * from, 2 * WIDTH * to);
    gl.texSubImage2D(gl.TEXTURE_2D, 0, 0, from, WIDTH, to - from, gl.RG_INTEGER, gl.UNSIGNED_INT, part);
  }

  draw(scene: Scene): void {
    const { gl } = this;
    const { camera } = scene;
    this.upload(scene.picture);
    gl.viewport(0, 0, gl.drawingBufferWidth, gl.drawingBufferHeight);
    this.paint(scene, camera.left, camera.top, camera.scale, camera.gap, gl.drawingBufferHeight);
  }

  private paint(scene: Scene, left: number, top: number, scale: number, gap: number, height: number): void {
    const { gl, uniforms } = this;
    const { camera, palette, picture } = scene;
    const colour = (name: keyof Palette): number[] => rgb(palette[name]).map((part) => part / 255);
    gl.uniform2f(uniforms.origin, left, top);
    gl.uniform1f(uniforms.height, height);
    gl.uniform1f(uniforms.scale, scale);
    gl.uniform1f(uniforms.gap, gap);
    gl.uniform1i(uniforms.columns, camera.grid.columns);
    gl.uniform1i(uniforms.count, picture.size);
    gl.uniform1ui(uniforms.now, Math.max(1, Math.round(scene.now)));
    gl.uniform1f(uniforms.decay, scene.glow ? GLOW_MS : 0);
    gl.uniform1f(uniforms.least, scene.floor);
    gl.uniform3fv(uniforms.states, STATE_COLOURS.flatMap(colour));
    gl.uniform3fv(uniforms.fresh, colour('s-new'));
    gl.uniform3fv(uniforms.ground, colour('bg'));
    gl.drawArrays(gl.TRIANGLES, 0, 3);
  }

  /**
   * Draw without glow and read back the pixel at the centre of each block in the frame. Where blocks are smaller than
   * three pixels, the same program draws one pixel a block into a buffer of its own, and all blocks are read.
   */
  pixels(scene: Scene): Pixels {
    const { gl } = this;
    const { camera, picture } = scene;
    const still: Scene = { ...scene, glow: false, floor: 0 };
    if (camera.scale >= 3) {
      this.draw(still);
      const width = gl.drawingBufferWidth;
      const height = gl.drawingBufferHeight;
      const read = new Uint8Array(4 * width * height);
      gl.readPixels(0, 0, width, height, gl.RGBA, gl.UNSIGNED_BYTE, read);
      return collect(scene, (block) => {
        const { x, y } = camera.place(block);
        const px = Math.floor(x + (camera.scale - camera.gap) / 2);
        const py = Math.floor(y + (camera.scale - camera.gap) / 2);
        if (px < 0 || py < 0 || px >= width || py >= height) return null;
        const at = 4 * ((height - 1 - py) * width + px);
        return Array.from(read.subarray(at, at + 4));
      });
    }
    this.upload(picture);
    const { columns, rows } = camera.grid;
    const target = gl.createTexture();
    gl.activeTexture(gl.TEXTURE1);
    gl.bindTexture(gl.TEXTURE_2D, target);
    gl.texStorage2D(gl.TEXTURE_2D, 1, gl.RGBA8, columns, rows);
    const buffer = gl.createFramebuffer();
    gl.bindFramebuffer(gl.FRAMEBUFFER, buffer);
    gl.framebufferTexture2D(gl.FRAMEBUFFER, gl.COLOR_ATTACHMENT0, gl.TEXTURE_2D, target, 0);
    gl.viewport(0, 0, columns, rows);
    this.paint(still, 0, 0, 1, 0, rows);
    const read = new Uint8Array(4 * columns * rows);
    gl.readPixels(0, 0, columns, rows, gl.RGBA, gl.UNSIGNED_BYTE, read);
    gl.bindFramebuffer(gl.FRAMEBUFFER, null);
    gl.deleteFramebuffer(buffer);
    gl.deleteTexture(target);
    gl.activeTexture(gl.TEXTURE0);
    gl.bindTexture(gl.TEXTURE_2D, this.texture);
    return collect(scene, (block) => {
      const at = 4 * ((rows - 1 - Math.floor(block / columns)) * columns + (block % columns));
      return Array.from(read.subarray(at, at + 4));
    });
  }

  dispose(): void {
    this.gl.deleteTexture(this.texture);
  }
}

/** The pixel and the expected colour of each block that has a pixel. */
export function collect(scene: Scene, pixel: (block: number) => number[] | null): Pixels {
  const { picture, palette } = scene;
  const colours = STATE_COLOURS.map((name) => [...rgb(palette[name]), 255]);
  const pixels: Pixels = { blocks: [], rgba: [], expected: [] };
  for (let block = 0; block < picture.size; block++) {
    const found = pixel(block);
    if (found === null) continue;
    pixels.blocks.push(block);
    pixels.rgba.push(found);
    pixels.expected.push(colours[classOf(picture.words[block]!)]!);
  }
  return pixels;
}
