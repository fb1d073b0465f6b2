// The path of a node: its id, and within a loop before it the loop with the number of its turn, `poll#3/check`. What a node has begun
// inside itself, as the members of a fleet, has further names behind it.

export interface TurnOfLoop {
  readonly loop: string;
  readonly turn: number;
}

export interface NodePath {
  /** From the outermost to the innermost. */
  readonly turns: readonly TurnOfLoop[];
  readonly id: string;
}

/** Undefined for what is no node of a flow, but inside of one. */
export function nodePath(path: string): NodePath | undefined {
  const names = path.split('/');
  const id = names.pop() ?? '';
  const turns: TurnOfLoop[] = [];
  for (const name of names) {
    const at = name.indexOf('#');
    if (at === -1) return undefined;
    turns.push({ loop: name.slice(0, at), turn: Number(name.slice(at + 1)) });
  }
  return { turns, id };
}

/** Of a node in that turn of a loop; `loop` is its path. */
export const pathInTurn = (loop: string, turn: number, id: string): string => `${loop}#${turn}/${id}`;
