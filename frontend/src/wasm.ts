/** WebAssembly modules that the build made of `.wat` files (`wat.ts`): compiled once a thread. */

const modules = new Map<string, WebAssembly.Module | null>();

/** The module of a binary in base64; null: forbidden here, or a machine without such instructions. */
export function compiled(code: string): WebAssembly.Module | null {
  let found = modules.get(code);
  if (found === undefined) {
    try {
      found = new WebAssembly.Module(Uint8Array.from(atob(code), (each) => each.charCodeAt(0)));
    } catch {
      found = null;
    }
    modules.set(code, found);
  }
  return found;
}

/** Bytes of a page of its memory. */
export const PAGE = 65_536;
