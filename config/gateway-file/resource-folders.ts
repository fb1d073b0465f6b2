// The folders of triggers, agents, fleets and flows that a gateway file names. With any of them the gateway has the second half of its
// code: agents, fleets and flows can be asked over the API and from a terminal, without a trigger.

export const folderKinds = ['triggers', 'agents', 'fleets', 'flows'] as const;

type NamedFolders = {
  readonly [Kind in (typeof folderKinds)[number]]?: { readonly directory?: string | undefined } | undefined;
};

/** Absolute paths; none where there is to be nothing of that. */
export function resourceFolders(spec: NamedFolders = {}): readonly string[] {
  return folderKinds.flatMap((kind) => spec[kind]?.directory ?? []);
}
