/**
 * Draws the memory map: one texel a block in a data texture, one triangle over the whole canvas, and a few lines of
 * arithmetic a pixel. A million blocks cost what five hundred do.
 */

import { type Picture, TEXELS } from '../../store/picture';
import { classOf } from '../../worker/word';
import { type Palette, rgb, STATE_COLOURS } from '../palette';
import type { Camera } from './camera';

/** What the map looks like at one moment. */
export interface Scene {
  readonly picture: Picture;
  readonly camera: Camera;
  readonly palette: Palette;
  /** How much of the glow is shown: 1, or 0 for a test. */
  readonly glow: number;
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

const VERTEX = `#version 300 es
void main() {
  gl_Position = vec4(gl_VertexID == 1 ? 3.0 : -1.0, gl_VertexID == 2 ? 3.0 : -1.0, 0.0, 1.0);
}`;

/** Kept short on purpose: without a GPU each operation here is done for each pixel by the CPU. */
const FRAGMENT = `#version 300 es
precision highp float;
precision highp int;
uniform highp sampler2D blocks;
uniform vec3 origin;
uniform vec2 scale;
uniform float edge;
uniform float bar;
uniform ivec2 extent;
uniform float amount;
uniform vec3 free;
uniform vec3 cached;
uniform vec3 active;
uniform vec3 shared_;
uniform vec3 fresh;
uniform vec3 ground;
out vec4 colour;

vec4 texel(ivec2 at) {
  int block = at.y * extent.x + at.x;
  bool inside = uint(at.x) < uint(extent.x) && uint(block) < uint(extent.y);
  return inside ? texelFetch(blocks, ivec2(block & ${TEXELS - 1}, block >> ${Math.log2(TEXELS)}), 0) : vec4(0.0);
}

vec3 state(vec4 cell) {
  return cell.r < 0.4 ? (cell.r < 0.2 ? free : cached) : (cell.r < 0.7 ? active : shared_);
}

void main() {
  vec2 pixel = vec2(gl_FragCoord.x - origin.x, origin.y - gl_FragCoord.y - origin.z);
  vec2 at = floor(pixel * scale.y);
  if (scale.x >= 1.0) {
    vec4 cell = texel(ivec2(at));
    vec2 inside = pixel - at * scale.x;
    if (cell.a < 0.5 || max(inside.x, inside.y) >= edge) {
      colour = vec4(ground, 1.0);
      return;
    }
    vec3 base = state(cell);
    if (inside.y >= edge - bar && cell.r > 0.4) {
      base = inside.x < edge * cell.g ? mix(base, vec3(1.0), 0.34) : mix(base, ground, 0.42);
    }
    // A ring, so that the state can still be seen under it; all of a small cell.
    vec2 rim = min(inside, edge - inside);
    float ring = clamp(1.1 - min(rim.x, rim.y) * 6.0 * scale.y, scale.x < 9.0 ? 0.85 : 0.24, 1.0);
    colour = vec4(mix(base, fresh, cell.b * amount * ring), 1.0);
    return;
  }
  // Several cells a pixel: four of them stand for all, and one that glows is not lost among them.
  vec3 sum = vec3(0.0);
  float glow = 0.0;
  for (int i = 0; i < 4; i++) {
    vec4 cell = texel(ivec2(floor((pixel + vec2(float(i & 1), float(i >> 1)) * 0.5 - 0.25) * scale.y)));
    sum += cell.a < 0.5 ? ground : state(cell);
    glow = max(glow, cell.b);
  }
  colour = vec4(mix(sum * 0.25, fresh, glow * amount * 0.7), 1.0);
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
  'scale',
  'edge',
  'bar',
  'extent',
  'amount',
  'free',
  'cached',
  'active',
  'shared_',
  'fresh',
  'ground',
] as const;

export class WebGlRenderer implements Renderer {
  readonly name = 'webgl2';
  private readonly gl: WebGL2RenderingContext;
  private readonly uniforms: Record<(typeof UNIFORMS)[number], WebGLUniformLocation | null>;
  private readonly texture: WebGLTexture;
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
    let dirty = picture.takeDirtyRows();
    if (picture.rows !== this.rows) {
      this.rows = picture.rows;
      gl.texImage2D(gl.TEXTURE_2D, 0, gl.RGBA8, TEXELS, this.rows, 0, gl.RGBA, gl.UNSIGNED_BYTE, null);
      dirty = [0, this.rows];
    }
    if (dirty === null) return;
    const [from, to] = dirty;
    const part = picture.texels.subarray(4 * TEXELS * from, 4 * TEXELS * to);
    gl.texSubImage2D(gl.TEXTURE_2D, 0, 0, from, TEXELS, to - from, gl.RGBA, gl.UNSIGNED_BYTE, part);
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
    const colour = (uniform: WebGLUniformLocation | null, name: keyof Palette): void => {
      gl.uniform3fv(
        uniform,
        rgb(palette[name]).map((part) => part / 255),
      );
    };
    gl.uniform3f(uniforms.origin, left, height, top);
    gl.uniform2f(uniforms.scale, scale, 1 / scale);
    gl.uniform1f(uniforms.edge, scale - gap);
    gl.uniform1f(uniforms.bar, scale >= 14 ? Math.max(2, Math.floor(scale * 0.1)) : 0);
    gl.uniform2i(uniforms.extent, camera.grid.columns, picture.size);
    gl.uniform1f(uniforms.amount, scene.glow);
    colour(uniforms.free, 's-free');
    colour(uniforms.cached, 's-cached');
    colour(uniforms.active, 's-active');
    colour(uniforms.shared_, 's-shared');
    colour(uniforms.fresh, 's-new');
    colour(uniforms.ground, 'bg');
    gl.drawArrays(gl.TRIANGLES, 0, 3);
  }

  /**
   * Draw without glow and read back the pixel at the centre of each block in the frame. Where blocks are smaller than
   * three pixels, the same program draws one pixel a block into a buffer of its own, and all blocks are read.
   */
  pixels(scene: Scene): Pixels {
    const { gl } = this;
    const { camera } = scene;
    const still: Scene = { ...scene, glow: 0 };
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
    this.upload(scene.picture);
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
