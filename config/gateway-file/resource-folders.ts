// The folders of triggers and agents that a gateway file names. With either the gateway has the second half of its code: agents alone
// can be asked over the API and from a terminal.

interface NamedFolders {
  readonly triggers?: { readonly directory?: string | undefined } | undefined;
  readonly agents?: { readonly directory?: string | undefined } | undefined;
}

/** Absolute paths; none where there is to be neither. */
export function resourceFolders({ triggers, agents }: NamedFolders = {}): readonly string[] {
  return [triggers?.directory, agents?.directory].filter((folder) => folder !== undefined);
}
