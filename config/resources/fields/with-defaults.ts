// Type of a config after `fillDefaults` has added the defaults: every member is present, and members without
// value and default are undefined. (The type of `Type.Optional` alone would allow absent members.)

/** Objects with arbitrary keys, such as headers, stay unchanged. */
export type Filled<T> = T extends readonly (infer Item)[]
  ? readonly Filled<Item>[]
  : T extends object
    ? string extends keyof T
      ? Readonly<T>
      : { readonly [K in keyof Required<T>]: K extends keyof T ? FilledMember<T, K> : never }
    : T;

type FilledMember<T, K extends keyof T> = object extends Pick<T, K> ? Filled<T[K]> | undefined : Filled<T[K]>;
