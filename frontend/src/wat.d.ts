declare module '*.wat' {
  /** The module's bytes, as base64. */
  const code: string;
  export default code;
}
