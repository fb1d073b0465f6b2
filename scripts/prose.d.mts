export interface Hit {
  readonly line: number;
  readonly hit: string;
}
export function filesBelow(paths?: readonly string[]): string[];
export function checkFile(path: string): { readonly hits: readonly Hit[]; readonly words: number };
export function readLimits(): Map<string, number>;
