/** Opens a part of an exported page: zlib's bytes in base64. */

export function fromBase64(text: string): Uint8Array<ArrayBuffer> {
  const binary = atob(text);
  const bytes = new Uint8Array(binary.length);
  for (let i = 0; i < binary.length; i++) bytes[i] = binary.charCodeAt(i);
  return bytes;
}

/** Throws where they are damaged. */
export async function unpacked(part: Blob): Promise<Uint8Array> {
  const packed = new Blob([fromBase64((await part.text()).trim())]);
  const plain = packed.stream().pipeThrough(new DecompressionStream('deflate'));
  return new Uint8Array(await new Response(plain).arrayBuffer());
}
