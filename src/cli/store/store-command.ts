// `store export` and `store import`: everything of a store into a file, and out of it into another store.

import { asInvoked } from '../program-name.ts';
import { complain, print } from '../views/output.ts';

type Run = (args: readonly string[], version: string) => Promise<number>;

interface Verb {
  readonly usage: string;
  readonly description: string;
  readonly run: Run;
}

const verbs: Readonly<Record<string, Verb>> = {
  export: {
    usage: 'export --to <file>',
    description: 'write everything of a store into a file; the store stays as it is',
    run: async (...given) => (await import('./export-store.ts')).exportCommand(...given),
  },
  import: {
    usage: 'import --from <file>',
    description: 'fill an empty store with what an export has written',
    run: async (...given) => (await import('./import-store.ts')).importCommand(...given),
  },
};

/** For completion. */
export const storeVerbs: readonly (readonly [word: string, meaning: string])[] = Object.entries(verbs).map(
  ([name, { description }]) => [name, description] as const,
);

const help = () =>
  asInvoked(
    [
      'Usage: actor-gateway store <verb> [options]',
      '',
      'Which store it is the gateway configuration says: PostgreSQL with store.postgres, else the file in state_dir. No gateway may run on it.',
      '',
      'Verbs (each has its own --help):',
      ...Object.values(verbs).map(({ usage, description }) => `  ${usage.padEnd(20)}  ${description}`),
      '',
      'Exit codes: 0 done, 1 refused or failed, 2 bad configuration or wrong usage',
    ].join('\n'),
  );

/** Gives the exit code. */
export async function store([verb = '', ...args]: readonly string[], version: string): Promise<number> {
  if (verb === '--help' || verb === '-h') {
    await print(`${help()}\n`);
    return 0;
  }
  const found = Object.hasOwn(verbs, verb) ? verbs[verb] : undefined;
  if (found !== undefined) return found.run(args, version);
  // The word may be anything, and is not repeated.
  complain(`error: store needs a word that says what to do: ${Object.keys(verbs).join(' or ')}\n${help()}`);
  return 2;
}
