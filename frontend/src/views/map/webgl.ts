/**
 * Draws the memory map: one texel a block in a data texture, one triangle over the whole canvas, and a few lines of
 * arithmetic a pixel. A million blocks cost what five hundred do.
 */

import { type Palette, rgb } from '../palette';
import { barOf, collect, type Pixels, type Renderer, type Scene } from './renderer';
import { TEXELS, Texels } from './texels';

const VERTEX = `#version 300 es
void main() {
  gl_Position = vec4(gl_VertexID == 1 ? 3.0 : -1.0, gl_VertexID == 2 ? 3.0 : -1.0, 0.0, 1.0);
}`;

/** Both programs: which block lies at a cell of the grid, and its texel. */
const HEAD = `#version 300 es
precision highp float;
precision highp int;
uniform highp sampler2D texels;
uniform highp sampler2D fills;
uniform vec3 origin;
uniform float scale;
uniform float inverse_;
uniform float edge;
uniform float bar;
uniform int columns;
uniform int count;
uniform float amount;
uniform vec3 fresh;
uniform vec3 ground;
out vec4 colour;

ivec2 place(int block) {
  return ivec2(block & ${TEXELS - 1}, block >> ${Math.log2(TEXELS)});
}
`;

/** A cell is a pixel or more. Kept short on purpose: without a GPU, each operation is done by the CPU for each pixel. */
const CELLS = `${HEAD}
void main() {
  vec2 pixel = vec2(gl_FragCoord.x - origin.x, origin.y - gl_FragCoord.y - origin.z);
  vec2 at = floor(pixel * inverse_);
  vec2 inside = pixel - at * scale;
  int block = int(at.y) * columns + int(at.x);
  if (max(inside.x, inside.y) >= edge || at.x < 0.0 || int(at.x) >= columns || block < 0 || block >= count) {
    colour = vec4(ground, 1.0);
    return;
  }
  vec4 texel = texelFetch(texels, place(block), 0);
  vec3 base = texel.rgb;
  if (inside.y >= edge - bar) {
    float fill = texelFetch(fills, place(block), 0).r;
    if (fill > 0.0) base = inside.x < edge * fill ? mix(base, vec3(1.0), 0.34) : mix(base, ground, 0.42);
  }
  if (texel.a > 0.0) {
    // A ring, so that the state can still be seen under it; all of a small cell.
    vec2 rim = min(inside, edge - inside);
    float ring = clamp(1.1 - min(rim.x, rim.y) * 6.0 * inverse_, scale < 9.0 ? 0.85 : 0.24, 1.0);
    base = mix(base, fresh, texel.a * amount * ring);
  }
  colour = vec4(base, 1.0);
}`;

/** Several cells a pixel: four of them stand for all, and one that glows is not lost among them. */
const CROWD = `${HEAD}
void main() {
  vec2 pixel = vec2(gl_FragCoord.x - origin.x, origin.y - gl_FragCoord.y - origin.z);
  vec3 sum = vec3(0.0);
  float glow = 0.0;
  for (int i = 0; i < 4; i++) {
    ivec2 at = ivec2(floor((pixel + vec2(float(i & 1), float(i >> 1)) * 0.5 - 0.25) * inverse_));
    int block = at.y * columns + at.x;
    bool inside = uint(at.x) < uint(columns) && uint(block) < uint(count);
    vec4 texel = inside ? texelFetch(texels, place(block), 0) : vec4(ground, 0.0);
    sum += texel.rgb;
    glow = max(glow, texel.a);
  }
  colour = vec4(mix(sum * 0.25, fresh, glow * amount * 0.7), 1.0);
}`;

const UNIFORMS = [
  'texels',
  'fills',
  'origin',
  'scale',
  'inverse_',
  'edge',
  'bar',
  'columns',
  'count',
  'amount',
  'fresh',
  'ground',
] as const;

interface Program {
  readonly program: WebGLProgram;
  readonly uniforms: Record<(typeof UNIFORMS)[number], WebGLUniformLocation | null>;
}

function compile(gl: WebGL2RenderingContext, type: number, source: string): WebGLShader {
  const shader = gl.createShader(type)!;
  gl.shaderSource(shader, source);
  gl.compileShader(shader);
  if (!gl.getShaderParameter(shader, gl.COMPILE_STATUS)) {
    throw new Error(gl.getShaderInfoLog(shader) ?? 'a shader does not compile');
  }
  return shader;
}

function link(gl: WebGL2RenderingContext, fragment: string): Program {
  const program = gl.createProgram();
  gl.attachShader(program, compile(gl, gl.VERTEX_SHADER, VERTEX));
  gl.attachShader(program, compile(gl, gl.FRAGMENT_SHADER, fragment));
  gl.linkProgram(program);
  if (!gl.getProgramParameter(program, gl.LINK_STATUS)) {
    throw new Error(gl.getProgramInfoLog(program) ?? 'the program does not link');
  }
  const uniforms = Object.fromEntries(UNIFORMS.map((name) => [name, gl.getUniformLocation(program, name)]));
  return { program, uniforms: uniforms as Program['uniforms'] };
}

/** More changed blocks than this part of all: draw everything. */
const MOST = 0.4;

export class WebGlRenderer implements Renderer {
  readonly name = 'webgl2';
  private readonly gl: WebGL2RenderingContext;
  private readonly cells: Program;
  private readonly crowd: Program;
  private readonly textures: readonly [WebGLTexture, WebGLTexture];
  private readonly texels = new Texels();
  private rows = 0;
  /** Where and how the last drawing was made; one that differs is made anew. */
  private drawn = '';

  constructor(readonly canvas: HTMLCanvasElement) {
    // What did not change stays, so that a few changed rows cost a few rows.
    const gl = canvas.getContext('webgl2', {
      alpha: false,
      antialias: false,
      depth: false,
      stencil: false,
      preserveDrawingBuffer: true,
    });
    if (gl === null) throw new Error('no WebGL2');
    this.gl = gl;
    this.cells = link(gl, CELLS);
    this.crowd = link(gl, CROWD);
    this.textures = [this.texture(gl.TEXTURE0), this.texture(gl.TEXTURE1)];
    gl.activeTexture(gl.TEXTURE0);
  }

  private texture(unit: number): WebGLTexture {
    const { gl } = this;
    const texture = gl.createTexture();
    gl.activeTexture(unit);
    gl.bindTexture(gl.TEXTURE_2D, texture);
    for (const [key, value] of [
      [gl.TEXTURE_MIN_FILTER, gl.NEAREST],
      [gl.TEXTURE_MAG_FILTER, gl.NEAREST],
      [gl.TEXTURE_WRAP_S, gl.CLAMP_TO_EDGE],
      [gl.TEXTURE_WRAP_T, gl.CLAMP_TO_EDGE],
    ] as const) {
      gl.texParameteri(gl.TEXTURE_2D, key, value);
    }
    return texture;
  }

  /** Bring the textures up to date; returns the blocks that changed, null: all of them. */
  private upload({ picture, colours }: Scene): Uint32Array | null {
    const { gl, texels } = this;
    const blocks = texels.update(picture, colours, picture.takeDirty());
    let [low, high] = [0, texels.rows - 1];
    if (texels.rows !== this.rows) {
      this.rows = texels.rows;
      gl.texImage2D(gl.TEXTURE_2D, 0, gl.RGBA8, TEXELS, this.rows, 0, gl.RGBA, gl.UNSIGNED_BYTE, null);
      gl.activeTexture(gl.TEXTURE1);
      gl.texImage2D(gl.TEXTURE_2D, 0, gl.R8, TEXELS, this.rows, 0, gl.RED, gl.UNSIGNED_BYTE, null);
      gl.activeTexture(gl.TEXTURE0);
    } else if (blocks !== null) {
      [low, high] = [texels.rows, -1];
      for (let i = 0; i < blocks.length; i++) {
        const row = Math.floor(blocks[i]! / TEXELS);
        if (row < low) low = row;
        if (row > high) high = row;
      }
    }
    if (low > high) return blocks;
    const put = (format: number, array: Uint8Array, size: number): void =>
      gl.texSubImage2D(
        gl.TEXTURE_2D,
        0,
        0,
        low,
        TEXELS,
        high - low + 1,
        format,
        gl.UNSIGNED_BYTE,
        array.subarray(size * TEXELS * low, size * TEXELS * (high + 1)),
      );
    put(gl.RGBA, texels.colours, 4);
    gl.activeTexture(gl.TEXTURE1);
    put(gl.RED, texels.fills, 1);
    gl.activeTexture(gl.TEXTURE0);
    return blocks;
  }

  draw(scene: Scene): void {
    const { gl } = this;
    const { camera, picture, palette } = scene;
    const { drawingBufferWidth: width, drawingBufferHeight: height } = gl;
    const blocks = this.upload(scene);
    const look = [camera.left, camera.top, camera.scale, camera.grid.columns, width, height, picture.size];
    const drawn = [...look, palette.bg, scene.glow].join();
    const isMost = blocks === null || blocks.length > picture.size * MOST;
    const whole = drawn !== this.drawn || isMost;
    this.drawn = drawn;
    gl.viewport(0, 0, width, height);
    if (whole) this.paint(scene, camera.left, camera.top, camera.scale, camera.gap, height);
    else if (blocks.length > 0) this.paintRows(scene, blocks, height);
  }

  /** Draw the rows of the grid in which a block changed. */
  private paintRows(scene: Scene, blocks: Uint32Array, height: number): void {
    const { gl } = this;
    const { camera } = scene;
    const changed = new Uint8Array(camera.grid.rows);
    for (let i = 0; i < blocks.length; i++) changed[Math.floor(blocks[i]! / camera.grid.columns)] = 1;
    gl.enable(gl.SCISSOR_TEST);
    for (let row = 0; row < changed.length; row++) {
      if (changed[row] === 0) continue;
      let end = row + 1;
      while (changed[end] === 1) end++;
      const top = Math.floor(camera.top + row * camera.scale) - 1;
      const bottom = Math.ceil(camera.top + end * camera.scale) + 1;
      if (bottom > 0 && top < height) {
        gl.scissor(0, height - bottom, gl.drawingBufferWidth, bottom - top);
        this.paint(scene, camera.left, camera.top, camera.scale, camera.gap, height);
      }
      row = end - 1;
    }
    gl.disable(gl.SCISSOR_TEST);
  }

  private paint(scene: Scene, left: number, top: number, scale: number, gap: number, height: number): void {
    const { gl } = this;
    const { camera, palette, picture } = scene;
    const { program, uniforms } = scale >= 1 ? this.cells : this.crowd;
    gl.useProgram(program);
    const colour = (uniform: WebGLUniformLocation | null, name: keyof Palette): void => {
      const [red, green, blue] = rgb(palette[name]);
      gl.uniform3f(uniform, red / 255, green / 255, blue / 255);
    };
    gl.uniform1i(uniforms.texels, 0);
    gl.uniform1i(uniforms.fills, 1);
    gl.uniform3f(uniforms.origin, left, height, top);
    gl.uniform1f(uniforms.scale, scale);
    gl.uniform1f(uniforms.inverse_, 1 / scale);
    gl.uniform1f(uniforms.edge, scale - gap);
    gl.uniform1f(uniforms.bar, barOf(scene));
    gl.uniform1i(uniforms.columns, camera.grid.columns);
    gl.uniform1i(uniforms.count, picture.size);
    gl.uniform1f(uniforms.amount, scene.glow);
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
    this.upload(scene);
    const { columns, rows } = camera.grid;
    const target = gl.createTexture();
    gl.activeTexture(gl.TEXTURE2);
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
    this.drawn = '';
    return collect(scene, (block) => {
      const at = 4 * ((rows - 1 - Math.floor(block / columns)) * columns + (block % columns));
      return Array.from(read.subarray(at, at + 4));
    });
  }

  dispose(): void {
    for (const texture of this.textures) this.gl.deleteTexture(texture);
  }
}
