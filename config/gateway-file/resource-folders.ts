// Folders of triggers, agents, fleets (groups of agents) and flows in a gateway file. If one is set, the
// gateway loads its automation part: agents, fleets and flows are available through the API and the CLI even
// without triggers.

export const folderKinds = ['triggers', 'agents', 'fleets', 'flows'] as const;

type NamedFolders = {
  readonly [Kind in (typeof folderKinds)[number]]?: { readonly directory?: string | undefined } | undefined;
};

/** Returns the configured folders, as absolute paths. */
export function resourceFolders(spec: NamedFolders = {}): readonly string[] {
  return folderKinds.flatMap((kind) => spec[kind]?.directory ?? []);
}
