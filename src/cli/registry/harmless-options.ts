// Options of npx, uvx, docker and podman that registry entries may use without the user's permission. All
// other options need permission: these programs have hundreds of options, and a list of the dangerous ones
// would never be complete.

interface Options {
  readonly flags: readonly string[];
  /** Options with a value, after `=` or as the next argument, and a pattern for their harmless values. */
  readonly values: Readonly<Record<string, RegExp>>;
}

const any = /^/;
const quantity = /^[\w.]+$/;

const engine: Options = {
  flags: [
    '-i',
    '--interactive',
    '--rm',
    '-t',
    '--tty',
    '-it',
    '-ti',
    '--init',
    '--read-only',
    '-q',
    '--quiet',
  ],
  values: {
    '-e': any,
    '--env': any,
    '-l': any,
    '--label': any,
    '--pull': /^(?:always|missing|never|newer)$/,
    '--platform': /^[\w/]+$/,
    '--network': /^none$/,
    '--net': /^none$/,
    '--cap-drop': /^\w+$/,
    '--security-opt': /^no-new-privileges(?:[:=]true)?$/,
    '-m': quantity,
    '--memory': quantity,
    '--cpus': quantity,
    '--pids-limit': quantity,
    '--stop-timeout': quantity,
    '-w': /^[\w./-]+$/,
    '--workdir': /^[\w./-]+$/,
  },
};

const harmless: Readonly<Record<string, Options>> = {
  npx: {
    flags: ['-y', '--yes', '-q', '--quiet', '-s', '--silent', '--prefer-offline', '--prefer-online'],
    values: {},
  },
  uvx: {
    flags: [
      '-q',
      '--quiet',
      '-v',
      '--verbose',
      '--no-progress',
      '--isolated',
      '--refresh',
      '--no-cache',
      '-n',
    ],
    values: { '--python': /^\d+(?:\.\d+)*$/, '-p': /^\d+(?:\.\d+)*$/ },
  },
  docker: engine,
  podman: engine,
};

/** Returns the arguments that need permission. An option includes its value. */
export function nonHarmlessWords(program: string, words: readonly string[]): readonly string[] {
  const { flags, values } = harmless[program] ?? { flags: [], values: {} };
  const others: string[] = [];
  for (let at = 0; at < words.length; at += 1) {
    const word = words[at] ?? '';
    if (flags.includes(word)) continue;
    const [name = '', inline] = splitOnce(word);
    const next = words[at + 1];
    const hasNext =
      inline === undefined && word.startsWith('-') && next !== undefined && !next.startsWith('-');
    const value = inline ?? (hasNext ? next : undefined);
    if (hasNext) at += 1;
    const pattern = Object.hasOwn(values, name) ? values[name] : undefined;
    if (pattern === undefined || value === undefined || !pattern.test(value))
      others.push(hasNext ? `${word} ${next}` : word);
  }
  return others;
}

function splitOnce(word: string): [string, string | undefined] {
  const at = word.indexOf('=');
  return at < 0 ? [word, undefined] : [word.slice(0, at), word.slice(at + 1)];
}
