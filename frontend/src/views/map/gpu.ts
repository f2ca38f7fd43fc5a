/** Is there a GPU for WebGL2, or does the CPU play one? */

/** What the programs that play one are called. */
const SOFTWARE = /swiftshader|llvmpipe|softpipe|software|basic render/i;

let found: boolean | null = null;

function look(): boolean {
  const gl = document.createElement('canvas').getContext('webgl2', { failIfMajorPerformanceCaveat: true });
  if (gl === null) return false;
  const info = gl.getExtension('WEBGL_debug_renderer_info');
  const name = String(gl.getParameter(info === null ? gl.RENDERER : info.UNMASKED_RENDERER_WEBGL));
  gl.getExtension('WEBGL_lose_context')?.loseContext();
  return !SOFTWARE.test(name);
}

/** Asked of a context of its own, since a canvas that was asked for one kind of context gives no other. */
export function hasGpu(): boolean {
  found ??= look();
  return found;
}
