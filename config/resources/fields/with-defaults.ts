// Value type after `fillDefaults`: every member is present, and members without value and default are
// undefined. (`Type.Optional` alone would allow absent members.)

export type Filled<T> = T extends readonly (infer Item)[]
  ? readonly Filled<Item>[]
  : T extends object
    ? string extends keyof T
      ? Readonly<T>
      : { readonly [K in keyof Required<T>]: K extends keyof T ? FilledMember<T, K> : never }
    : T;

type FilledMember<T, K extends keyof T> = object extends Pick<T, K> ? Filled<T[K]> | undefined : Filled<T[K]>;
