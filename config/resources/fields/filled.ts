// The type of a value after `fillDefaults`: every member of its schema is there, and one that was neither written nor
// has a default is undefined. (`Type.Optional` alone would say that the member may be absent.)

export type Filled<T> = T extends readonly (infer Item)[]
  ? readonly Filled<Item>[]
  : T extends object
    ? string extends keyof T
      ? Readonly<T>
      : { readonly [K in keyof Required<T>]: K extends keyof T ? FilledMember<T, K> : never }
    : T;

type FilledMember<T, K extends keyof T> = object extends Pick<T, K> ? Filled<T[K]> | undefined : Filled<T[K]>;
