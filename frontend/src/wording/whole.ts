/** What another language has to say in place of a part of the catalogue: each of its texts, whatever they are. */

export type Whole<T> = T extends string
  ? string
  : T extends (...args: infer Args) => infer Said
    ? (...args: Args) => Said extends string ? string : Said
    : T extends readonly unknown[]
      ? { readonly [K in keyof T]: Whole<T[K]> }
      : { readonly [K in keyof T]: Whole<T[K]> };
